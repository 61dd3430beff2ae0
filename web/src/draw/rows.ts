// rows.ts -- a list of any length, of which only what is in sight is in the page.
// SPDX-License-Identifier: Apache-2.0

import { whenIdleAfter } from "../idle.ts";
import { isPrinting } from "./colours.ts";
import { h } from "./dom.ts";
import { Fitted, part, type Part } from "./fit.ts";

const ROW = 24; // pixels, as in the style sheet
const PRINTED = 500; // rows at most
const SPARE = 8; // rows above and below what is in sight
const ROWS_AHEAD = 30; // about what a window has room for
const A_STEP = 5;
const LATER_MS = 1000; // who goes on before does not wait for what nobody has looked at

export class Rows {
  readonly element: HTMLElement;
  private readonly inner = h("div.rows-inner");
  private readonly shown: Fitted[] = []; // the rows in the page
  private readonly spare: Fitted[] = []; // those that are not
  private count = 0;
  private make: (i: number) => Part = () => part("div");
  private prepare: (first: number, last: number) => void = () => {};
  private first = 0; // of the rows in the page, and the one after the last
  private last = 0;
  // Of the list, as they were when they were last looked up.
  private top = 0;
  private height = 0;
  private headHeight = 0;

  /** The head stays in sight above the rows, and moves sideways with them. All rows are of the same elements. */
  constructor(label: string, private readonly head: HTMLElement) {
    this.element = h("div.rows", { tabindex: 0, role: "treegrid", "aria-label": label }, head, this.inner);
    this.element.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.check()).observe(this.element);
    window.addEventListener("beforeprint", () => this.print(Math.min(this.count, PRINTED)));
    window.addEventListener("afterprint", () => this.set(this.count, this.make));
  }

  /** On paper there is no scrolling: the first rows are there, one below the other. */
  private print(count: number): void {
    if (!this.element.isConnected) return;
    this.fill(0, count);
    this.inner.style.height = `${count * ROW}px`;
  }

  /** What is to be shown from now on. `prepare` is told which rows are made next. */
  set(count: number, make: (i: number) => Part, prepare = this.prepare): void {
    this.count = count;
    this.make = make;
    this.prepare = prepare;
    this.first = this.last = 0;
    this.inner.style.height = `${count * ROW}px`;
    this.begin();
    whenIdleAfter(LATER_MS, () => this.make === make && this.addBelow());
  }

  /** Fills the list as it most likely is, and looks when the next picture is made: to ask now would have the browser lay
   * out what is about to change. */
  private begin(): void {
    if (!this.element.isConnected) return this.fill(0, 0);
    if (this.height === 0) this.look();
    this.top = Math.max(0, Math.min(this.top, this.headHeight + this.count * ROW - this.height));
    this.fill(this.firstInSight(), this.lastWith(0));
    requestAnimationFrame(() => this.check());
  }

  private look(): void {
    this.top = this.element.scrollTop;
    this.height = this.element.clientHeight;
    this.headHeight = this.head.offsetHeight;
  }

  /** What is in sight is there, wherever the list has gone by itself. */
  private check(): void {
    if (!this.element.isConnected) this.top = 0; // where it most likely is when it comes back
    if (!this.element.isConnected || isPrinting()) return;
    this.look();
    if (this.first > this.firstInSight() || this.last < this.lastWith(0)) this.fill(this.firstInSight(), this.lastWith(0));
  }

  scrollTo(i: number): void {
    const top = i * ROW;
    const { scrollTop } = this.element;
    const clientHeight = this.element.clientHeight - this.head.offsetHeight;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.element.scrollTop = top + ROW - clientHeight;
    this.draw();
  }

  /** The row that an element is in; -1: in none. */
  rowOf(element: Element): number {
    const at = this.shown.findIndex((row) => row.element.contains(element));
    return at < 0 ? -1 : this.first + at;
  }

  /** A page that is not in sight is filled anew when it comes back: what its rows are made of may be gone by now. */
  private draw(): void {
    if (!this.element.isConnected) return;
    this.look();
    const [first, last] = [this.firstInSight(), this.lastWith(SPARE)];
    if (first === this.first && last === this.last && last > 0) return;
    this.fill(first, last);
  }

  /** With some above it. */
  private firstInSight(): number {
    return Math.max(0, Math.floor(this.top / ROW) - SPARE);
  }

  private lastWith(below: number): number {
    return Math.min(this.count, Math.ceil((this.top + this.height) / ROW) + below);
  }

  private fill(first: number, last: number): void {
    [this.first, this.last] = [first, last];
    for (const row of this.shown.splice(Math.max(0, last - first))) {
      row.element.remove();
      if (this.spare.length < ROWS_AHEAD) this.spare.push(row);
    }
    this.showRows(first, last);
  }

  /** Rows from one of those in the page on. */
  private showRows(first: number, last: number): void {
    this.prepare(first, last);
    for (let i = first; i < last; i++) {
      const row = this.rowFor(i);
      const top = `${i * ROW}px`;
      if (row.element.style.top !== top) row.element.style.top = top;
    }
    this.inner.append(...this.shown.slice(this.inner.childElementCount).map((row) => row.element));
  }

  private rowFor(i: number): Fitted {
    const [next, place] = [this.make(i), i - this.first];
    if (place < this.shown.length) this.shown[place]!.show(next);
    else this.shown.push(this.spare.pop()?.as(next) ?? new Fitted(next));
    return this.shown[place]!;
  }

  /** Makes some rows before there is a place for them: to make them takes longer than to fill them. True: there are enough. */
  makeAhead(): boolean {
    if (this.element.isConnected || !this.count) return true;
    this.prepare(0, 1);
    for (let i = 0; i < A_STEP; i++) this.spare.push(new Fitted(this.make(0)));
    return this.spare.length >= ROWS_AHEAD;
  }

  /** What is not in sight, but will be with the first step down. */
  private addBelow(): void {
    if (!this.element.isConnected || isPrinting()) return;
    const [from, last] = [this.last, this.lastWith(SPARE)];
    if (last <= from) return;
    this.last = last;
    this.showRows(from, last);
  }
}

// rows.ts -- a list of any length, of which only what is in sight is in the page.
// SPDX-License-Identifier: Apache-2.0

import { whenIdleAfter } from "../idle.ts";
import { isPrinting } from "./colours.ts";
import { h } from "./dom.ts";

const ROW = 24; // pixels, as in the style sheet
const PRINTED = 500; // rows at most
const SPARE = 8; // rows above and below what is in sight
const LATER_MS = 1000; // who goes on before does not wait for what nobody has looked at

export class Rows {
  readonly element: HTMLElement;
  private readonly inner = h("div.rows-inner");
  private count = 0;
  private make: (i: number) => HTMLElement = () => h("div");
  private prepare: (first: number, last: number) => void = () => {};
  private first = 0; // of the rows in the page, and the one after the last
  private last = 0;

  /** The head stays in sight above the rows, and moves sideways with them. */
  constructor(label: string, private readonly head: HTMLElement) {
    this.element = h("div.rows", { tabindex: 0, role: "treegrid", "aria-label": label }, head, this.inner);
    this.element.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.last < this.lastWith(0) && this.draw()).observe(this.element);
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
  set(count: number, make: (i: number) => HTMLElement, prepare = this.prepare): void {
    this.count = count;
    this.make = make;
    this.prepare = prepare;
    this.first = this.last = 0;
    this.inner.style.height = `${count * ROW}px`;
    this.draw(0);
    whenIdleAfter(LATER_MS, () => this.make === make && this.addBelow());
  }

  scrollTo(i: number): void {
    const top = i * ROW;
    const { scrollTop } = this.element;
    const clientHeight = this.element.clientHeight - this.head.offsetHeight;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.element.scrollTop = top + ROW - clientHeight;
    this.draw();
  }

  /** A page that is not in sight is filled anew when it comes back: what its rows are made of may be gone by now. */
  private draw(below = SPARE): void {
    if (!this.element.isConnected) return;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - SPARE);
    const last = this.lastWith(below);
    if (first === this.first && last === this.last && last > 0) return;
    this.fill(first, last);
  }

  private lastWith(below: number): number {
    return Math.min(this.count, Math.ceil((this.element.scrollTop + this.element.clientHeight) / ROW) + below);
  }

  private fill(first: number, last: number): void {
    [this.first, this.last] = [first, last];
    this.inner.replaceChildren(...this.makeRows(first, last));
  }

  private makeRows(first: number, last: number): HTMLElement[] {
    const rows: HTMLElement[] = [];
    this.prepare(first, last);
    for (let i = first; i < last; i++) {
      const row = this.make(i);
      row.style.top = `${i * ROW}px`;
      rows.push(row);
    }
    return rows;
  }

  /** What is not in sight, but will be with the first step down. */
  private addBelow(): void {
    if (!this.element.isConnected || isPrinting()) return;
    const last = this.lastWith(SPARE);
    if (last <= this.last) return;
    this.inner.append(...this.makeRows(this.last, last));
    this.last = last;
  }
}

// rows.ts -- a list of any length, of which only what is in sight is in the page.
// SPDX-License-Identifier: Apache-2.0

import { h } from "./dom.ts";

const ROW = 24; // pixels, as in the style sheet
const PRINTED = 500; // rows at most
const SPARE = 8; // rows above and below what is in sight

export class Rows {
  readonly element: HTMLElement;
  private readonly inner = h("div.rows-inner");
  private count = 0;
  private make: (i: number) => HTMLElement = () => h("div");
  private shown = "";

  /** The head stays in sight above the rows, and moves sideways with them. */
  constructor(label: string, private readonly head: HTMLElement) {
    this.element = h("div.rows", { tabindex: 0, role: "treegrid", "aria-label": label }, head, this.inner);
    this.element.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.element);
    window.addEventListener("beforeprint", () => this.print(Math.min(this.count, PRINTED)));
    window.addEventListener("afterprint", () => this.set(this.count, this.make));
  }

  /** On paper there is no scrolling: the first rows are there, one below the other. */
  private print(count: number): void {
    if (!this.element.isConnected) return;
    this.fill(0, count);
    this.inner.style.height = `${count * ROW}px`;
  }

  /** What is to be shown from now on. */
  set(count: number, make: (i: number) => HTMLElement): void {
    this.count = count;
    this.make = make;
    this.shown = "";
    this.inner.style.height = `${count * ROW}px`;
    this.draw();
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
  private draw(): void {
    if (!this.element.isConnected) return;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - SPARE);
    const last = Math.min(this.count, Math.ceil((this.element.scrollTop + this.element.clientHeight) / ROW) + SPARE);
    const key = `${first} ${last}`;
    if (key === this.shown) return;
    this.shown = key;
    this.fill(first, last);
  }

  private fill(first: number, last: number): void {
    const rows: HTMLElement[] = [];
    for (let i = first; i < last; i++) {
      const row = this.make(i);
      row.style.top = `${i * ROW}px`;
      rows.push(row);
    }
    this.inner.replaceChildren(...rows);
  }
}

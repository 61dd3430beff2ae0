// longtable.ts -- the body of a table with any number of rows of one height, of which only those near
// the ones in sight are in the page. A short table has them all, if a moment later: so it can be
// searched and printed.
// SPDX-License-Identifier: Apache-2.0

import { whenIdleAfter, whenPrinted } from "../idle.ts";
import { h } from "./dom.ts";

const ROW = 18; // pixels, as in the style sheet
const SPARE = 40; // rows above and below what is in sight
const SHORT = 1500; // rows
const FEW = 100; // are not worth waiting for
const FILL_MS = 1000;

export class LongTable {
  readonly body = h("tbody");
  private shown = "";
  private isWhole = false;
  private isDue = false; // to become whole

  /** `scroller` is what the table is scrolled in; it may be that of the table before. */
  constructor(private readonly scroller: HTMLElement, private readonly count: number, private readonly make: (i: number) => HTMLElement) {
    if (count <= FEW) this.fill();
  }

  /** Unless it is out of sight by then. */
  private fillLater(): void {
    if (this.isDue) return;
    this.isDue = true;
    const forget = whenPrinted(() => this.fill());
    whenIdleAfter(FILL_MS, () => {
      forget();
      this.isDue = false;
      if (this.body.isConnected) this.fill();
    });
  }

  /** All rows are as high as one, so what is in sight stays there. */
  private fill(): void {
    if (this.isWhole) return;
    this.isWhole = true;
    this.body.replaceChildren(...Array.from({ length: this.count }, (_, i) => this.make(i)));
  }

  /** To be called when the table is in the page, and whenever it is scrolled. */
  draw(): void {
    if (this.isWhole) return;
    if (this.count <= SHORT) this.fillLater();
    const above = this.body.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
    const first = Math.max(0, Math.min(this.count, Math.floor(-above / ROW) - SPARE));
    const last = Math.min(this.count, Math.ceil((this.scroller.clientHeight - above) / ROW) + SPARE);
    const key = `${first} ${last}`;
    if (key === this.shown) return;
    this.shown = key;
    const space = (rows: number) => (rows > 0 ? [h("tr.space", { "aria-hidden": "true" }, h("td", { style: `height:${rows * ROW}px` }))] : []);
    const rows = space(first);
    for (let i = first; i < last; i++) rows.push(this.make(i));
    this.body.replaceChildren(...rows, ...space(this.count - Math.max(first, last)));
  }

  /** Brings a row to the middle. */
  show(i: number): void {
    this.draw();
    const above = this.body.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
    this.scroller.scrollTop += above + i * ROW - this.scroller.clientHeight / 2;
    this.draw();
  }
}

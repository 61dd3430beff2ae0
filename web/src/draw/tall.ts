// tall.ts -- a picture of rows that can be higher than the window. What is in sight is painted at once, the rest a
// moment later or when it is scrolled to: a canvas takes as long as it is large, whether anybody sees it or not.
// SPDX-License-Identifier: Apache-2.0

import { whenIdleAfter } from "../idle.ts";
import { isPrinting } from "./colours.ts";
import { cutRows } from "./cuts.ts";
import { h } from "./dom.ts";

const SPARE = 2; // rows above and below what is in sight
const LATER_MS = 1000; // who goes on before does not wait for what nobody has looked at

/** Puts rows on a canvas, which becomes as large as they are: the first of them, and the one after the last. */
export type PaintRows = (canvas: HTMLCanvasElement, from: number, to: number) => void;

interface Part {
  canvas: HTMLCanvasElement;
  from: number;
  to: number;
  isPainted: boolean;
}

export class Tall {
  readonly element: HTMLElement;
  private rows = 0;
  private parts: Part[] = [];
  private paint: PaintRows = () => {};

  constructor(label: string, private readonly rowHeight: number) {
    this.element = h("div.flame", { tabindex: 0, role: "img", "aria-label": label });
    for (const type of ["scroll", "resize"]) window.addEventListener(type, () => this.paintInSight(), { passive: true });
  }

  /** So many rows, of which those in sight are there when it returns. `paint` is used until the next call, while the
   * picture is part of the page. */
  show(rows: number, paint: PaintRows): void {
    this.paint = paint;
    this.rows = rows;
    // Before it is looked what is in sight: a page that becomes shorter is scrolled back.
    this.element.style.height = `${rows * this.rowHeight}px`;
    const inSight = this.inSight();
    this.divide(cutRows(rows, ...inSight));
    this.paintBetween(...inSight);
    for (const part of this.parts) if (!part.isPainted) part.canvas.width = 0; // what was on it is gone
    this.paintOthers();
  }

  private inSight(): [first: number, last: number] {
    if (isPrinting()) return [0, this.rows];
    const { top } = this.element.getBoundingClientRect();
    const within = (row: number): number => Math.max(0, Math.min(this.rows, row));
    return [within(Math.floor(-top / this.rowHeight) - SPARE), within(Math.ceil((innerHeight - top) / this.rowHeight) + SPARE)];
  }

  /** Canvases are used again. */
  private divide(pieces: [from: number, to: number][]): void {
    const canvases = this.parts.map((part) => part.canvas);
    while (canvases.length > pieces.length) canvases.pop()!.remove();
    this.parts = pieces.map(([from, to], i) => {
      const canvas = canvases[i] ?? this.element.appendChild(h("canvas", { "aria-hidden": "true" }) as HTMLCanvasElement);
      canvas.style.height = `${(to - from) * this.rowHeight}px`;
      return { canvas, from, to, isPainted: false };
    });
  }

  private paintPart(part: Part): void {
    if (!part.isPainted) this.paint(part.canvas, part.from, part.to);
    part.isPainted = true;
  }

  private paintBetween(first: number, last: number): void {
    for (const part of this.parts) if (part.from < last && part.to > first) this.paintPart(part);
  }

  private paintInSight(): void {
    if (this.element.isConnected && this.parts.some((part) => !part.isPainted)) this.paintBetween(...this.inSight());
  }

  /** One after the other. A page that was left is shown anew when it comes back: what this one is of may be gone by then. */
  private paintOthers(): void {
    const { parts } = this;
    if (parts.every((part) => part.isPainted)) return;
    whenIdleAfter(LATER_MS, () => {
      const next = parts.find((part) => !part.isPainted);
      if (!next || parts !== this.parts || !this.element.isConnected) return;
      this.paintPart(next);
      this.paintOthers();
    });
  }
}

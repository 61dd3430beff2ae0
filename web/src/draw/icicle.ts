// icicle.ts -- a call tree drawn on a canvas, the whole at the top and what it is made of below.
// Knows rectangles and pointers, not profiles.
// SPDX-License-Identifier: Apache-2.0

import { plain } from "./dom.ts";

export const ROW = 20;
const NARROWEST = 1; // pixels: what is narrower is not drawn, and nothing below it
const TEXT_FROM = 28; // pixels: what is narrower has no text
const FONT = "12px system-ui, sans-serif";

export interface Box<T> {
  node: T;
  row: number;
  x: number;
  width: number;
}

export interface IcicleSource<T> {
  root: T;
  size(node: T): number;
  children(node: T): T[];
  label(node: T): string;
  colour(node: T): string;
  /** Drawn with a frame around it. */
  isMarked(node: T): boolean;
}

export interface Ink {
  text: string;
  paper: string;
  mark: string;
}

/** Which boxes there are between two widths; rows count from the given node. */
export function layOut<T>(source: IcicleSource<T>, width: number): Box<T>[] {
  const boxes: Box<T>[] = [];
  const whole = source.size(source.root);
  if (!(whole > 0)) return boxes;
  const scale = width / whole;
  const waiting: Box<T>[] = [{ node: source.root, row: 0, x: 0, width }];
  for (let box = waiting.pop(); box; box = waiting.pop()) {
    boxes.push(box);
    let x = box.x;
    for (const child of source.children(box.node)) {
      const w = source.size(child) * scale;
      if (w >= NARROWEST) waiting.push({ node: child, row: box.row + 1, x, width: w });
      if (w > 0) x += w;
    }
  }
  return boxes;
}

export function paint<T>(canvas: HTMLCanvasElement, source: IcicleSource<T>, boxes: Box<T>[], ink: Ink): void {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const rows = boxes.reduce((most, b) => Math.max(most, b.row + 1), 1);
  const height = rows * ROW;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const c = canvas.getContext("2d")!;
  c.scale(ratio, ratio);
  c.font = FONT;
  c.textBaseline = "middle";
  for (const box of boxes) paintBox(c, source, box, ink);
}

function paintBox<T>(c: CanvasRenderingContext2D, source: IcicleSource<T>, box: Box<T>, ink: Ink): void {
  const y = box.row * ROW;
  const gap = box.width > 3 ? 1 : 0;
  c.fillStyle = source.colour(box.node);
  c.fillRect(box.x, y, Math.max(box.width - gap, 0.5), ROW - 1);
  if (source.isMarked(box.node)) {
    c.fillStyle = ink.mark;
    c.fillRect(box.x, y, Math.max(box.width - gap, 0.5), 3);
    c.fillRect(box.x, y + ROW - 4, Math.max(box.width - gap, 0.5), 3);
  }
  if (box.width < TEXT_FROM) return;
  c.fillStyle = ink.text;
  c.fillText(fit(c, plain(source.label(box.node)), box.width - 8), box.x + 4, y + ROW / 2);
}

const widths = new Map<string, number>();

function widthOf(c: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 20000) widths.clear();
    widths.set(text, (width = c.measureText(text).width));
  }
  return width;
}

/** As much of a text as fits, with an ellipsis. */
function fit(c: CanvasRenderingContext2D, text: string, width: number): string {
  const whole = widthOf(c, text);
  if (whole <= width) return text;
  let letters = Math.floor((text.length * (width - 8)) / whole);
  while (letters > 2 && c.measureText(`${text.slice(0, letters)}…`).width > width) letters--;
  return letters > 2 ? `${text.slice(0, letters)}…` : "";
}

/** The box at a place of the canvas. */
export function boxAt<T>(boxes: Box<T>[], x: number, y: number): Box<T> | null {
  const row = Math.floor(y / ROW);
  return boxes.find((b) => b.row === row && x >= b.x && x < b.x + b.width) ?? null;
}

// icicle.ts -- a call tree drawn on a canvas, the whole at the top and what it is made of below.
// Knows rectangles and pointers, not profiles.
// SPDX-License-Identifier: Apache-2.0

import { plain } from "./dom.ts";

export const ROW = 20;
const NARROWEST = 1; // pixels: what is narrower is not drawn, and nothing below it
const TEXT_FROM = 28; // pixels: what is narrower has no text
const MARGINS = 8; // of a text, both sides together
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
  /** The largest first; those smaller than `least` are not asked for. */
  children(node: T, least: number): T[];
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
  const least = NARROWEST / scale;
  const waiting: Box<T>[] = [{ node: source.root, row: 0, x: 0, width }];
  for (let box = waiting.pop(); box; box = waiting.pop()) {
    boxes.push(box);
    let x = box.x;
    for (const child of source.children(box.node, least)) {
      const size = source.size(child);
      if (size < least) break;
      waiting.push({ node: child, row: box.row + 1, x, width: size * scale });
      x += size * scale;
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
  paintBoxes(c, source, boxes);
  c.fillStyle = ink.mark;
  for (const box of boxes) if (source.isMarked(box.node)) paintMark(c, box);
  c.fillStyle = ink.text;
  for (const box of boxes) if (box.width >= TEXT_FROM) paintText(c, source, box);
}

/** Measures ahead what will be written into boxes: that takes longer than all else of a picture. */
export function measure<T>(source: IcicleSource<T>, boxes: Box<T>[]): void {
  const c = document.createElement("canvas").getContext("2d")!;
  c.font = FONT;
  for (const box of boxes) if (box.width >= TEXT_FROM) fit(c, textFor(source, box), box.width - MARGINS);
}

const inkWidth = (box: Box<unknown>): number => (box.width > 3 ? box.width - 1 : Math.max(box.width, 0.5));

/** Colour by colour: to change it takes longer than to fill. */
function paintBoxes<T>(c: CanvasRenderingContext2D, source: IcicleSource<T>, boxes: Box<T>[]): void {
  const byColour = new Map<string, Box<T>[]>();
  for (const box of boxes) {
    const colour = source.colour(box.node);
    const same = byColour.get(colour);
    if (same) same.push(box);
    else byColour.set(colour, [box]);
  }
  for (const [colour, same] of byColour) {
    c.fillStyle = colour;
    for (const box of same) c.fillRect(box.x, box.row * ROW, inkWidth(box), ROW - 1);
  }
}

function paintMark<T>(c: CanvasRenderingContext2D, box: Box<T>): void {
  c.fillRect(box.x, box.row * ROW, inkWidth(box), 3);
  c.fillRect(box.x, box.row * ROW + ROW - 4, inkWidth(box), 3);
}

function paintText<T>(c: CanvasRenderingContext2D, source: IcicleSource<T>, box: Box<T>): void {
  c.fillText(fit(c, textFor(source, box), box.width - MARGINS), box.x + MARGINS / 2, box.row * ROW + ROW / 2);
}

/** No letter is narrower than two pixels: of a name with hundreds of letters the first need to be measured. */
function textFor<T>(source: IcicleSource<T>, box: Box<T>): string {
  return plain(source.label(box.node).slice(0, Math.ceil((box.width - MARGINS) / 2)));
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
  while (letters > 2 && widthOf(c, `${text.slice(0, letters)}…`) > width) letters--;
  return letters > 2 ? `${text.slice(0, letters)}…` : "";
}

/** The box at a place of the canvas. */
export function boxAt<T>(boxes: Box<T>[], x: number, y: number): Box<T> | null {
  const row = Math.floor(y / ROW);
  return boxes.find((b) => b.row === row && x >= b.x && x < b.x + b.width) ?? null;
}

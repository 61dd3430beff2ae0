// icicle.ts -- a call tree drawn on canvases, the whole at the top and what it is made of below.
// Knows rectangles and pointers, not profiles.
// SPDX-License-Identifier: Apache-2.0

import { cssColour } from "./colours.ts";
import { plain } from "./dom.ts";
import { Lines } from "./pixels.ts";
import type { PaintRows } from "./tall.ts";

export const ROW = 20;
const NARROWEST = 1.5; // pixels: what is narrower is not drawn, and nothing below it; to zoom shows it
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
  mark: string;
}

export const flameInk = (): Ink => ({ text: cssColour("--ink"), mark: cssColour("--mark") });

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

export function countRows(boxes: Box<unknown>[]): number {
  let rows = 1;
  for (let i = 0; i < boxes.length; i++) if (boxes[i]!.row >= rows) rows = boxes[i]!.row + 1;
  return rows;
}

/** What paints the rows of a picture. */
export function painter<T>(width: number, source: IcicleSource<T>, all: Box<T>[], ink: Ink): PaintRows {
  const hasMany = all.filter(isNarrow).length > MANY;
  return (canvas, from, to) => {
    const boxes: Box<T>[] = [];
    for (const { node, row, x, width } of all) if (row >= from && row < to) boxes.push({ node, row: row - from, x, width });
    const c = begin(canvas, width, to - from);
    if (hasMany) paintNarrow(c, source, boxes.filter(isNarrow), ink);
    paintBoxes(c, source, hasMany ? boxes.filter((box) => !isNarrow(box)) : boxes, ink);
    c.fillStyle = ink.text;
    for (const box of boxes) if (box.width >= TEXT_FROM) paintText(c, source, box);
  };
}

const ratio = (): number => devicePixelRatio || 1;

function begin(canvas: HTMLCanvasElement, width: number, rows: number): CanvasRenderingContext2D {
  canvas.width = Math.round(width * ratio());
  canvas.height = Math.round(rows * ROW * ratio());
  const c = canvas.getContext("2d")!;
  c.scale(ratio(), ratio());
  c.font = FONT;
  c.textBaseline = "middle";
  return c;
}

/** Draws ahead where nobody sees it: then its texts have been set once. */
export function paintAhead<T>(width: number, source: IcicleSource<T>, ink: Ink): void {
  const boxes = layOut(source, width);
  painter(width, source, boxes, ink)(document.createElement("canvas"), 0, countRows(boxes));
}

const GAP_FROM = 3; // pixels: what is narrower has no space behind it
const MANY = 300; // of narrow boxes: then they are put on the canvas together
const MARK = 3; // pixels

const isNarrow = (box: Box<unknown>): boolean => box.width <= GAP_FROM;
const inkWidth = (box: Box<unknown>): number => (box.width > GAP_FROM ? box.width - 1 : Math.max(box.width, 0.5));

/** All boxes of a row are as high: they are one line of pixels. */
function paintNarrow<T>(c: CanvasRenderingContext2D, source: IcicleSource<T>, boxes: Box<T>[], ink: Ink): void {
  const rows = countRows(boxes);
  const scale = ratio();
  const inside = new Lines(c.canvas.width, rows);
  let marks: Lines | null = null;
  for (const { node, x, row, width } of boxes) {
    inside.fill(row, x * scale, width * scale, source.colour(node));
    if (source.isMarked(node)) (marks ??= new Lines(c.canvas.width, rows)).fill(row, x * scale, width * scale, ink.mark);
  }
  inside.paint(c, (row) => [row * ROW * scale, (row * ROW + ROW - 1) * scale]);
  marks?.paint(c, (row) => [row * ROW * scale, (row * ROW + MARK) * scale]);
  marks?.paint(c, (row) => [(row * ROW + ROW - 1 - MARK) * scale, (row * ROW + ROW - 1) * scale]);
}

/** Colour by colour: to change it takes longer than to fill. */
function paintBoxes<T>(c: CanvasRenderingContext2D, source: IcicleSource<T>, boxes: Box<T>[], ink: Ink): void {
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
  c.fillStyle = ink.mark;
  for (const box of boxes) if (source.isMarked(box.node)) paintMark(c, box);
}

function paintMark<T>(c: CanvasRenderingContext2D, box: Box<T>): void {
  c.fillRect(box.x, box.row * ROW, inkWidth(box), MARK);
  c.fillRect(box.x, box.row * ROW + ROW - 1 - MARK, inkWidth(box), MARK);
}

function paintText<T>(c: CanvasRenderingContext2D, source: IcicleSource<T>, box: Box<T>): void {
  c.fillText(fit(c, textFor(source, box), box.width - MARGINS), box.x + MARGINS / 2, box.row * ROW + ROW / 2);
}

/** No letter is narrower than two pixels: of a name with hundreds of letters the first need to be measured. */
function textFor<T>(source: IcicleSource<T>, box: Box<T>): string {
  return plain(source.label(box.node).slice(0, Math.ceil((box.width - MARGINS) / 2)));
}

const letterWidths = new Map<string, number>();

function widthOf(c: CanvasRenderingContext2D, letter: string): number {
  let width = letterWidths.get(letter);
  if (width === undefined) letterWidths.set(letter, (width = c.measureText(letter).width));
  return width;
}

/** As much of a text as fits, with an ellipsis. Letter by letter: to measure every text that is tried takes longer
 * than all else of a picture, and what letters have less side by side than alone is a pixel in a long name. */
function fit(c: CanvasRenderingContext2D, text: string, width: number): string {
  const short = width - widthOf(c, "…");
  let [used, at, last] = [0, 0, 0]; // `last`: how much fits with an ellipsis
  for (const letter of text) {
    used += widthOf(c, letter);
    if (used > width) return last > 2 ? `${text.slice(0, last)}…` : "";
    at += letter.length;
    if (used <= short) last = at;
  }
  return text;
}

/** The box at a place of the picture. */
export function boxAt<T>(boxes: Box<T>[], x: number, y: number): Box<T> | null {
  const row = Math.floor(y / ROW);
  return boxes.find((b) => b.row === row && x >= b.x && x < b.x + b.width) ?? null;
}

// icicle.ts -- a call tree drawn on canvases, the whole at the top and what it is made of below.
// Knows rectangles and pointers, not profiles.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
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
  if (whole > 0) addBoxes(source, { node: source.root, row: 0, x: 0, width }, width / whole, boxes);
  return boxes;
}

function addBoxes<T>(source: IcicleSource<T>, first: Box<T>, scale: number, boxes: Box<T>[]): void {
  const waiting = [first];
  for (let box = waiting.pop(); box; box = waiting.pop()) {
    boxes.push(box);
    addChildren(source, box, scale, waiting);
  }
}

function addChildren<T>(source: IcicleSource<T>, box: Box<T>, scale: number, waiting: Box<T>[]): void {
  const least = NARROWEST / scale;
  const children = source.children(box.node, least);
  const row = box.row + 1;
  let x = box.x;
  for (let i = 0; i < children.length; i++) {
    const node = children[i]!;
    const size = source.size(node);
    if (size < least) break;
    const width = size * scale;
    waiting.push({ node, row, x, width });
    x += width;
  }
}

export function countRows(boxes: Box<unknown>[]): number {
  let rows = 1;
  for (let i = 0; i < boxes.length; i++) if (boxes[i]!.row >= rows) rows = boxes[i]!.row + 1;
  return rows;
}

/** Some rows of a picture on a canvas. */
interface Part<T> {
  c: CanvasRenderingContext2D;
  source: IcicleSource<T>;
  ink: Ink;
  top: number; // its first row
  rows: number;
}

/** What paints the rows of a picture. */
export function painter<T>(width: number, source: IcicleSource<T>, all: Box<T>[], ink: Ink): PaintRows {
  const narrowest = countNarrow(all) > MANY ? GAP_FROM : 0; // of those that are painted one by one
  return (canvas, from, to) => {
    const part = { c: begin(canvas, width, to - from), source, ink, top: from, rows: to - from };
    const divided: Divided<T> = { narrowest, narrow: [], wide: [] };
    inRuns(all.length, divide, all, part, divided);
    if (divided.narrow.length) paintNarrow(part, divided.narrow);
    paintBoxes(part, divided.wide);
    paintTexts(part, divided.wide);
  };
}

function countNarrow(boxes: Box<unknown>[]): number {
  let count = 0;
  for (let i = 0; i < boxes.length; i++) if (boxes[i]!.width <= GAP_FROM) count++;
  return count;
}

interface Divided<T> {
  narrowest: number; // of the wide ones
  narrow: Box<T>[];
  wide: Box<T>[];
}

/** Those of some rows by their width. */
function divide<T>(from: number, to: number, all: Box<T>[], { top, rows }: Part<T>, { narrowest, narrow, wide }: Divided<T>): void {
  const end = top + rows;
  for (let i = from; i < to; i++) {
    const box = all[i]!;
    if (box.row >= top && box.row < end) (box.width <= narrowest ? narrow : wide).push(box);
  }
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
export function paintAhead<T>(width: number, source: IcicleSource<T>, ink: Ink): Box<T>[] {
  const boxes = layOut(source, width);
  const canvas = document.createElement("canvas");
  painter(width, source, boxes, ink)(canvas, 0, countRows(boxes));
  canvas.width = 0; // its memory is free at once
  return boxes;
}

const GAP_FROM = 3; // pixels: what is narrower has no space behind it
const MANY = 300; // of narrow boxes: then they are put on the canvas together
const MARK = 3; // pixels

const inkWidth = (box: Box<unknown>): number => (box.width > GAP_FROM ? box.width - 1 : Math.max(box.width, 0.5));

/** All boxes of a row are as high: they are one line of pixels. */
function paintNarrow<T>(part: Part<T>, boxes: Box<T>[]): void {
  const { c, rows } = part;
  const scale = ratio();
  const inside = new Lines(c.canvas.width, rows);
  inRuns(boxes.length, fillLines, part, boxes, inside);
  inside.paint(c, (row) => [row * ROW * scale, (row * ROW + ROW - 1) * scale]);
  const marked = markedOf(part, boxes);
  if (!marked.length) return;
  const marks = new Lines(c.canvas.width, rows);
  for (const { x, row, width } of marked) marks.fill(row - part.top, x * scale, width * scale, part.ink.mark);
  marks.paint(c, (row) => [row * ROW * scale, (row * ROW + MARK) * scale]);
  marks.paint(c, (row) => [(row * ROW + ROW - 1 - MARK) * scale, (row * ROW + ROW - 1) * scale]);
}

function fillLines<T>(from: number, to: number, { source, top }: Part<T>, boxes: Box<T>[], lines: Lines): void {
  const scale = ratio();
  for (let i = from; i < to; i++) {
    const { node, x, row, width } = boxes[i]!;
    lines.fill(row - top, x * scale, width * scale, source.colour(node));
  }
}

function markedOf<T>({ source }: Part<T>, boxes: Box<T>[]): Box<T>[] {
  const marked: Box<T>[] = [];
  inRuns(boxes.length, addMarked, source, boxes, marked);
  return marked;
}

function addMarked<T>(from: number, to: number, source: IcicleSource<T>, boxes: Box<T>[], marked: Box<T>[]): void {
  for (let i = from; i < to; i++) if (source.isMarked(boxes[i]!.node)) marked.push(boxes[i]!);
}

/** Colour by colour: to change it takes longer than to fill. */
function paintBoxes<T>(part: Part<T>, boxes: Box<T>[]): void {
  const byColour = new Map<string, Box<T>[]>();
  inRuns(boxes.length, dealByColour, part, boxes, byColour);
  for (const [colour, same] of byColour) fillBoxes(part, same, colour);
  const marked = markedOf(part, boxes);
  if (marked.length) paintMarks(part, marked);
}

function dealByColour<T>(from: number, to: number, { source }: Part<T>, boxes: Box<T>[], byColour: Map<string, Box<T>[]>): void {
  for (let i = from; i < to; i++) {
    const colour = source.colour(boxes[i]!.node);
    const same = byColour.get(colour);
    if (same) same.push(boxes[i]!);
    else byColour.set(colour, [boxes[i]!]);
  }
}

function fillBoxes<T>({ c, top }: Part<T>, boxes: Box<T>[], colour: string): void {
  c.fillStyle = colour;
  for (let i = 0; i < boxes.length; i++) {
    const box = boxes[i]!;
    c.fillRect(box.x, (box.row - top) * ROW, inkWidth(box), ROW - 1);
  }
}

function paintMarks<T>({ c, top, ink }: Part<T>, boxes: Box<T>[]): void {
  c.fillStyle = ink.mark;
  for (let i = 0; i < boxes.length; i++) {
    const box = boxes[i]!;
    const y = (box.row - top) * ROW;
    c.fillRect(box.x, y, inkWidth(box), MARK);
    c.fillRect(box.x, y + ROW - 1 - MARK, inkWidth(box), MARK);
  }
}

function paintTexts<T>({ c, source, top, ink }: Part<T>, boxes: Box<T>[]): void {
  c.fillStyle = ink.text;
  for (let i = 0; i < boxes.length; i++) {
    const box = boxes[i]!;
    if (box.width >= TEXT_FROM) c.fillText(fit(c, textFor(source, box), box.width - MARGINS), box.x + MARGINS / 2, (box.row - top) * ROW + ROW / 2);
  }
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

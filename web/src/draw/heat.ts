// heat.ts -- a map of cells on a canvas, the darker the more.
// SPDX-License-Identifier: Apache-2.0

import { cssColour, drawingWidth, isDark, isPrinting } from "./colours.ts";
import type { Tick } from "./timeaxis.ts";

export interface HeatMap {
  columns: number;
  rows: number;
  value(column: number, row: number): number;
  columnLabel(column: number): string;
  rowLabel(row: number): string;
  /** Columns that are not all of one width: where each begins, as a share of the whole, and where the last one ends. */
  edges?: number[];
  /** What is written below them then. */
  ticks?: Tick[];
}

export interface HeatCell {
  column: number;
  row: number;
}

export const LEFT = 80;
const BOTTOM = 24;

export interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Makes the canvas as wide as it is to be drawn: on paper it would be pressed together. */
export function fitHeat(canvas: HTMLCanvasElement): void {
  canvas.style.width = "";
  if (isPrinting()) canvas.style.width = `${drawingWidth(canvas)}px`;
}

export function cellSize(canvas: HTMLCanvasElement, map: HeatMap): { w: number; h: number } {
  return { w: (canvas.clientWidth - LEFT) / map.columns, h: (canvas.clientHeight - BOTTOM) / map.rows };
}

/** Where a column begins, as a share of the whole. */
function edgeOf(map: HeatMap, column: number): number {
  return map.edges ? map.edges[column]! : column / map.columns;
}

const SHADES = 64;

function shade(i: number, dark: boolean): string {
  const share = i / (SHADES - 1);
  return `hsl(213 80% ${dark ? 16 + 54 * share : 94 - 62 * share}%)`;
}

/** Cells by shade: to change the colour takes longer than to fill. */
function shadeCells(map: HeatMap): number[][] {
  let most = 1;
  for (let x = 0; x < map.columns; x++) for (let y = 0; y < map.rows; y++) most = Math.max(most, map.value(x, y));
  const cells: number[][] = Array.from({ length: SHADES }, () => []);
  for (let x = 0; x < map.columns; x++)
    for (let y = 0; y < map.rows; y++) {
      const value = map.value(x, y);
      if (value > 0) cells[Math.round((SHADES - 1) * (Math.log1p(value) / Math.log1p(most)))]!.push(x * map.rows + y);
    }
  return cells;
}

/** What the shades mean, in words; `what` is counted. */
export function aboutShades(what: string): string {
  return `The darker a cell, the more ${what}; each shade stands for several times as much as the one before.`;
}

/** Row 0 is at the bottom. The scale is logarithmic: a cell of 1 can be told from an empty one. */
export function paintHeat(canvas: HTMLCanvasElement, map: HeatMap, chosen: HeatCell | null): void {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  const c = canvas.getContext("2d")!;
  c.scale(ratio, ratio);
  c.font = "11px system-ui, sans-serif";
  const { w, h } = cellSize(canvas, map);
  const dark = isDark();
  const gap = map.edges || w <= 4 ? 0 : 1;
  const cellHeight = Math.max(h - (h > 4 ? 1 : 0), 1);
  const width = canvas.clientWidth - LEFT; // once: to be asked, it is worked out each time
  const left = (x: number): number => LEFT + edgeOf(map, x) * width;
  shadeCells(map).forEach((cells, i) => {
    if (cells.length) c.fillStyle = shade(i, dark);
    for (const cell of cells) {
      const x = Math.floor(cell / map.rows);
      c.fillRect(left(x), (map.rows - 1 - (cell % map.rows)) * h, Math.max(left(x + 1) - left(x) - gap, 1), cellHeight);
    }
  });
  paintLabels(c, canvas, map);
  if (!chosen) return;
  c.strokeStyle = cssColour("--mark");
  c.lineWidth = 2;
  c.strokeRect(left(chosen.column), (map.rows - 1 - chosen.row) * h, Math.max(left(chosen.column + 1) - left(chosen.column), 2), h);
}

function paintLabels(c: CanvasRenderingContext2D, canvas: HTMLCanvasElement, map: HeatMap): void {
  const { w, h } = cellSize(canvas, map);
  c.fillStyle = cssColour("--faint");
  c.textBaseline = "middle";
  c.textAlign = "right";
  const everyRow = Math.max(1, Math.ceil(14 / h));
  for (let y = 0; y < map.rows; y += everyRow) c.fillText(map.rowLabel(y), LEFT - 6, (map.rows - 0.5 - y) * h);
  c.textAlign = "center";
  if (map.ticks) return paintTicks(c, canvas, map.ticks);
  const everyColumn = Math.max(1, Math.ceil(70 / w));
  for (let x = 0; x < map.columns; x += everyColumn) c.fillText(map.columnLabel(x), LEFT + (x + 0.5) * w, canvas.clientHeight - BOTTOM / 2);
}

function paintTicks(c: CanvasRenderingContext2D, canvas: HTMLCanvasElement, ticks: Tick[]): void {
  const [width, bottom] = [canvas.clientWidth - LEFT, canvas.clientHeight - BOTTOM];
  for (const { at, text } of ticks) {
    const x = LEFT + at * width;
    const half = c.measureText(text).width / 2;
    c.fillRect(Math.min(x, LEFT + width - 1), bottom, 1, 4);
    c.fillText(text, Math.min(Math.max(x, LEFT + half), LEFT + width - half), canvas.clientHeight - BOTTOM / 2 + 2);
  }
}

/** Which way an arrow key goes, by cells; null: it is another key. */
export function heatStepOf(key: string): HeatCell | null {
  const steps: Record<string, HeatCell> = { ArrowLeft: { column: -1, row: 0 }, ArrowRight: { column: 1, row: 0 }, ArrowUp: { column: 0, row: 1 }, ArrowDown: { column: 0, row: -1 } };
  return steps[key] ?? null;
}

/** The nearest cell that way which has something, if need be in another line; where one begins, the first of all. Null: there is none. */
export function nextCell(map: HeatMap, from: HeatCell | null, step: HeatCell): HeatCell | null {
  if (!from) return fullCell(map, () => true);
  const ahead = ({ column, row }: HeatCell): number => (column - from.column) * step.column + (row - from.row) * step.row;
  const beside = ({ column, row }: HeatCell): number => Math.abs((column - from.column) * step.row) + Math.abs((row - from.row) * step.column);
  const isNearer = (a: HeatCell, b: HeatCell): boolean => ahead(a) < ahead(b) || (ahead(a) === ahead(b) && beside(a) < beside(b));
  return fullCell(map, (cell, best) => ahead(cell) > 0 && (!best || isNearer(cell, best)));
}

/** Of those that have something, the last that is taken. */
function fullCell(map: HeatMap, takes: (cell: HeatCell, best: HeatCell | null) => boolean): HeatCell | null {
  let best: HeatCell | null = null;
  for (let column = map.columns - 1; column >= 0; column--)
    for (let row = map.rows - 1; row >= 0; row--) if (map.value(column, row) > 0 && takes({ column, row }, best)) best = { column, row };
  return best;
}

export function heatCellAt(canvas: HTMLCanvasElement, map: HeatMap, e: MouseEvent): HeatCell | null {
  const r = canvas.getBoundingClientRect();
  const { h } = cellSize(canvas, map);
  const share = (e.clientX - r.left - LEFT) / (canvas.clientWidth - LEFT);
  let column = -1;
  while (column < map.columns && edgeOf(map, column + 1) <= share) column++;
  const row = map.rows - 1 - Math.floor((e.clientY - r.top) / h);
  return column >= 0 && column < map.columns && row >= 0 && row < map.rows ? { column, row } : null;
}

// pagemap.ts -- the pages of a heap in rows of cells on a canvas, in the order of their addresses. Knows cells and colours, not
// profiles.
// SPDX-License-Identifier: Apache-2.0

import { cssColour, isDark } from "./colours.ts";

export interface PageCell {
  /** Of what is in memory: live bytes, 0 to 1. */
  fill: number;
  kind: "absent" | "free" | "held";
  isMarked: boolean;
  /** Does not go on where the one before ends. */
  isApart: boolean;
}

export interface PageGrid {
  columns: number;
  size: number; // of a cell and the space behind it, pixels
  /** By cell: its place, counted in rows from the top left. */
  places: Uint32Array;
}

const SMALLEST = 5;
const LARGEST = 14;
const WANTED = 40000; // pixels: what a map should have at least, so that few pages are large

export const SHADES = 16;

export function shade(i: number, dark = isDark()): string {
  const share = i / (SHADES - 1);
  return dark ? `hsl(28 ${30 + 50 * share}% ${22 + 38 * share}%)` : `hsl(28 ${50 + 40 * share}% ${90 - 48 * share}%)`;
}

/** Pieces that are not side by side begin a row each, as long as there are few of them. */
export function layOutPages(cells: PageCell[], width: number): PageGrid {
  const area = Math.max(1, cells.length);
  const size = Math.min(LARGEST, Math.max(SMALLEST, Math.floor(Math.sqrt((width * 380) / area)), Math.floor(Math.sqrt(WANTED / area))));
  const columns = Math.max(1, Math.floor(width / size));
  const apart = cells.reduce((n, c) => n + (c.isApart ? 1 : 0), 0);
  const places = new Uint32Array(cells.length);
  let next = 0;
  cells.forEach((cell, i) => {
    if (i && cell.isApart) next = apart <= 40 ? Math.ceil(next / columns) * columns : next + 1;
    places[i] = next++;
  });
  return { columns, size, places };
}

export function paintPages(canvas: HTMLCanvasElement, cells: PageCell[], grid: PageGrid): void {
  const ratio = devicePixelRatio || 1;
  const rows = cells.length ? Math.floor(grid.places[cells.length - 1]! / grid.columns) + 1 : 1;
  canvas.style.height = `${rows * grid.size}px`;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(rows * grid.size * ratio);
  const c = canvas.getContext("2d")!;
  c.scale(ratio, ratio);
  const byColour = new Map<string, number[]>();
  // Once each: to ask the style sheet for every cell takes longer than to draw them.
  const shades = Array.from({ length: SHADES }, (_, i) => shade(i));
  const [free, absent] = [cssColour("--chart2"), cssColour("--panel")];
  cells.forEach((cell, i) => {
    const colour = cell.kind === "held" ? shades[Math.round(cell.fill * (SHADES - 1))]! : cell.kind === "free" ? free : absent;
    const same = byColour.get(colour);
    if (same) same.push(i);
    else byColour.set(colour, [i]);
  });
  const { columns, size, places } = grid;
  const x = (i: number) => (places[i]! % columns) * size;
  const y = (i: number) => Math.floor(places[i]! / columns) * size;
  for (const [colour, same] of byColour) {
    c.fillStyle = colour;
    for (const i of same) c.fillRect(x(i), y(i), size - 1, size - 1);
  }
  c.strokeStyle = cssColour("--mark");
  c.lineWidth = 2;
  cells.forEach((cell, i) => cell.isMarked && c.strokeRect(x(i), y(i), size - 1, size - 1));
}

/** The cell at a place of the canvas; -1: there is none. */
export function pageAt(grid: PageGrid, x: number, y: number): number {
  const column = Math.floor(x / grid.size);
  if (column < 0 || column >= grid.columns || y < 0) return -1;
  return grid.places.indexOf(Math.floor(y / grid.size) * grid.columns + column);
}

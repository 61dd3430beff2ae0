// sizetimes.ts -- what was live over time, by size; a cell leads to the stacks behind it.
// SPDX-License-Identifier: Apache-2.0

import type { App } from "../app.ts";
import { isDark, isPrinting } from "../draw/colours.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatCounted, formatTime } from "../draw/format.ts";
import { aboutShades, fitHeat, heatCellAt, heatStepOf, LEFT, nextCell, paintHeat, type HeatCell, type HeatMap } from "../draw/heat.ts";
import { columnsOver, ticksOver } from "../draw/timeaxis.ts";
import { whenIdleAfter } from "../idle.ts";
import { lostStacks } from "../load/pack.ts";
import type { Profile } from "../model/profile.ts";
import { firstAfter, type Range } from "../model/question.ts";
import { BUCKETS, bucketRange, sitesOfSize, usedBuckets } from "../model/sizes.ts";
import { sentence } from "./controls.ts";
import { Opened } from "./opened.ts";
import { stackDetails, stackLists } from "./stack.ts";
import { withinBytes } from "./within.ts";

const LATER_MS = 1000; // who goes on before does not wait for what nobody has looked at
const TICK_PIXELS = 100;
const STACKS_SHOWN = 50;

/** Of a size, at a point. */
interface Moment {
  size: number;
  point: number;
}

interface Drawing {
  map: HeatMap;
  points: number[]; // the first of each column, and behind the last
  firstSize: number;
}

/** By column: the most at any of its points. `begins`: the first point of each, and behind the last. */
function highestIn(row: Float64Array, begins: number[], columns: number): Float64Array {
  const highest = new Float64Array(columns);
  for (let x = 0; x < columns; x++) for (let point = begins[x]!; point < begins[x + 1]!; point++) highest[x] = Math.max(highest[x]!, row[point]!);
  return highest;
}

export class SizesInTime {
  readonly element: HTMLElement;
  private readonly title = h("h2");
  private readonly canvas = h("canvas.heat", { id: "size-by-time", tabindex: 0, role: "img", "aria-label": "sizes over time; arrow keys choose a cell" }) as HTMLCanvasElement;
  private readonly about = h("p.note", { id: "sizes-over-time" });
  private readonly told = h("p.note", { id: "moment-told" }, aboutShades("bytes"));
  private readonly stacks = h("div", { id: "moment-stacks" });
  private drawing: Drawing | null = null;
  private drawn: { profile: Profile; look: string } | null = null;
  private isToDraw = false;
  private readonly opened = new Opened();

  constructor(private readonly app: App) {
    this.element = h("section", {}, this.title,
      this.about, this.canvas, this.told, this.stacks);
    this.canvas.addEventListener("mousemove", (e) => this.tell(this.drawing && heatCellAt(this.canvas, this.drawing.map, e)));
    this.canvas.addEventListener("mouseleave", () => this.tell(null));
    this.canvas.addEventListener("click", (e) => this.onClick(e));
    this.canvas.addEventListener("keydown", (e) => this.onKey(e));
    window.addEventListener("scroll", () => this.drawNow(), { passive: true });
  }

  /** `text`: the range in words, or "". */
  fill(text: string): void {
    const { range } = this.app;
    this.element.hidden = range !== null && range.from === range.to; // the table has it
    const lost = lostStacks(this.app.profile.pack.header);
    this.canvas.hidden = this.told.hidden = Boolean(lost);
    clear(this.about, lost ? sentence(lost) : "By the mean size of each stack's live blocks. Click a cell to see the stacks behind it; Escape or another click leaves it.");
    clear(this.title, `Live bytes over time${range ? `, ${text}` : ""}`);
  }

  update(): void {
    this.draw();
    if (this.isToDraw) this.drawSoon(); // the page was left before
    this.showStacks();
  }

  draw(): void {
    const { profile, state, range } = this.app;
    fitHeat(this.canvas);
    const look = [this.canvas.clientWidth, devicePixelRatio, isDark(), state.cell, range?.from, range?.to].join(" ");
    if (this.drawn?.profile === profile && this.drawn.look === look) return;
    this.drawn = { profile, look };
    this.drawSoon();
  }

  /** What is not in sight is drawn a moment later, or when it is scrolled to. */
  private drawSoon(): void {
    this.isToDraw = true;
    if (isPrinting() || this.canvas.getBoundingClientRect().top < innerHeight) return this.drawNow();
    whenIdleAfter(LATER_MS, () => this.drawNow());
  }

  private drawNow(): void {
    if (!this.isToDraw || !this.canvas.clientWidth) return;
    this.isToDraw = false;
    this.drawing = this.layOut();
    const { map, points, firstSize } = this.drawing;
    const chosen = this.chosen();
    const column = chosen ? firstAfter(points, chosen.point) - 1 : -1;
    const isShown = chosen && column >= 0 && column < map.columns && chosen.size >= firstSize && chosen.size < firstSize + map.rows;
    paintHeat(this.canvas, map, isShown ? { column, row: chosen.size - firstSize } : null);
  }

  private layOut(): Drawing {
    const { profile, range } = this.app;
    const { points, bytes } = profile.sizesOverTime();
    const times = profile.pack.f64("point.time_ns");
    // The whole recording begins with the program and ends with it, wherever its points are.
    const span: [number, number] = range ? [times[range.from]!, times[range.to]!] : [0, Math.max(profile.pack.header.duration_ns, times[points - 1] ?? 0)];
    const width = Math.max(1, this.canvas.clientWidth - LEFT);
    const { first: begins, left } = columnsOver(times, range ? [range.from, range.to] : [0, points - 1], span, width);
    const rows = bytes.map((row) => highestIn(row, begins, left.length - 1));
    const [first, last] = usedBuckets((b) => rows[b]!.reduce((a, v) => Math.max(a, v), 0));
    return {
      points: begins,
      firstSize: first,
      map: {
        columns: rows[0]!.length, rows: last - first + 1,
        value: (x, y) => rows[y + first]![x]!,
        columnLabel: () => "", rowLabel: (y) => formatBytes(bucketRange(y + first)[0]),
        edges: left, ticks: ticksOver(span, Math.floor(width / TICK_PIXELS)),
      },
    };
  }

  /** "size@time": points have other numbers in the next profile of a program that runs on. */
  private chosen(): Moment | null {
    const [size, time] = this.app.state.cell.split("@").map(Number);
    if (!/^\d+@\d+$/.test(this.app.state.cell) || size! >= BUCKETS) return null;
    const point = firstAfter(this.app.profile.pack.f64("point.time_ns"), time!) - 1;
    return point < 0 ? null : { size: size!, point };
  }

  /** Once more: none. */
  private choose({ column, row }: HeatCell, remember: boolean): void {
    const size = row + this.drawing!.firstSize;
    const cell = `${size}@${this.app.profile.pack.f64("point.time_ns")[this.highest(size, column)]}`;
    this.app.go({ cell: cell === this.app.state.cell ? "" : cell }, remember);
  }

  /** What the cell under the pointer has, or what the shades mean. */
  private tell(at: HeatCell | null): void {
    const bytes = at ? this.drawing!.map.value(at.column, at.row) : 0;
    if (!bytes) return clear(this.told, aboutShades("bytes"));
    const size = at!.row + this.drawing!.firstSize;
    const [small, large] = bucketRange(size);
    const time = this.app.profile.pack.f64("point.time_ns")[this.highest(size, at!.column)]!;
    clear(this.told, `${formatBytes(bytes)} at ${formatTime(time)}, of stacks whose blocks had ${formatBytes(small)} to ${formatBytes(large)} on average`);
  }

  /** Of several points in a column, that which its shade is of. */
  private highest(size: number, column: number): number {
    const row = this.app.profile.sizesOverTime().bytes[size]!;
    const { points } = this.drawing!;
    let best = points[column]!;
    for (let point = best; point < points[column + 1]!; point++) if (row[point]! > row[best]!) best = point;
    return best;
  }

  private onClick(e: MouseEvent): void {
    const at = this.drawing && heatCellAt(this.canvas, this.drawing.map, e);
    if (at && this.drawing!.map.value(at.column, at.row) > 0) this.choose(at, true);
  }

  private onKey(e: KeyboardEvent): void {
    const step = heatStepOf(e.key);
    if (!step || !this.drawing?.map.columns) return;
    e.preventDefault();
    const { map, points, firstSize } = this.drawing;
    const now = this.chosen();
    const next = nextCell(map, now && { column: firstAfter(points, now.point) - 1, row: now.size - firstSize }, step);
    if (next) this.choose(next, false);
  }

  private showStacks(): void {
    const moment = this.chosen();
    if (!moment || this.element.hidden || this.canvas.hidden) return clear(this.stacks);
    const { app } = this;
    const range: Range = { from: moment.point, to: moment.point };
    const live = app.answer(app.question({ figure: "live", range, thread: null, functions: "", module: "" }));
    const { count, few, bytes, blocks, variance } = sitesOfSize(app.profile, live, moment.size, STACKS_SHOWN);
    // Told now: what is live has other numbers when the rest of the list is made.
    const figures = new Map(Array.from(few, (site) => [site, `${formatBytes(live.bytes[site]!)}${withinBytes(app, live.bytes[site]!, live.variance?.[site] ?? 0)} in ${formatCount(live.blocks[site]!)}`]));
    const [small, large] = bucketRange(moment.size);
    const time = app.profile.pack.f64("point.time_ns")[moment.point]!;
    clear(this.stacks, h("h3", { "data-bytes": bytes, "data-blocks": blocks }, `${formatBytes(bytes)}${withinBytes(app, bytes, variance)} in ${formatCounted(blocks, "block")} at ${formatTime(time)}, of stacks whose blocks had ${formatBytes(small)} to ${formatBytes(large)} on average`),
      h("p.note", {}, `${formatCount(count)} ${count === 1 ? "stack" : "stacks"}`, count > STACKS_SHOWN && `, of which the ${STACKS_SHOWN} with most are shown`),
      stackLists(few, (site) => stackDetails(app, site, figures.get(site)!, this.opened)));
  }
}

// sizes.ts -- how large blocks are, how long they live, and which stacks make them.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { isDark } from "../draw/colours.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatCounted, formatGrowth, formatMore, formatTime } from "../draw/format.ts";
import { lostStacks } from "../load/pack.ts";
import { aboutShades, fitHeat, heatCellAt, heatStepOf, nextCell, paintHeat, type HeatCell, type HeatMap } from "../draw/heat.ts";
import { BUCKETS, bucketRange, sitesInCell, sizesIn, usedBuckets, type Cell, type Live, type SizeChange } from "../model/sizes.ts";
import type { Profile } from "../model/profile.ts";
import type { Range } from "../model/question.ts";
import { NO_BLOCKS, rangeText, sentence, wholeButton } from "./controls.ts";
import { Opened } from "./opened.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import { SizesInTime } from "./sizetimes.ts";
import { stackDetails, stackLists } from "./stack.ts";
import { withinBoundBlocks, withinBoundBytes, withinChangeOfBlocks, withinChangeOfBytes } from "./within.ts";

const STACKS_SHOWN = 50;

function nameOf(bucket: number): string {
  const [low, high] = bucketRange(bucket);
  return low === high ? formatBytes(low) : `${formatBytes(low)} – ${formatBytes(high)}`;
}

function cellText(cell: Cell, count: number): string {
  const [small, large] = bucketRange(cell.size);
  const [short, long] = bucketRange(cell.life);
  return `${formatCounted(count, "block")} of ${formatBytes(small)} to ${formatBytes(large)} that lived ${formatTime(short)} to ${formatTime(long)}`;
}

/** `within`: " (3 to 5)", or "". */
function numberCell(value: number, text: string, within: string): HTMLElement {
  return h("td.number", { "data-value": value, title: within.trim() || undefined }, text);
}

/** Numbers stand on the right; the first column and that of the bars do not. */
function head(text: string, i: number, all: string[]): HTMLElement {
  return h(i && i < all.length - 1 ? "th.number" : "th", {}, text);
}

class SizesPage {
  readonly element: HTMLElement;
  private readonly histogram = h("table.grid", { id: "size-histogram" });
  private readonly cells = h("canvas.heat", { id: "size-by-life", tabindex: 0, role: "img", "aria-label": "sizes by lifetimes; arrow keys choose a cell" }) as HTMLCanvasElement;
  private readonly none = h("p.note", { id: "sizes-none", hidden: true }, NO_BLOCKS);
  private readonly all = h("div");
  private readonly livesNote = h("p.note");
  private readonly told = h("p.note", { id: "cell-told" });
  private readonly stacks = h("div", { id: "cell-stacks" });
  private readonly about = h("p", { id: "sizes-range", hidden: true });
  private readonly livesTitle = h("h2");
  private readonly overTime: SizesInTime;
  private readonly opened = new Opened();
  private firstSize = 0;
  private firstLife = 0;
  private map: HeatMap | null = null;
  private filled: { profile: Profile; range: string } | null = null;
  private drawn: { profile: Profile; look: string } | null = null;

  constructor(private readonly app: App) {
    this.overTime = new SizesInTime(app);
    this.element = h("div.sizes-page", {},
      this.none, this.all);
    this.all.append(h("h2", {}, "Sizes"), this.about, h("p", {}, makeSheetSaving(app, "sizes", () => this.sheet())), h("div.scroll", { tabindex: 0, role: "region", "aria-label": "sizes" }, this.histogram),
      this.livesTitle, this.livesNote, this.cells, this.told, this.stacks,
      this.overTime.element);
    this.cells.addEventListener("mousemove", (e) => this.tell(this.map && heatCellAt(this.cells, this.map, e)));
    this.cells.addEventListener("mouseleave", () => this.tell(null));
    this.cells.addEventListener("click", (e) => this.onClick(e));
    this.cells.addEventListener("keydown", (e) => this.onKey(e));
    const draw = () => (this.draw(), this.overTime.draw());
    new ResizeObserver(draw).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }

  update(): void {
    const { profile } = this.app;
    const range = rangeText(this.app);
    this.none.hidden = profile.pack.f64("size.count").some((n) => n > 0);
    this.all.hidden = !this.none.hidden;
    if (this.all.hidden) return;
    if (this.filled?.profile !== profile || this.filled.range !== this.rangeKey()) this.fill(range);
    this.filled = { profile, range: this.rangeKey() };
    this.draw();
    this.showStacks();
    this.overTime.update();
  }

  private rangeKey(): string {
    const { range } = this.app;
    return range ? `${range.from} ${range.to}` : "";
  }

  /** `text`: the range in words. */
  private fill(text: string): void {
    const range = this.app.range;
    this.about.hidden = !range;
    if (range) {
      clear(this.about, h("span.range", {}, text, " ", wholeButton(this.app)), " ", h("span.note", {}, "By the mean size of each stack's live blocks, which is what the time line tells; a stack of which that changes goes from one row to another."));
      this.fillRange(range);
    } else this.fillHistogram();
    const hasLives = this.app.profile.pack.f64("size_by_life.count").some((n) => n > 0);
    clear(this.livesNote, hasLives ? "Click a cell to see the stacks that can have made its blocks; Escape or another click leaves it." : "No block was freed.");
    this.cells.hidden = this.told.hidden = !hasLives;
    this.tell(null);
    clear(this.livesTitle, `Size and lifetime of freed blocks${range ? ", of the whole recording" : ""}`);
    this.overTime.fill(text);
  }

  /** What was live at the ends of a range, or at a moment. */
  private fillRange(range: Range): void {
    const lost = lostStacks(this.app.profile.pack.header);
    if (lost) return clear(this.histogram, h("caption", {}, sentence(lost)));
    const { buckets, all } = sizesIn(this.app.profile.sizesOverTime(), range);
    const isMoment = range.from === range.to;
    const [first, last] = usedBuckets((i) => buckets[i]!.mostBytes + buckets[i]!.first.blocks + buckets[i]!.last.blocks);
    const most = Math.max(1, ...buckets.map((b) => b.mostBytes));
    const row = (bucket: number | string, name: string, b: SizeChange, meter: boolean): HTMLElement =>
      h("tr", { "data-bucket": bucket }, h("th", {}, name), ...this.ends(b, isMoment), h("td.when", {}, meter && b.mostBytes > 0 && h("div.meter", { style: `width:${(100 * b.mostBytes) / most}%` })));
    const heads = isMoment ? ["Blocks", "Bytes"] : ["Blocks at start", "Bytes at start", "Blocks at end", "Bytes at end", "Growth in blocks", "Growth", "Highest at a point"];
    clear(this.histogram, h("thead", {}, h("tr", {}, ...["Mean size", ...heads, isMoment ? "By bytes" : "By the highest"].map(head))),
      h("tbody", {}, ...buckets.slice(first, last + 1).map((b, i) => row(first + i, nameOf(first + i), b, true))),
      h("tfoot", {}, row("all", "all", all, false)));
  }

  private ends(b: SizeChange, isMoment: boolean): HTMLElement[] {
    const { app } = this;
    const of = ({ blocks, bytes }: Live) => this.figures(blocks, bytes);
    if (isMoment) return of(b.last);
    const [blocks, bytes] = [b.last.blocks - b.first.blocks, b.last.bytes - b.first.bytes];
    return [...of(b.first), ...of(b.last), numberCell(blocks, formatMore(blocks), withinChangeOfBlocks(app, b.first, b.last)),
      numberCell(bytes, formatGrowth(bytes), withinChangeOfBytes(app, b.first.bytes, b.last.bytes)), numberCell(b.mostBytes, formatBytes(b.mostBytes), withinBoundBytes(app, b.mostBytes))];
  }

  private fillHistogram(): void {
    const { pack } = this.app.profile;
    const columns = (["count", "bytes", "live_count", "live_bytes"] as const).map((c) => pack.f64(`size.${c}`));
    const [first, last] = usedBuckets((i) => columns[0]![i]!);
    const most = Math.max(1, ...columns[0]!);
    const rows: HTMLElement[] = [];
    for (let i = first; i <= last; i++) {
      rows.push(h("tr", { "data-bucket": i }, h("th", {}, nameOf(i)),
        ...this.figures(columns[0]![i]!, columns[1]![i]!), ...this.figures(columns[2]![i]!, columns[3]![i]!),
        h("td.when", {}, columns[0]![i]! > 0 && h("div.meter", { style: `width:${(100 * columns[0]![i]!) / most}%` }))));
    }
    clear(this.histogram, h("thead", {}, h("tr", {}, ...["Size", "Blocks", "Bytes", "Left at the end", "Bytes left", "By blocks"].map(head))), h("tbody", {}, ...rows));
  }

  private sheet(): Sheet {
    const range = this.app.range;
    if (range) return this.sheetOf(range);
    const head = ["count", "bytes", "live_count", "live_bytes"];
    const columns = head.map((c) => this.app.profile.pack.f64(`size.${c}`));
    const rows = Array.from({ length: BUCKETS }, (_, i) => [...bucketRange(i), ...columns.map((c) => c[i]!)]);
    return { head: ["smallest", "largest", ...head], rows: rows.filter((row) => row[2]! > 0) };
  }

  private sheetOf(range: Range): Sheet {
    const isMoment = range.from === range.to;
    const ends = ({ first, last, mostBytes }: SizeChange): number[] =>
      isMoment ? [last.blocks, last.bytes] : [first.blocks, first.bytes, last.blocks, last.bytes, last.blocks - first.blocks, last.bytes - first.bytes, mostBytes];
    const head = isMoment ? ["live_count", "live_bytes"] : ["start_count", "start_bytes", "end_count", "end_bytes", "growth_count", "growth_bytes", "most_bytes"];
    const rows = sizesIn(this.app.profile.sizesOverTime(), range).buckets.map((b, i) => [...bucketRange(i), ...ends(b)]);
    return { head: ["smallest_mean", "largest_mean", ...head], rows: rows.filter((row) => row.slice(2).some(Boolean)) };
  }

  private figures(blocks: number, bytes: number): HTMLElement[] {
    return [numberCell(blocks, formatCount(blocks), withinBoundBlocks(this.app, blocks, bytes)), numberCell(bytes, formatBytes(bytes), withinBoundBytes(this.app, bytes))];
  }

  private chosen(): Cell | null {
    const [size, life] = this.app.state.cell.split(",").map(Number);
    return /^\d+,\d+$/.test(this.app.state.cell) && size! < BUCKETS && life! < BUCKETS ? { size: size!, life: life! } : null;
  }

  private draw(): void {
    const { profile, state } = this.app;
    fitHeat(this.cells);
    const look = `${this.cells.clientWidth} ${devicePixelRatio} ${isDark()} ${state.cell}`;
    if (!this.cells.clientWidth || (this.drawn?.profile === profile && this.drawn.look === look)) return;
    this.drawn = { profile, look };
    const { pack } = profile;
    const counts = pack.f64("size_by_life.count");
    const sizes = usedBuckets((s) => counts.subarray(s * BUCKETS, (s + 1) * BUCKETS).reduce((a, b) => a + b, 0));
    const lives = usedBuckets((l) => Array.from({ length: BUCKETS }, (_, s) => counts[s * BUCKETS + l]!).reduce((a, b) => a + b, 0));
    [this.firstSize, this.firstLife] = [sizes[0], lives[0]];
    this.map = {
      columns: lives[1] - lives[0] + 1,
      rows: sizes[1] - sizes[0] + 1,
      value: (x, y) => counts[(y + sizes[0]) * BUCKETS + x + lives[0]]!,
      columnLabel: (x) => formatTime(bucketRange(x + lives[0])[0]),
      rowLabel: (y) => formatBytes(bucketRange(y + sizes[0])[0]),
    };
    const cell = this.chosen();
    paintHeat(this.cells, this.map, cell && { column: cell.life - this.firstLife, row: cell.size - this.firstSize });
  }

  private onClick(e: MouseEvent): void {
    const at = this.map && heatCellAt(this.cells, this.map, e);
    if (at && this.map!.value(at.column, at.row) > 0) this.choose(at, true);
  }

  private onKey(e: KeyboardEvent): void {
    const step = heatStepOf(e.key);
    if (!step || !this.map) return;
    e.preventDefault();
    const cell = this.chosen();
    const next = nextCell(this.map, cell && { column: cell.life - this.firstLife, row: cell.size - this.firstSize }, step);
    if (next) this.choose(next, false);
  }

  /** Once more: none. */
  private choose({ column, row }: HeatCell, remember: boolean): void {
    const cell = `${row + this.firstSize},${column + this.firstLife}`;
    this.app.go({ cell: cell === this.app.state.cell ? "" : cell }, remember);
  }

  /** What the cell under the pointer has, or what the shades mean. */
  private tell(at: HeatCell | null): void {
    const count = at ? this.map!.value(at.column, at.row) : 0;
    clear(this.told, count > 0 ? cellText({ size: at!.row + this.firstSize, life: at!.column + this.firstLife }, count) : aboutShades("blocks"));
  }

  private showStacks(): void {
    const cell = this.chosen();
    if (!cell) return clear(this.stacks);
    const { profile } = this.app;
    const { count: fitting, few } = sitesInCell(profile, cell, STACKS_SHOWN);
    const count = profile.pack.f64("size_by_life.count")[cell.size * BUCKETS + cell.life] ?? 0;
    clear(this.stacks, h("h3", {}, cellText(cell, count)),
      h("p.note", {}, `${formatCount(fitting)} ${fitting === 1 ? "stack" : "stacks"} can have made them`, fitting > STACKS_SHOWN && `, of which the ${STACKS_SHOWN} that freed most are shown`),
      stackLists(few, (site) => stackDetails(this.app, site, `${formatCount(profile.pack.f64("site.frees")[site]!)} freed`, this.opened)));
  }
}

export const sizes: View = { id: "sizes", title: "Sizes", key: "7", create: (app) => new SizesPage(app) };

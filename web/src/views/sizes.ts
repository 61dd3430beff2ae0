// sizes.ts -- how large blocks are, how long they live, and which stacks make them.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { isDark, isPrinting } from "../draw/colours.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatTime } from "../draw/format.ts";
import { heatCellAt, paintHeat, type HeatMap } from "../draw/heat.ts";
import { whenIdleAfter } from "../idle.ts";
import { BUCKETS, bucketRange, sitesInCell, type Cell } from "../model/sizes.ts";
import type { Profile } from "../model/profile.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import { stackList } from "./stack.ts";
import { withinBoundBlocks, withinBoundBytes } from "./within.ts";

const STACKS_SHOWN = 50;
const LATER_MS = 1000; // who goes on before does not wait for what nobody has looked at

function sizeLabel(bucket: number): string {
  return bucket === 0 ? "0 B" : formatBytes(bucketRange(bucket)[0]);
}

/** The buckets between the first and the last with anything in them. */
function used(values: (i: number) => number): [number, number] {
  let first = BUCKETS;
  let last = 0;
  for (let i = 0; i < BUCKETS; i++) if (values(i) > 0) [first, last] = [Math.min(first, i), i];
  return first > last ? [0, 0] : [first, last];
}

class SizesPage {
  readonly element: HTMLElement;
  private readonly histogram = h("table.grid", { id: "size-histogram" });
  private readonly cells = h("canvas.heat", { id: "size-by-life", tabindex: 0, role: "img", "aria-label": "sizes by lifetimes; arrow keys choose a cell" }) as HTMLCanvasElement;
  private readonly times = h("canvas.heat", { id: "size-by-time", role: "img", "aria-label": "sizes over time" }) as HTMLCanvasElement;
  private readonly stacks = h("div", { id: "cell-stacks" });
  private firstSize = 0;
  private firstLife = 0;
  private map: HeatMap | null = null;
  private filled: Profile | null = null;
  private drawn: { profile: Profile; look: string } | null = null;

  constructor(private readonly app: App) {
    this.element = h("div.sizes-page", {},
      h("h2", {}, "Sizes"), h("p", {}, makeSheetSaving(app, "sizes", () => this.sheet())), h("div.scroll", {}, this.histogram),
      h("h2", {}, "Size and lifetime of freed blocks"), h("p.note", {}, "Click a cell to see the stacks that can have made its blocks."), this.cells, this.stacks,
      h("h2", {}, "Live bytes over time"), h("p.note", {}, "By the mean size of each stack's live blocks."), this.times);
    this.cells.addEventListener("click", (e) => this.onClick(e));
    this.cells.addEventListener("keydown", (e) => this.onKey(e));
    new ResizeObserver(() => this.draw()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    window.addEventListener("scroll", () => this.drawTimes(), { passive: true });
  }

  update(): void {
    const { profile } = this.app;
    if (this.filled !== profile) this.fillHistogram();
    this.filled = profile;
    this.draw();
    if (this.isToDraw) this.drawTimesSoon(); // the page was left before
    this.showStacks();
  }

  private fillHistogram(): void {
    const { pack } = this.app.profile;
    const columns = (["count", "bytes", "live_count", "live_bytes"] as const).map((c) => pack.f64(`size.${c}`));
    const [first, last] = used((i) => columns[0]![i]!);
    const most = Math.max(1, ...columns[0]!);
    const rows: HTMLElement[] = [];
    for (let i = first; i <= last; i++) {
      const [low, high] = bucketRange(i);
      rows.push(h("tr", { "data-bucket": i }, h("th", {}, low === high ? formatBytes(low) : `${formatBytes(low)} – ${formatBytes(high)}`),
        ...this.figures(columns[0]![i]!, columns[1]![i]!), ...this.figures(columns[2]![i]!, columns[3]![i]!),
        h("td.when", {}, columns[0]![i]! > 0 && h("div.meter", { style: `width:${(100 * columns[0]![i]!) / most}%` }))));
    }
    clear(this.histogram, h("thead", {}, h("tr", {}, ...["Size", "Blocks", "Bytes", "Left at the end", "Bytes left", ""].map((t, i) => h(i ? "th.number" : "th", {}, t)))), h("tbody", {}, ...rows));
  }

  private sheet(): Sheet {
    const head = ["count", "bytes", "live_count", "live_bytes"];
    const columns = head.map((c) => this.app.profile.pack.f64(`size.${c}`));
    const rows = Array.from({ length: BUCKETS }, (_, i) => [...bucketRange(i), ...columns.map((c) => c[i]!)]);
    return { head: ["smallest", "largest", ...head], rows: rows.filter((row) => row[2]! > 0) };
  }

  private figures(blocks: number, bytes: number): HTMLElement[] {
    return [h("td.number", { title: withinBoundBlocks(this.app, blocks, bytes).trim() || undefined }, formatCount(blocks)),
      h("td.number", { title: withinBoundBytes(this.app, bytes).trim() || undefined }, formatBytes(bytes))];
  }

  private chosen(): Cell | null {
    const [size, life] = this.app.state.cell.split(",").map(Number);
    return this.app.state.cell && Number.isInteger(size) && Number.isInteger(life) ? { size: size!, life: life! } : null;
  }

  private draw(): void {
    const { profile, state } = this.app;
    const look = `${this.cells.clientWidth} ${devicePixelRatio} ${isDark()}`;
    if (!this.cells.clientWidth || (this.drawn?.profile === profile && this.drawn.look === `${look} ${state.cell}`)) return;
    if (this.drawn?.profile !== profile || !this.drawn.look.startsWith(look)) this.drawTimesSoon();
    this.drawn = { profile, look: `${look} ${state.cell}` };
    const { pack } = profile;
    const counts = pack.f64("size_by_life.count");
    const sizes = used((s) => counts.subarray(s * BUCKETS, (s + 1) * BUCKETS).reduce((a, b) => a + b, 0));
    const lives = used((l) => Array.from({ length: BUCKETS }, (_, s) => counts[s * BUCKETS + l]!).reduce((a, b) => a + b, 0));
    [this.firstSize, this.firstLife] = [sizes[0], lives[0]];
    this.map = {
      columns: lives[1] - lives[0] + 1,
      rows: sizes[1] - sizes[0] + 1,
      value: (x, y) => counts[(y + sizes[0]) * BUCKETS + x + lives[0]]!,
      columnLabel: (x) => formatTime(bucketRange(x + lives[0])[0]),
      rowLabel: (y) => sizeLabel(y + sizes[0]),
    };
    const cell = this.chosen();
    paintHeat(this.cells, this.map, cell && { column: cell.life - this.firstLife, row: cell.size - this.firstSize });
  }

  private isToDraw = false;

  /** What is not in sight is drawn a moment later, or when it is scrolled to. */
  private drawTimesSoon(): void {
    this.isToDraw = true;
    if (isPrinting() || this.times.getBoundingClientRect().top < innerHeight) return this.drawTimes();
    whenIdleAfter(LATER_MS, () => this.drawTimes());
  }

  private drawTimes(): void {
    if (!this.isToDraw || !this.times.clientWidth) return;
    this.isToDraw = false;
    const { points, rows } = this.app.profile.sizesOverTime();
    const times = this.app.profile.pack.f64("point.time_ns");
    const [first, last] = used((b) => rows[b]!.reduce((a, v) => Math.max(a, v), 0));
    const map: HeatMap = {
      columns: Math.max(1, points), rows: last - first + 1,
      value: (x, y) => rows[y + first]![x] ?? 0,
      columnLabel: (x) => formatTime(times[x] ?? 0), rowLabel: (y) => sizeLabel(y + first),
    };
    paintHeat(this.times, map, null);
  }

  private onClick(e: MouseEvent): void {
    const at = this.map && heatCellAt(this.cells, this.map, e);
    if (at) this.app.go({ cell: `${at.row + this.firstSize},${at.column + this.firstLife}` });
  }

  private onKey(e: KeyboardEvent): void {
    const steps: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] };
    const step = steps[e.key];
    if (!step || !this.map) return;
    e.preventDefault();
    const cell = this.chosen();
    const inside = (n: number, first: number, count: number) => Math.min(first + count - 1, Math.max(first, n));
    const size = inside(cell ? cell.size + step[0] : this.firstSize, this.firstSize, this.map.rows);
    const life = inside(cell ? cell.life + step[1] : this.firstLife, this.firstLife, this.map.columns);
    this.app.go({ cell: `${size},${life}` }, false);
  }

  private showStacks(): void {
    const cell = this.chosen();
    if (!cell) return clear(this.stacks);
    const { profile } = this.app;
    const sites = sitesInCell(profile, cell);
    const count = profile.pack.f64("size_by_life.count")[cell.size * BUCKETS + cell.life] ?? 0;
    const [small, large] = bucketRange(cell.size);
    const [short, long] = bucketRange(cell.life);
    clear(this.stacks, h("h3", {}, `${formatCount(count)} blocks of ${formatBytes(small)} to ${formatBytes(large)} that lived ${formatTime(short)} to ${formatTime(long)}`),
      h("p.note", {}, `${formatCount(sites.length)} stacks can have made them`),
      ...Array.from(sites.subarray(0, STACKS_SHOWN), (site) => {
        const details = h("details", { "data-site": site }, h("summary", {}, `${formatCount(profile.pack.f64("site.frees")[site]!)} freed · ${profile.functionName(profile.stack(site)[0]!)}`));
        details.addEventListener("toggle", () => details.childElementCount === 1 && details.append(stackList(this.app, site)));
        return details;
      }));
  }
}

export const sizes: View = { id: "sizes", title: "Sizes", key: "7", isOfAll: true, create: (app) => new SizesPage(app) };

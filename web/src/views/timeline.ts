// timeline.ts -- the heap over time; a range that is dragged over it holds on every page.
// SPDX-License-Identifier: Apache-2.0

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { App, View } from "../app.ts";
import { cssColour, drawingWidth, isDark, isPrinting } from "../draw/colours.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatCounted, formatTime } from "../draw/format.ts";
import { countsTags } from "../load/pack.ts";
import { highestPoint } from "../model/question.ts";
import type { Work } from "../model/stacks.ts";
import { wholeButton } from "./controls.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import { withinBoundBlocks, withinBoundBytes } from "./within.ts";

const NS = 1e9;
const SYNC = "midden-time"; // charts with this key share their cursor and range
const HEIGHT = 190;
const NEAR = 5; // pixels: the cursor is on a line

interface Chart {
  id: string;
  title: string;
  /** `isOfSpan`: a value is about the time since the point before, not about the point.
   * `within`: of what is estimated where blocks are sampled, at a point. */
  series: { label: string; values: (app: App) => Float64Array; colour: string; isOfSpan?: boolean; within?: (app: App, n: number, point: number) => string }[];
  format: (n: number) => string;
}

const column = (name: string) => (app: App) => app.profile.pack.f64(`point.${name}`);

/** Differences of a running count, per second. */
function rate(name: string): (app: App) => Float64Array {
  return (app) => {
    const times = app.profile.pack.f64("point.time_ns");
    const counts = app.profile.pack.f64(`point.${name}`);
    return counts.map((n, i) => {
      const before = i ? counts[i - 1]! : 0;
      const span = times[i]! - (i ? times[i - 1]! : 0);
      return span > 0 ? ((n - before) * NS) / span : 0;
    });
  };
}

const CHARTS: Chart[] = [
  {
    id: "bytes", title: "Memory", format: formatBytes,
    series: [
      // In this order: where both are the same, the live bytes are to be seen.
      { label: "highest since the point before", values: column("peak_bytes"), colour: "--chart2", isOfSpan: true, within: withinBoundBytes },
      { label: "live bytes", values: column("live_bytes"), colour: "--chart1", within: withinBoundBytes },
      { label: "resident (RSS)", values: column("rss_bytes"), colour: "--chart3" },
    ],
  },
  { id: "blocks", title: "Live blocks", format: formatCount, series: [{ label: "live blocks", values: column("live_blocks"), colour: "--chart1", within: (app, n, i) => withinBoundBlocks(app, n, column("live_bytes")(app)[i] ?? 0) }] },
  {
    id: "rates", title: "Calls per second", format: formatCount,
    series: [
      { label: "allocations", values: rate("allocations"), colour: "--chart1", isOfSpan: true },
      { label: "frees", values: rate("frees"), colour: "--chart3", isOfSpan: true },
    ],
  },
  { id: "throughput", title: "Bytes allocated per second", format: formatBytes, series: [{ label: "bytes", values: rate("allocated_bytes"), colour: "--chart1", isOfSpan: true }] },
];

/** The program allocated nothing while it was recorded. */
function isEmpty(app: App): boolean {
  return !app.blocks.siteCount && !column("allocations")(app).some((n) => n > 0);
}

/** Where tags alone were counted, or nothing, the rest of the time line is empty. */
function chartsOf(app: App): Chart[] {
  if (!countsTags(app.blocks.pack.header) && !isEmpty(app)) return CHARTS;
  return [{ ...CHARTS[0]!, series: CHARTS[0]!.series.slice(-1) }];
}

/* Points are as far apart as the program was idle: a slope between them would show what never was. What is of a point
 * holds until the next one, what is of a span held since the one before. */
const SINCE_THE_POINT = uPlot.paths.stepped!({ align: 1 });
const UNTIL_THE_POINT = uPlot.paths.stepped!({ align: -1 });

// Whole numbers of KiB, MiB and so on, or of thousands.
const WHOLE_STEPS = Array.from({ length: 48 }, (_, i) => [1, 2, 5][i % 3]! * 10 ** Math.floor(i / 3));
const BINARY_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);

function axis(format: (n: number) => string): uPlot.Axis {
  return {
    ...(format === formatBytes ? { incrs: BINARY_STEPS } : format === formatCount ? { incrs: WHOLE_STEPS } : {}),
    stroke: cssColour("--faint"), grid: { stroke: cssColour("--line"), width: 1 }, ticks: { stroke: cssColour("--line") },
    size: 96, values: (_u, ticks) => ticks.map((t) => (t === null ? "" : format(t))),
  };
}

class TimePage {
  readonly element: HTMLElement;
  private readonly facts = h("p", { id: "range-facts" });
  private readonly holder = h("div.charts", { tabindex: 0, role: "group", "aria-label": "charts; the arrow keys choose a moment, with Shift a range, Escape the whole recording" });
  private readonly named = h("div.hover", { id: "snapshot-name", hidden: true });
  private readonly snapshots = h("section", { id: "snapshots" });
  private plots: uPlot[] = [];
  private drawn = "";
  private width = 0;

  constructor(private readonly app: App) {
    this.element = h("div.time-page", {},
      !countsTags(app.blocks.pack.header) && h("p.note", {}, "Drag over a chart to choose a range: every page then shows it, or says that it cannot. A click chooses one moment. A double click goes back to the whole recording."),
      this.facts, h("p", {}, makeSheetSaving(app, "timeline", () => this.sheet())), h("div.canvas", {}, this.holder, this.named), this.snapshots);
    this.holder.addEventListener("keydown", (e) => this.onKey(e));
    this.holder.addEventListener("mouseleave", () => (this.named.hidden = true));
    new ResizeObserver(() => this.resize()).observe(this.holder);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.drawn && this.update());
  }

  /** Ahead of time, chart by chart: what the first look at the page would have to wait for. */
  prepare(width: number): Work[] {
    if (this.drawn === this.key()) return [];
    const begin = (): boolean => (this.begin(width), (this.drawn = this.key()), true);
    const charts = chartsOf(this.app);
    return [{ step: begin }, ...charts.map((chart) => ({ step: () => (this.plots.length < charts.length && this.addChart(chart), true) }))];
  }

  private key(): string {
    const header = this.app.profile.pack.header;
    return `${header.generation} ${header.start_unix_ns} ${isDark()} ${isPrinting()}`;
  }

  update(): void {
    if (this.drawn !== this.key()) {
      this.drawn = this.key();
      this.rebuild();
    }
    for (const chart of chartsOf(this.app).slice(this.plots.length)) this.addChart(chart);
    this.resize();
    this.showRange();
    this.showFacts();
    this.showSnapshots();
  }

  /** Moves the chosen moment, or with Shift the end of the range. */
  private onKey(e: KeyboardEvent): void {
    const last = this.app.profile.pack.f64("point.time_ns").length - 1;
    const { from, to } = this.app.range ?? { from: -1, to: -1 };
    const steps: Record<string, number> = { ArrowLeft: to - 1, ArrowRight: to + 1, Home: 0, End: last };
    if (e.key === "Escape") return this.app.go({ from: -1, to: -1, zoom: [] });
    if (!(e.key in steps) || last < 0) return;
    e.preventDefault();
    const next = Math.min(last, Math.max(0, steps[e.key]!));
    this.app.go({ ...(e.shiftKey && from >= 0 ? this.app.choice(Math.min(from, next), next) : this.app.choice(next)), zoom: [] });
  }

  private showSnapshots(): void {
    const { pack } = this.app.profile;
    const names = pack.u32("snapshot.name");
    const point = pack.u32("snapshot.point");
    const [times, bytes, blocks] = ["time_ns", "live_bytes", "live_blocks"].map((c) => pack.f64(`snapshot.${c}`)) as [Float64Array, Float64Array, Float64Array];
    clear(this.snapshots, names.length > 0 && h("h2", {}, "Snapshots"), names.length > 0 && h("table.grid", {}, ...[...names].map((name, i) => h("tr", {},
      h("th", {}, h("a", { href: this.app.link({ page: "flame", figure: "live", ...this.app.choice(point[i]!), zoom: [] }) }, this.app.profile.text(name) || "(no name)")),
      h("td.number", {}, formatTime(times[i]!)), h("td.number", {}, formatBytes(bytes[i]!) + withinBoundBytes(this.app, bytes[i]!)), h("td.number", {}, `${formatCount(blocks[i]!)}${withinBoundBlocks(this.app, blocks[i]!, bytes[i]!)} ${blocks[i] === 1 ? "block" : "blocks"}`)))));
  }

  /** The name of the snapshot, or "peak", whose line is under the cursor. */
  private nameMark(u: uPlot): void {
    const { pack } = this.app.profile;
    const left = u.cursor.left ?? -1;
    const near = (ns: number) => left >= 0 && Math.abs(u.valToPos(ns / NS, "x") - left) <= NEAR;
    const names = pack.u32("snapshot.name");
    const peak = Number(pack.header.stats?.["peak_time_ns"] ?? NaN);
    const texts = [...pack.f64("snapshot.time_ns")].flatMap((ns, i) => (near(ns) ? [`snapshot ${this.app.profile.text(names[i]!)}`] : []));
    if (near(peak)) texts.push("peak");
    this.named.hidden = !texts.length;
    clear(this.named, texts.join(", "));
    this.named.style.left = `${Math.min(left + u.bbox.left / devicePixelRatio + 8, Math.max(0, this.holder.clientWidth - 300))}px`;
    this.named.style.top = `${u.root.offsetTop + 30}px`;
  }

  private rebuild(): void {
    this.begin(drawingWidth(this.holder) || 900);
    for (const chart of chartsOf(this.app)) this.addChart(chart);
  }

  private begin(width: number): void {
    for (const plot of this.plots) plot.destroy();
    this.plots = [];
    this.width = width;
    const times = this.app.profile.pack.f64("point.time_ns");
    clear(this.holder, times.length ? null : "The recording was too short for a time line.");
  }

  private addChart(chart: Chart): void {
    const times = this.app.profile.pack.f64("point.time_ns");
    if (!times.length) return;
    const box = h("div.chart", { id: `chart-${chart.id}` });
    this.holder.append(box);
    this.plots.push(new uPlot(this.options(chart), [times.map((t) => t / NS), ...chart.series.map((s) => s.values(this.app))] as uPlot.AlignedData, box));
  }

  private options(chart: Chart): uPlot.Options {
    return {
      title: chart.title,
      width: this.width,
      height: HEIGHT,
      cursor: { sync: { key: SYNC }, drag: { x: true, y: false, setScale: false } },
      // The program's whole time, from its start on, wherever the first point is.
      scales: { x: { time: false, range: (_u, _min, max) => [0, Math.max(max ?? 0, this.app.profile.pack.header.duration_ns / NS, 1e-9)] }, y: { range: (_u, _min, max) => uPlot.rangeNum(0, max || 1, 0.1, true) } },
      axes: [{ ...axis((s) => formatTime(s * NS)), size: 40, space: 80 }, axis(chart.format)],
      series: [
        { label: "time", value: (_u, v) => (v === null ? "–" : formatTime(v * NS)) },
        ...chart.series.map((s): uPlot.Series => ({
          label: s.label, stroke: cssColour(s.colour), width: 1.5, points: { show: false }, paths: s.isOfSpan ? UNTIL_THE_POINT : SINCE_THE_POINT,
          value: (_u, v, _series, i) => (v === null || v === undefined ? "–" : chart.format(v) + (i === null ? "" : (s.within?.(this.app, v, i) ?? ""))),
        })),
      ],
      hooks: {
        setSelect: [(u) => this.onSelect(u)],
        ready: [(u) => this.listen(u, chart.title)],
        draw: [(u) => this.drawMarks(u)],
        setCursor: [(u) => u.over.matches(":hover") && this.nameMark(u)],
      },
    };
  }

  private listen(u: uPlot, title: string): void {
    u.ctx.canvas.setAttribute("role", "img");
    u.ctx.canvas.setAttribute("aria-label", title);
    let pressedAt = 0;
    u.over.addEventListener("dblclick", () => this.app.go({ from: -1, to: -1, zoom: [] }));
    u.over.addEventListener("mousedown", (e) => (pressedAt = e.clientX));
    u.over.addEventListener("click", (e) => {
      const point = u.cursor.idx;
      if (Math.abs(e.clientX - pressedAt) < 3 && e.detail === 1 && typeof point === "number") this.app.go({ ...this.app.choice(point), zoom: [] });
    });
  }

  /** The range that was dragged, from a point of the time line to another. */
  private onSelect(u: uPlot): void {
    if (u.select.width <= 0) return;
    const chosen = this.app.choice(u.posToIdx(u.select.left), u.posToIdx(u.select.left + u.select.width));
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (chosen.from !== this.app.state.from || chosen.to !== this.app.state.to) this.app.go({ ...chosen, zoom: [] });
  }

  /** The chosen range is shaded, the peak and snapshots get a line. */
  private drawMarks(u: uPlot): void {
    const { pack } = this.app.profile;
    const times = pack.f64("point.time_ns");
    const c = u.ctx;
    const x = (ns: number) => u.valToPos(ns / NS, "x", true);
    const { top, height } = u.bbox;
    c.save();
    const { range } = this.app;
    if (range) {
      const left = x(times[range.from]!);
      c.fillStyle = cssColour("--shade");
      c.fillRect(left, top, Math.max(2, x(times[range.to]!) - left), height);
    }
    c.setLineDash([4, 4]);
    const line = (ns: number, colour: string) => {
      c.strokeStyle = cssColour(colour);
      c.beginPath();
      c.moveTo(x(ns), top);
      c.lineTo(x(ns), top + height);
      c.stroke();
    };
    const peak = countsTags(pack.header) || isEmpty(this.app) ? null : pack.header.stats?.["peak_time_ns"];
    if (typeof peak === "number") line(peak, "--mark");
    for (const ns of pack.f64("snapshot.time_ns")) line(ns, "--accent");
    c.restore();
  }

  /** The points of the range, or all. */
  private sheet(): Sheet {
    const { pack } = this.app.profile;
    const head = countsTags(pack.header) ? ["time_ns", "rss_bytes"] : ["time_ns", "live_bytes", "live_blocks", "peak_bytes", "rss_bytes", "allocations", "allocated_bytes", "frees", "freed_bytes"];
    const columns = head.map((name) => pack.f64(`point.${name}`));
    const { range } = this.app;
    const rows = Array.from(columns[0]!, (_, i) => columns.map((c) => c[i]!));
    return { head, rows: range ? rows.slice(range.from, range.to + 1) : rows };
  }

  private showRange(): void {
    for (const plot of this.plots) plot.redraw(false);
  }

  private showFacts(): void {
    const { pack } = this.app.profile;
    const times = pack.f64("point.time_ns");
    const live = pack.f64("point.live_bytes");
    const { range } = this.app;
    if (!range) return clear(this.facts, isEmpty(this.app) ? "The program allocated nothing while it was recorded: this is its resident size alone." : "The whole recording.");
    const { from, to } = range;
    if (from === to) return this.showMoment(to);
    const high = highestPoint(this.app.profile, range);
    const show = (point: number): string => formatBytes(live[point]!) + withinBoundBytes(this.app, live[point]!);
    clear(this.facts,
      `${formatTime(times[from]!)} to ${formatTime(times[to]!)}: ${show(from)} to ${show(to)}, at most ${show(high)} at its points. `,
      h("a", { href: this.app.link({ page: "flame", figure: "peak" }) }, "Peak within"), " · ",
      h("a", { href: this.app.link({ page: "flame", figure: "growth" }) }, "Growth across"), " · ",
      h("a", { href: this.app.link({ page: "flame", figure: "live" }) }, "Live at its end"), " · ",
      wholeButton(this.app));
  }

  private showMoment(point: number): void {
    const [time, bytes, blocks] = ["time_ns", "live_bytes", "live_blocks"].map((name) => this.app.profile.pack.f64(`point.${name}`)[point]!) as [number, number, number];
    clear(this.facts, `At ${formatTime(time)}: ${formatBytes(bytes)}${withinBoundBytes(this.app, bytes)} live in ${formatCounted(blocks, "block")}. `,
      h("a", { href: this.app.link({ page: "flame", figure: "live" }) }, "Live then"), " · ", wholeButton(this.app));
  }

  private resize(): void {
    const width = drawingWidth(this.holder);
    if (width) for (const plot of this.plots) if (plot.width !== width) plot.setSize({ width, height: HEIGHT });
  }
}

export const timeline: View = { id: "time", title: "Timeline", key: "2", isOfTags: true, create: (app) => new TimePage(app) };

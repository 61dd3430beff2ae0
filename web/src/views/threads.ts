// threads.ts -- who allocates: the threads side by side.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatTime } from "../draw/format.ts";
import { sparkline } from "../draw/sparkline.ts";
import { countsTags } from "../load/pack.ts";
import type { Profile } from "../model/profile.ts";
import { liveByThread } from "../model/threads.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import { withinBoundBlocks, withinBoundBytes } from "./within.ts";

const NS = 1e9;

interface Column {
  id: string;
  title: string;
  value(app: App, i: number): number;
  format(n: number): string;
  /** Of figures that are estimates where blocks are sampled. */
  within?(app: App, n: number): string;
}

const number = (app: App, column: string, i: number): number => app.profile.pack.f64(`thread.${column}`)[i]!;

function column(id: string, title: string, format: (n: number) => string, within?: Column["within"]): Column {
  return { id, title, format, within, value: (app, i) => number(app, id, i) };
}

/** Until its own end, or the recording's. */
function lifeOf(app: App, i: number): number {
  const end = number(app, "end_ns", i);
  return (end < 0 ? app.profile.pack.header.duration_ns : end) - number(app, "start_ns", i);
}

const COLUMNS: Column[] = [
  column("allocations", "Calls", formatCount),
  column("allocated_bytes", "Allocated", formatBytes),
  { id: "rate", title: "Calls/s", format: formatCount, value: (app, i) => (number(app, "allocations", i) * NS) / Math.max(1, lifeOf(app, i)) },
  column("own_peak_bytes", "Own peak", formatBytes, withinBoundBytes),
  column("own_peak_time_ns", "at", formatTime),
  column("at_peak_bytes", "At the program's peak", formatBytes, withinBoundBytes),
  column("live_bytes", "Leaked", formatBytes, withinBoundBytes),
  column("temporary", "Temporary", formatCount, (app, n) => withinBoundBlocks(app, n, 0)),
  column("reallocations", "Reallocs", formatCount),
  column("failed_allocations", "Failed", formatCount),
  { id: "life", title: "Lived", format: formatTime, value: lifeOf },
];

/** Of threads that lived long enough for somebody to look at their stacks. */
const STACK = column("stack_deepest_bytes", "Stack", (n) => (n ? formatBytes(n) : "–"));

/** What is counted whatever the mode: by tag, nobody knows who frees whose blocks. */
const COUNTED = ["allocations", "allocated_bytes", "rate", "life"];

function columnsOf(app: App): Column[] {
  if (countsTags(app.blocks.pack.header)) return COLUMNS.filter((c) => COUNTED.includes(c.id));
  const hasStacks = app.profile.pack.f64("thread.stack_reserved_bytes").some((n) => n > 0);
  return hasStacks ? [...COLUMNS, STACK] : COLUMNS;
}

/** What is said of a figure when one points to it. */
function about(app: App, c: Column, i: number): string | undefined {
  if (c !== STACK) return c.within?.(app, c.value(app, i)).trim() || undefined;
  const [resident, reserved] = [number(app, "stack_resident_bytes", i), number(app, "stack_reserved_bytes", i)];
  return reserved ? `at most ${formatBytes(c.value(app, i))} deep, ${formatBytes(resident)} resident, of ${formatBytes(reserved)}` : "nobody looked while the thread lived";
}

/** When the thread was there, along the recording. */
function bar(app: App, i: number): HTMLElement {
  const whole = Math.max(1, app.profile.pack.header.duration_ns);
  const left = (100 * number(app, "start_ns", i)) / whole;
  const width = Math.max(0.5, (100 * lifeOf(app, i)) / whole);
  const peak = (100 * number(app, "own_peak_time_ns", i)) / whole;
  return h("div.span", {}, h("div", { style: `left:${left}%;width:${width}%` }), !countsTags(app.blocks.pack.header) && h("i", { style: `left:${peak}%`, title: "its own peak" }));
}

function nameOf(app: App, i: number): string {
  return app.profile.text(app.profile.pack.u32("thread.name")[i]!) || "thread";
}

/** Its live bytes over the recording; all are drawn to one scale. */
class TimeLines {
  readonly byThread: Map<number, Float64Array>;
  private readonly most: number;

  constructor(private readonly app: App, readonly profile: Profile) {
    this.byThread = liveByThread(profile);
    this.most = [...this.byThread.values()].reduce((a, line) => line.reduce((x, y) => Math.max(x, y), a), 1);
  }

  cell(serial: number): HTMLElement {
    const line = this.byThread.get(serial);
    const high = line ? line.reduce((a, b) => Math.max(a, b), 0) : 0;
    const end = line ? (line[line.length - 1] ?? 0) : 0;
    return h("td.line", { "data-highest": high, "data-end": end, title: `at most ${formatBytes(high)}${withinBoundBytes(this.app, high)}, ${formatBytes(end)}${withinBoundBytes(this.app, end)} at the end` },
      line ? sparkline(this.profile.pack.f64("point.time_ns"), line, this.most) : null);
  }

  /** Of stacks that several threads came through; null if there are none. */
  shared(columns: number): HTMLElement | null {
    if (!this.byThread.has(0)) return null;
    return h("tr", { "data-serial": 0 }, h("th", {}, "stacks of several threads"), h("td", { colspan: columns + 1 }), this.cell(0));
  }
}

function makeTable(app: App, lines: TimeLines): HTMLElement {
  const { pack } = app.profile;
  const serials = pack.u32("thread.serial");
  const tids = pack.u32("thread.tid");
  const columns = columnsOf(app);
  const hasStacks = !countsTags(app.blocks.pack.header);
  const sort = columns.find((c) => c.id === app.state.sort) ?? columns[1]!;
  const order = [...serials.keys()].sort((a, b) => sort.value(app, b) - sort.value(app, a));
  const head = h("tr", {}, h("th", {}, "Thread"), ...columns.map((c) =>
    h("th.number", { "aria-sort": c === sort ? "descending" : undefined }, h("button", { type: "button", onclick: () => app.go({ sort: c.id }) }, c.title))), h("th", {}, "When"), hasStacks && h("th", {}, "Live bytes over time"));
  return h("table.grid", { id: "threads" }, h("thead", {}, head), h("tbody", {}, ...order.map((i) =>
    h("tr", { "data-serial": serials[i] }, h("th", {}, hasStacks ? h("a", { href: app.link({ page: "flame", thread: serials[i], zoom: [] }) }, nameOf(app, i)) : nameOf(app, i), ` ${tids[i]}`),
      ...columns.map((c) => h("td.number", { "data-figure": c.id, "data-value": c.value(app, i), title: about(app, c, i) }, c.format(c.value(app, i)))), h("td.when", {}, bar(app, i)), hasStacks && lines.cell(serials[i]!))), lines.shared(columns.length)));
}

function sheet(app: App): Sheet {
  const columns = columnsOf(app);
  const tids = app.profile.pack.u32("thread.tid");
  return { head: ["thread", "tid", ...columns.map((c) => c.id)], rows: Array.from(tids, (tid, i) => [nameOf(app, i), tid, ...columns.map((c) => c.value(app, i))]) };
}

export const threads: View = {
  id: "threads",
  title: "Threads",
  key: "8",
  isOfAll: true,
  isOfTags: true,
  create(app) {
    const element = h("div.threads-page");
    let lines: TimeLines | null = null;
    const linesNow = () => (lines?.profile === app.profile ? lines : (lines = new TimeLines(app, app.profile)));
    const update = () => {
      const lines = linesNow();
      clear(element,
        !countsTags(app.blocks.pack.header) && h("p.note", {}, "Peaks and leaks count for the thread that allocated, whoever frees. A name leads to the flame graph of that thread."),
        h("p", {}, makeSheetSaving(app, "threads", () => sheet(app))),
        lines.byThread.has(0) && h("p.note", { id: "thread-note" }, "The time line is recorded by stack, so a thread's line has the stacks that it alone came through; the last row has those of several threads."),
        h("div.scroll", { tabindex: 0, role: "region", "aria-label": "threads" }, makeTable(app, lines)));
    };
    return { element, update, prepare: () => [{ step: () => Boolean(linesNow()) }] };
  },
};

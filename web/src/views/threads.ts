// threads.ts -- who allocates: the threads side by side.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatGrowth, formatTime } from "../draw/format.ts";
import { sparkline } from "../draw/sparkline.ts";
import { countsTags, lostStacks } from "../load/pack.ts";
import type { Profile } from "../model/profile.ts";
import type { Figure, Range } from "../model/question.ts";
import { lineWithin, liveByThread, timeWithin, type LineWithin } from "../model/threads.ts";
import type { State } from "../state.ts";
import { rangeText, sentence, wholeButton } from "./controls.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import { withinBoundBlocks, withinBoundBytes, withinChangeOfBytes } from "./within.ts";

const NS = 1e9;
const SEVERAL = "stacks of several threads";
const SHARED = "what is live of stacks that it shares with others is in the last row";

/** What is shown: the threads of a profile, the whole recording (`range` null) or a range of it. */
interface Shown {
  app: App;
  lines: TimeLines;
  range: Range | null;
  /** Of a range, by serial. */
  within: Map<number, LineWithin>;
}

interface Column {
  id: string;
  title: string;
  value(s: Shown, i: number): number;
  format(n: number): string;
  /** Of figures that are estimates where blocks are sampled. */
  within?(s: Shown, i: number): string;
  /** It is of the range that is chosen. */
  isOfRange?: boolean;
  /** It is read off the time line, and so is there for stacks of several threads, too: those are row -1. */
  isOfLine?: boolean;
}

const number = (app: App, column: string, i: number): number => app.profile.pack.f64(`thread.${column}`)[i]!;

type Within = (app: App, n: number) => string;

function column(id: string, title: string, format: (n: number) => string, within?: Within): Column {
  return { id, title, format, within: within && (({ app }, i) => within(app, number(app, id, i))), value: ({ app }, i) => number(app, id, i) };
}

/** Until its own end, or the recording's. */
function endOf(app: App, i: number): number {
  const end = number(app, "end_ns", i);
  return end < 0 ? app.profile.pack.header.duration_ns : end;
}

const lifeOf = (app: App, i: number): number => endOf(app, i) - number(app, "start_ns", i);

const CALLS = column("allocations", "Calls", formatCount);
const ALLOCATED = column("allocated_bytes", "Allocated", formatBytes);

const COLUMNS: Column[] = [
  CALLS,
  ALLOCATED,
  { id: "rate", title: "Calls/s", format: formatCount, value: ({ app }, i) => (number(app, "allocations", i) * NS) / Math.max(1, lifeOf(app, i)) },
  column("own_peak_bytes", "Own peak", formatBytes, withinBoundBytes),
  column("own_peak_time_ns", "at", formatTime),
  column("at_peak_bytes", "At the program's peak", formatBytes, withinBoundBytes),
  column("live_bytes", "Leaked", formatBytes, withinBoundBytes),
  column("temporary", "Temporary", formatCount, (app, n) => withinBoundBlocks(app, n, 0)),
  column("reallocations", "Reallocs", formatCount),
  column("failed_allocations", "Failed", formatCount),
  { id: "life", title: "Lived", format: formatTime, value: ({ app }, i) => lifeOf(app, i) },
];

/** Of threads that lived long enough for somebody to look at their stacks. */
const STACK: Column = {
  ...column("stack_deepest_bytes", "Stack", (n) => (n ? formatBytes(n) : "–")),
  within({ app }, i) {
    const [deepest, resident, reserved] = ["deepest", "resident", "reserved"].map((what) => number(app, `stack_${what}_bytes`, i));
    return reserved ? `at most ${formatBytes(deepest!)} deep, ${formatBytes(resident!)} resident, of ${formatBytes(reserved)}` : "nobody looked while the thread lived";
  },
};

/** What is counted whatever the mode: by tag, nobody knows who frees whose blocks. */
const COUNTED = ["allocations", "allocated_bytes", "rate", "life"];

/** Of `thread`: what it has of a figure that is kept by thread. */
const COLUMNS_OF: Partial<Record<Figure, string>> = { peak: "at_peak_bytes", leaked: "live_bytes", allocated: "allocated_bytes", calls: "allocations", temporary: "temporary" };

const NOTHING: LineWithin = { start: 0, end: 0, most: 0 };

/** What a thread's line comes to within the range. */
const lineOf = ({ app, within }: Shown, i: number): LineWithin => within.get(i < 0 ? 0 : app.profile.pack.u32("thread.serial")[i]!) ?? NOTHING;

function ofLine(id: string, title: string, value: (line: LineWithin) => number): Column {
  const of = (s: Shown, i: number): number => value(lineOf(s, i));
  return { id, title, format: formatBytes, value: of, within: (s, i) => withinBoundBytes(s.app, of(s, i)), isOfRange: true, isOfLine: true };
}

const GROWTH: Column = {
  ...ofLine("growth_bytes", "Growth", ({ start, end }) => end - start),
  format: formatGrowth,
  within: (s, i) => withinChangeOfBytes(s.app, lineOf(s, i).start, lineOf(s, i).end),
};

/** The times that a range begins and ends at. */
function timesOf({ app, range }: Shown): [number, number] {
  const times = app.profile.pack.f64("point.time_ns");
  return [times[range!.from]!, times[range!.to]!];
}

const livedWithin = (s: Shown, i: number): number => timeWithin([number(s.app, "start_ns", i), endOf(s.app, i)], timesOf(s));
const livedUntil = (s: Shown, i: number): number => timeWithin([number(s.app, "start_ns", i), endOf(s.app, i)], [0, timesOf(s)[1]]);

/** Those of a range come first. */
const OF_RANGE: Column[] = [
  ofLine("start_bytes", "Live at the start", ({ start }) => start),
  ofLine("end_bytes", "Live at the end", ({ end }) => end),
  GROWTH,
  ofLine("most_bytes", "Highest, at its points", ({ most }) => most),
  { id: "lived_ns", title: "Lived within", format: formatTime, value: livedWithin, isOfRange: true },
  CALLS,
  ALLOCATED,
];

const OF_MOMENT: Column[] = [
  ofLine("end_bytes", "Live", ({ end }) => end),
  { id: "lived_ns", title: "Had lived", format: formatTime, value: livedUntil, isOfRange: true },
  CALLS,
  ALLOCATED,
];

const isMoment = ({ range }: Shown): boolean => range !== null && range.from === range.to;

function columnsOf(s: Shown): Column[] {
  if (countsTags(s.app.blocks.pack.header)) return COLUMNS.filter((c) => COUNTED.includes(c.id));
  if (s.range) return isMoment(s) ? OF_MOMENT : OF_RANGE;
  const hasStacks = s.app.profile.pack.f64("thread.stack_reserved_bytes").some((n) => n > 0);
  return hasStacks ? [...COLUMNS, STACK] : COLUMNS;
}

/** When the thread was there, along the recording or the range. */
function bar(s: Shown, i: number): HTMLElement {
  const { app } = s;
  const [from, to] = s.range ? timesOf(s) : [0, app.profile.pack.header.duration_ns];
  const at = (ns: number): number => (100 * (ns - from)) / Math.max(1, to - from);
  const start = Math.max(from, number(app, "start_ns", i));
  const peak = number(app, "own_peak_time_ns", i);
  const isThere = !s.range || (start <= to && endOf(app, i) >= from);
  const width = Math.max(0.5, at(Math.min(to, endOf(app, i))) - at(start));
  return h("div.span", {}, isThere && h("div", { style: `left:${at(start)}%;width:${width}%` }),
    !countsTags(app.blocks.pack.header) && from <= peak && peak <= to && h("i", { style: `left:${at(peak)}%`, title: "its own peak" }));
}

function nameOf(app: App, i: number): string {
  return app.profile.text(app.profile.pack.u32("thread.name")[i]!) || "thread";
}

/** Live bytes of each thread at all points. */
class TimeLines {
  readonly byThread: Map<number, Float64Array>;
  /** Serials of threads that have stacks in common with others. */
  readonly sharing: Set<number>;
  /** In words: why there are none. */
  readonly lost: string;

  constructor(readonly profile: Profile) {
    this.byThread = liveByThread(profile);
    this.lost = lostStacks(profile.pack.header);
    this.sharing = new Set(profile.pack.u32("part.thread"));
  }

  within(range: Range): Map<number, LineWithin> {
    return new Map([...this.byThread].map(([serial, line]) => [serial, lineWithin(line, range)]));
  }

  /** As they are drawn, all to one scale. */
  draw({ app, range }: Shown): (serial: number) => HTMLElement {
    const { from, to } = range ?? { from: 0, to: this.profile.pack.f64("point.time_ns").length - 1 };
    const times = this.profile.pack.f64("point.time_ns").subarray(from, to + 1);
    const most = [...this.within({ from, to }).values()].reduce((a, line) => Math.max(a, line.most), 1);
    return (serial) => {
      const line = this.byThread.get(serial)?.subarray(from, to + 1);
      if (!line && this.sharing.has(serial)) return h("td.line", { "data-highest": 0, "data-end": 0, title: SHARED });
      const high = line ? line.reduce((a, b) => Math.max(a, b), 0) : 0;
      const end = line ? (line[line.length - 1] ?? 0) : 0;
      return h("td.line", { "data-highest": high, "data-end": end, title: `at most ${formatBytes(high)}${withinBoundBytes(app, high)}, ${formatBytes(end)}${withinBoundBytes(app, end)} at the end` },
        line ? sparkline(times, line, most, range ? times[0] : 0) : null);
    };
  }
}

/** The threads that the page tells of, by row: of a range, those that were there or had something live. */
function rowsOf(s: Shown): number[] {
  const rows = [...s.app.profile.pack.u32("thread.serial").keys()];
  if (!s.range) return rows;
  const [from, to] = timesOf(s);
  return rows.filter((i) => (number(s.app, "start_ns", i) <= to && endOf(s.app, i) >= from) || lineOf(s, i).most > 0);
}

/** The figure at hand, if the thread has anything of it; or else one that it has. */
function figureOf({ app }: Shown, i: number): Figure {
  const column = COLUMNS_OF[app.state.figure] ?? COLUMNS_OF.peak;
  if (number(app, column!, i) > 0) return COLUMNS_OF[app.state.figure] ? app.state.figure : "peak";
  return "allocated";
}

/** What a thread's name leads to: of a range the flame graph with threads told apart, which has the same figures. */
function linkOf(s: Shown, i: number): Partial<State> {
  const { app, range } = s;
  const serials = app.profile.pack.u32("thread.serial");
  if (!range) return { page: "flame", figure: figureOf(s, i), thread: serials[i]!, zoom: [] };
  const frame = app.profile.frameCount + (i < 0 ? serials.length : i);
  return { page: "flame", figure: range.from === range.to ? "live" : "growth", thread: 0, byThread: true, functions: "", module: "", zoom: [frame] };
}

function nameCell(s: Shown, i: number): HTMLElement {
  const { app, lines } = s;
  const name = i < 0 ? SEVERAL : nameOf(app, i);
  const serial = i < 0 ? 0 : app.profile.pack.u32("thread.serial")[i]!;
  const isLink = !countsTags(app.blocks.pack.header) && (s.range ? lines.byThread.has(serial) : i >= 0);
  return h("th", {}, isLink ? h("a", { href: app.link(linkOf(s, i)) }, name) : name, i < 0 ? "" : ` ${app.profile.pack.u32("thread.tid")[i]}`);
}

/** What a thread had live is not known where others came through all its stacks, too, or where that is missing. */
function isHidden({ app, lines }: Shown, c: Column, i: number): boolean {
  if (c.isOfLine && lines.lost) return true;
  const serial = app.profile.pack.u32("thread.serial")[i]!; // of no thread: none
  return Boolean(c.isOfLine) && lines.sharing.has(serial) && !lines.byThread.has(serial);
}

function figureCell(s: Shown, c: Column, i: number): HTMLElement {
  if (i < 0 && !c.isOfLine) return h("td");
  if (isHidden(s, c, i)) return h("td.number", { "data-figure": c.id, "data-value": 0, title: s.lines.lost || SHARED }, "–");
  return h("td.number", { "data-figure": c.id, "data-value": c.value(s, i), title: c.within?.(s, i).trim() || undefined }, c.format(c.value(s, i)));
}

/** Of what columns are, where some are of the range and some are not. */
function groupHeads(s: Shown, columns: Column[], more: number): HTMLElement | null {
  if (!columns.some((c) => c.isOfRange)) return null;
  const ofRange = columns.filter((c) => c.isOfRange).length;
  return h("tr.groups", {}, h("th"), h("th", { colspan: ofRange + more }, rangeText(s.app)), h("th", { colspan: columns.length - ofRange }, "The whole recording"));
}

function firstSort(s: Shown, columns: Column[]): Column {
  return s.range ? (columns.find((c) => c === GROWTH) ?? columns[0]!) : columns[1]!;
}

function makeTable(s: Shown): HTMLElement {
  const { app, lines } = s;
  const serials = app.profile.pack.u32("thread.serial");
  const columns = columnsOf(s);
  const hasLines = !countsTags(app.blocks.pack.header) && !isMoment(s) && !lines.lost;
  const sort = columns.find((c) => c.id === app.state.sort) ?? firstSort(s, columns);
  const order = rowsOf(s).sort((a, b) => sort.value(s, b) - sort.value(s, a));
  const draw = lines.draw(s);
  // What has no number goes behind what is of the range, or behind all.
  const place = columns.filter((c) => c.isOfRange).length || columns.length;
  const withDrawings = (cells: HTMLElement[], ...drawings: (HTMLElement | false)[]) => [...cells.slice(0, place), ...(isMoment(s) ? [] : drawings), ...cells.slice(place)];
  const heads = columns.map((c) => h("th.number", { "aria-sort": c === sort ? "descending" : undefined }, h("button", { type: "button", id: `sort-${c.id}`, onclick: () => app.go({ sort: c.id }) }, c.title)));
  const row = (i: number) => {
    const serial = i < 0 ? 0 : serials[i]!;
    return h("tr", { "data-serial": serial }, nameCell(s, i), ...withDrawings(columns.map((c) => figureCell(s, c, i)), i < 0 ? h("td") : h("td.when", {}, bar(s, i)), hasLines && draw(serial)));
  };
  return h("table.grid", { id: "thread-table" },
    h("thead", {}, groupHeads(s, columns, hasLines ? 2 : 0), h("tr", {}, h("th", {}, "Thread"), ...withDrawings(heads, h("th", {}, "When"), hasLines && h("th", {}, "Live bytes over time")))),
    h("tbody", {}, ...order.map(row), lines.byThread.has(0) && row(-1)));
}

/** Of a range, stacks of several threads have a row: all then come to what was live. */
function sheet(s: Shown): Sheet {
  const columns = columnsOf(s);
  const tids = s.app.profile.pack.u32("thread.tid");
  const rows: Sheet["rows"] = rowsOf(s).map((i) => [nameOf(s.app, i), tids[i]!, ...columns.map((c) => (isHidden(s, c, i) ? "" : c.value(s, i)))]);
  if (s.range && s.lines.byThread.has(0)) rows.push([SEVERAL, "", ...columns.map((c) => (c.isOfLine ? c.value(s, -1) : ""))]);
  return { head: ["thread", "tid", ...columns.map((c) => c.id)], rows };
}

/** What the page is about, and what of it is not known. */
function notes(s: Shown): (HTMLElement | false)[] {
  const { app, lines } = s;
  const missing = app.profile.pack.u32("thread.serial").length - rowsOf(s).length;
  return [
    s.range !== null && h("p", { id: "threads-range" }, rangeText(app), " ", wholeButton(app), h("span.note", {}, " Calls and allocated bytes of threads are kept for the whole recording only.",
      missing > 0 && !lines.lost && ` ${formatCount(missing)} of its threads ${missing === 1 ? "was" : "were"} not there ${isMoment(s) ? "then" : "within the range"}, and of stacks that were theirs alone nothing was live.`)),
    !countsTags(app.blocks.pack.header) && h("p.note", {}, `${s.range ? "What is live counts" : "Peaks and leaks count"} for the thread that allocated, whoever frees. A name leads to the flame graph of that thread.`),
    h("p", {}, makeSheetSaving(app, "threads", () => sheet(s))),
    Boolean(lines.lost) && h("p.note", { id: "threads-lost" }, `${sentence(lines.lost)} What threads had live then is not known.`),
    lines.byThread.has(0) && h("p.note", { id: "thread-note" }, "The time line is recorded by stack, so a thread's line has the stacks that it alone came through; the last row has those of several threads."),
  ];
}

export const threads: View = {
  id: "threads",
  title: "Threads",
  key: "8",
  isOfAll: (app) => countsTags(app.blocks.pack.header),
  isOfTags: true,
  create(app) {
    const element = h("div.threads-page");
    let lines: TimeLines | null = null;
    const linesNow = () => (lines?.profile === app.profile ? lines : (lines = new TimeLines(app.profile)));
    const update = () => {
      const range = countsTags(app.blocks.pack.header) ? null : app.range;
      const s: Shown = { app, lines: linesNow(), range, within: range ? linesNow().within(range) : new Map() };
      clear(element, ...notes(s), h("div.scroll", { tabindex: 0, role: "region", "aria-label": "threads" }, makeTable(s)));
    };
    return { element, update, prepare: () => [{ step: () => Boolean(linesNow()) }] };
  },
};

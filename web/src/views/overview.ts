// overview.ts -- the first page: the figures of the whole program, and what to look at.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatCounted, formatGrowth, formatShare, formatTime } from "../draw/format.ts";
import { countsTags, lostStacks, type Header, type Json } from "../load/pack.ts";
import { hottestFrames } from "../model/lines.ts";
import type { Profile } from "../model/profile.ts";
import { highestPoint, type Range } from "../model/question.ts";
import { inRange } from "../model/span.ts";
import type { State } from "../state.ts";
import { rangeText, sentence, wholeButton } from "./controls.ts";
import { endsWords, mergeOf, mergeWords, peakWords, residentWords } from "./merged.ts";
import { isPartlySampled, withinBoundBytes } from "./within.ts";

const NS = 1e9;
const HOT = 8; // lines
const INPUTS = 10; // of a merged profile: those that are named
const MUCH_TEMPORARY = 0.25; // of all calls: worth a warning

/** Losses by their names in `stats --json`, and what they mean. */
const LOSSES: [string, string][] = [
  ["lost_events", "events that found no room"],
  ["truncated_stacks", "stacks that were cut"],
  ["unwind_failures", "stacks that could not be followed to their root"],
  ["foreign_frees", "frees of blocks that were not seen allocated"],
  ["reentrant_calls", "calls from signal handlers inside an allocation"],
  ["trace_lost_events", "events missing in the trace"],
  ["lost_snapshots", "snapshots without room"],
  ["failed_allocations", "allocations that failed in the program"],
];

const RUN: [string, string][] = [
  ["command", "Command"], ["executable", "Program"], ["directory", "Directory"], ["host", "Host"], ["pid", "Process"], ["machine", "Machine"],
  ["merge", "Merged"], ["inputs", "Profiles"], ["mode", "Mode"], ["exit_code", "Exit code"], ["exit_signal", "Signal"], ["threads", "Threads"], ["stacks", "Stacks"], ["version", "Recorded by midden"],
];

/** What most of the page needs, and all that there is of a large profile at first. */
export interface Beginning {
  header: Header;
  link(change: Partial<State>): string;
  /** Of several recordings: the most that they held together at one time, once the time line is there. */
  together?: number;
}

/** As glibc calls those that end programs, on Linux. */
const SIGNALS: { [number: number]: string } = {
  1: "Hangup", 2: "Interrupt", 3: "Quit", 4: "Illegal instruction", 5: "Trace/breakpoint trap", 6: "Aborted", 7: "Bus error", 8: "Floating point exception", 9: "Killed",
  10: "User defined signal 1", 11: "Segmentation fault", 12: "User defined signal 2", 13: "Broken pipe", 14: "Alarm clock", 15: "Terminated", 24: "CPU time limit exceeded",
  25: "File size limit exceeded", 31: "Bad system call",
};

class Stats {
  constructor(private readonly header: Header) {}
  get(key: string): Json | undefined {
    return this.header.stats?.[key];
  }
  isPartlySampled(): boolean {
    return isPartlySampled(this.header);
  }
  number(key: string): number {
    const value = this.get(key);
    return typeof value === "number" ? value : 0;
  }
}

/** Of a sampled profile: "3 MiB to 4 MiB; ", as the statistics have it. */
function doubt(s: Stats, key: string, show: (n: number) => string): string {
  const [low, high] = [s.get(`${key}_low`), s.get(`${key}_high`)];
  return typeof low === "number" && typeof high === "number" && low !== high ? `${show(low)} to ${show(high)}; ` : "";
}

function card(of: Beginning, title: string, value: string, note: string, go: Partial<State>): HTMLElement {
  const id = String(go.figure ?? go.page);
  return h("a.card", { id: `card-${id}`, href: of.link({ zoom: [], ...go }) }, h("h3", {}, title), h("p.figure", {}, value), h("p.note", {}, note));
}

/** When it was; of several recordings, of which each had its own, what was made of them. */
function aboutPeak({ header, together }: Beginning, s: Stats): string {
  const merge = mergeOf(header);
  const at = formatTime(s.number("peak_time_ns"));
  if (!merge) return ` at ${at}`;
  return `, ${peakWords(merge)}${together && merge.way === "sum" ? `; together at most ${formatBytes(together)} at one time, by ${at} after the first start` : ""}`;
}

/** Of several recordings, none of which had all that in memory. */
function aboutResident({ header }: Beginning, s: Stats): string {
  const merge = mergeOf(header);
  const time = formatTime(s.number("duration_ns"));
  return merge ? `${residentWords(merge)}; recorded within ${time}` : `recorded for ${time}`;
}

function cards(of: Beginning, s: Stats): HTMLElement[] {
  const seconds = Math.max(1e-9, s.number("duration_ns") / NS);
  const calls = s.number("allocations");
  const temporary = s.number("temporary_allocations");
  return [
    card(of, "Peak", formatBytes(s.number("peak_bytes")), `${doubt(s, "peak_bytes", formatBytes)}${formatCounted(s.number("peak_blocks"), "block")}${aboutPeak(of, s)}`, { page: "flame", figure: "peak" }),
    card(of, of.header.live ? "Live now" : "Leaked", formatBytes(s.number("leaked_bytes")), `${doubt(s, "leaked_bytes", formatBytes)}${formatCounted(s.number("leaked_blocks"), "block")}`, { page: "leaks", figure: "leaked" }),
    card(of, "Allocated", formatBytes(s.number("allocated_bytes")), `${formatBytes(s.number("allocated_bytes") / seconds)} a second`, { page: "flame", figure: "allocated" }),
    card(of, "Calls", formatCount(calls), `${formatCount(calls / seconds)} a second`, { page: "flame", figure: "calls" }),
    card(of, "Temporary", formatShare(temporary, calls), `${formatCount(temporary)}${doubt(s, "temporary_allocations", formatCount).replace(/^(.*); $/, " ($1)")} freed before the next allocation`, { page: "flame", figure: "temporary" }),
    card(of, "Resident at most", formatBytes(s.number("rss_peak_bytes")), aboutResident(of, s), { page: "time" }),
  ];
}

/** Of a profile that counts by tag: neither a peak nor what is left is known. */
function cardsOfTags(of: Beginning, s: Stats): HTMLElement[] {
  const seconds = Math.max(1e-9, s.number("duration_ns") / NS);
  const card = (id: string, title: string, value: string, note: string, page: string) => h("a.card", { id: `card-${id}`, href: of.link({ page }) }, h("h3", {}, title), h("p.figure", {}, value), h("p.note", {}, note));
  return [
    card("allocated", "Allocated", formatBytes(s.number("allocated_bytes")), `${formatBytes(s.number("allocated_bytes") / seconds)} a second`, "threads"),
    card("calls", "Calls", formatCount(s.number("allocations")), `${formatCount(s.number("allocations") / seconds)} a second`, "threads"),
    card("frees", "Frees", formatCount(s.number("frees")), `of ${formatBytes(s.number("freed_bytes"))}`, "threads"),
    card("time", "Resident at most", formatBytes(s.number("rss_peak_bytes")), aboutResident(of, s), "time"),
  ];
}

function aboutTags(): HTMLElement {
  return h("section", { id: "of-tags" }, h("h2", {}, "Counted by tag"),
    h("p.note", {}, "This profile has no stacks, no peak and no leaks: it was recorded with --tags. ", h("code", {}, "midden tags"), " shows what its tags come to."));
}

function warnings(of: Beginning, s: Stats): HTMLElement {
  const list = LOSSES.filter(([key]) => s.number(key) > 0).map(([key, text]) => h("li", { "data-loss": key }, `${formatCount(s.number(key))} ${text}`));
  if (s.get("damaged")) list.unshift(h("li", {}, `The file is damaged: ${String(s.get("damage") ?? "some of it is missing")}`));
  if (s.number("allocations") > 1000 && s.number("temporary_allocations") > MUCH_TEMPORARY * s.number("allocations"))
    list.push(h("li", {}, h("a", { href: of.link({ page: "flame", figure: "temporary" }) }, `${formatShare(s.number("temporary_allocations"), s.number("allocations"))} of all blocks are freed before the next allocation`)));
  const nameless = s.get("nameless_modules");
  if (Array.isArray(nameless) && nameless.length)
    list.push(h("li", { id: "nameless" }, `Most functions of ${nameless.map((path) => String(path).split("/").pop()).join(", ")} have no names: install debug symbols (on Debian, packages that end in -dbgsym) or set DEBUGINFOD_URLS, then run `, h("code", {}, "midden resolve")));
  return h("section", { id: "warnings" }, h("h2", {}, "Warnings"), list.length ? h("ul", {}, ...list) : h("p.note", {}, "None: nothing was lost."));
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : typeof value === "number" ? formatCount(value) : "";
}

/** A finding as the command prints it, with a link to its place. */
function finding(of: Beginning, f: { [key: string]: Json }): HTMLElement {
  const stack = Array.isArray(f["stack"]) ? f["stack"] : [];
  const own = stack[Number(f["own_frame"]) || 0] as { [key: string]: Json } | undefined;
  const name = textOf(own?.["function"]);
  const place = [textOf(own?.["file"]).split("/").pop(), String(own?.["line"] ?? "")].filter(Boolean).join(":");
  const kind = textOf(f["kind"]).replaceAll("-", " ");
  const figure = f["kind"] === "growing-leak" ? "leaked" : f["kind"] === "temporary" ? "temporary" : f["kind"] === "regrown" ? "calls" : "peak";
  const numbers = [["bytes", "bytes"], ["blocks", "blocks"], ["calls", "calls that need not be"], ["saved_bytes", "to be saved"]]
    .filter(([k]) => typeof f[k!] === "number" && f[k!] !== 0)
    .map(([k, words]) => (k!.includes("bytes") ? `${formatBytes(f[k!] as number)}${words === "bytes" ? "" : ` ${words}`}` : `${formatCount(f[k!] as number)} ${words}`));
  return h("li", {}, h("strong", {}, kind), " ", name ? h("a", { href: of.link({ page: "flame", figure, functions: name, zoom: [] }) }, name) : null, place && h("span.place", {}, ` ${place}`), h("span.note", {}, `: ${numbers.join(", ")}`));
}

function findings(of: Beginning): HTMLElement {
  const list = of.header.findings?.findings ?? [];
  return h("section", { id: "findings" }, h("h2", {}, "Findings"),
    list.length ? h("ol", {}, ...list.map((f) => finding(of, f))) : h("p.note", {}, "Nothing stands out."));
}

/** What the time line tells of the chosen range; what it does not is left out. */
function cardsOfRange(app: App, range: Range): HTMLElement[] {
  const { from, to } = range;
  const { profile } = app;
  const span = inRange(profile, range);
  const high = highestPoint(profile, range);
  const [times, live, blocks] = ["time_ns", "live_bytes", "live_blocks"].map((name) => profile.pack.f64(`point.${name}`)) as [Float64Array, Float64Array, Float64Array];
  const bytesAt = (point: number): string => formatBytes(live[point]!) + withinBoundBytes(app, live[point]!);
  const isMoment = from === to;
  const of: Beginning = { header: profile.pack.header, link: (change) => app.link(change) };
  const perSecond = (n: number, show: (n: number) => string): string => (span.ns ? `${show((n * NS) / span.ns)} a second` : "");
  return [
    card(of, isMoment ? "Live" : "Peak within", formatBytes(live[high]!), `${withinBoundBytes(app, live[high]!).trim()} ${formatCounted(blocks[high]!, "block")} at ${formatTime(times[high]!)}${span.most > live[high]! ? `; ${formatBytes(span.most)} between two points` : ""}`.trim(), { page: "flame", figure: isMoment ? "live" : "peak" }),
    !isMoment && card(of, "Growth", formatGrowth(live[to]! - live[from]!), `from ${bytesAt(from)} to ${bytesAt(to)}`, { page: "flame", figure: "growth" }),
    !isMoment && card(of, "Allocated within", formatBytes(span.allocatedBytes), perSecond(span.allocatedBytes, formatBytes), { page: "time", figure: "allocated" }),
    !isMoment && card(of, "Calls within", formatCount(span.allocations), perSecond(span.allocations, formatCount), { page: "time", figure: "calls" }),
    card(of, isMoment ? "Resident" : "Resident at most", formatBytes(span.rss), isMoment ? "" : formatTime(span.ns), { page: "time" }),
  ].filter((c) => c !== false);
}

/** The lines that hold most at the peak: where to begin to read. */
function hottest(app: App): HTMLElement {
  const { profile } = app;
  const { range } = app.question();
  const answer = app.answer({ ...app.question(), figure: "peak", thread: null, functions: "", module: "" });
  const rows = hottestFrames(profile, answer).slice(0, HOT).map(({ frame, value }) => {
    const file = profile.frameFile[frame]!;
    const link = file ? { page: "source", figure: "peak" as const, file, line: profile.frameLine[frame]! } : { page: "callers", figure: "peak" as const, zoom: [profile.frameGroup[frame]!] };
    return h("tr", {}, h("td.number", {}, formatShare(value, answer.total)), h("td.number", {}, formatBytes(value)),
      h("td", {}, h("a", { href: app.link({ functions: "", module: "", thread: 0, ...link }) }, profile.functionName(frame)), h("span.place", {}, ` ${profile.place(frame)}`)));
  });
  const title = !range ? AT_PEAK : range.from === range.to ? "Most live then, by line" : "Most at the highest point of the range, by line";
  const why = (range && lostStacks(profile.pack.header)) || "nothing was held";
  return hottestSection(rows.length ? h("div", {}, h("p.note", {}, OF_LINES), h("table.plain", {}, ...rows)) : h("p.note", {}, sentence(why)), title);
}

const OF_LINES = "Of the program’s own lines, with what they call in libraries; each stack counts once.";
const AT_PEAK = "Most at the peak, by line";

function hottestSection(content: HTMLElement, title = AT_PEAK): HTMLElement {
  return h("section", { id: "hottest" }, h("h2", {}, title), content);
}

/** What other pages could tell, had it been recorded. */
function notRecorded(app: App, s: Stats): HTMLElement | null {
  const isExact = !s.number("sample_period") && s.get("mode") !== "tags";
  const missing = [
    !app.blocks.looks().length && isExact && "--rss (which blocks keep which pages in memory)",
    !app.hasMaps && s.get("mode") !== "tags" && "--maps (what the program maps itself)",
    !app.blocks.pack.header.leaks && isExact && "--leaks (which blocks are lost, and who holds the others)",
  ].filter(Boolean);
  return missing.length ? h("p.note", { id: "not-recorded" }, `Recorded with midden record, these would add pages: ${missing.join(", ")}.`) : null;
}

/** What the run has one of, but several recordings do not. */
function ofSeveral(header: Header): { [key: string]: string } {
  const merge = mergeOf(header);
  if (!merge) return {};
  const names = merge.inputs.map((input) => textOf(input["name"]).split("/").pop());
  const rest = names.length - INPUTS;
  return { merge: mergeWords(merge), inputs: names.slice(0, INPUTS).join(", ") + (rest > 0 ? ` and ${formatCount(rest)} more` : ""), exit_code: endsWords(merge), exit_signal: "" };
}

function run(s: Stats, header: Header): HTMLElement {
  const { file } = header;
  const several = ofSeveral(header);
  const signal = SIGNALS[s.number("exit_signal")];
  const aside = (key: string): string => (key === "exit_signal" && signal ? ` (${signal})` : key === "mode" && s.isPartlySampled() ? " but for small objects of Python" : "");
  const tell = (key: string): string => several[key] ?? (key === "pid" ? String(s.get(key) ?? "") : textOf(s.get(key)) + aside(key));
  const rows = RUN.filter(([key]) => tell(key) !== "");
  const nameOf = (key: string, title: string): string => (key === "exit_code" && key in several ? "Ends" : title);
  return h("section", { id: "run" }, h("h2", {}, "The run"),
    h("table.plain", {}, file && h("tr", {}, h("th", {}, "Profile"), h("td", {}, file)), ...rows.map(([key, title]) => h("tr", {}, h("th", {}, nameOf(key, title)), h("td", {}, tell(key))))));
}

function layOut(of: Beginning, s: Stats, hot: HTMLElement, missing: HTMLElement | null, ofRange: HTMLElement[] | null = null): HTMLElement[] {
  const isOfTags = countsTags(of.header);
  return [h("div.cards", {}, ...(ofRange ?? (isOfTags ? cardsOfTags(of, s) : cards(of, s)))),
    h("div.columns", {}, isOfTags ? aboutTags() : h("div", {}, findings(of), hot), warnings(of, s), h("div", {}, run(s, of.header), missing))];
}

/** The page before the profile's stacks are there. */
export function beginOverview(of: Beginning): HTMLElement {
  return h("div.overview", {}, ...layOut(of, new Stats(of.header), hottestSection(h("p.note", {}, "The stacks are being read.")), null));
}

/** The most that several recordings held together, as far as their common time line tells; a damaged one may lack it. */
function togetherOf({ pack }: Profile): number {
  return mergeOf(pack.header) && !pack.header.stats?.["damaged"] ? pack.f64("point.peak_bytes").reduce((a, b) => Math.max(a, b), 0) : 0;
}

export const overview: View = {
  id: "overview",
  title: "Overview",
  key: "1",
  isOfTags: true,
  create(app) {
    const element = h("div.overview");
    const update = () => {
      const { header } = app.profile.pack;
      const s = new Stats(header);
      const range = countsTags(header) ? null : app.range;
      clear(element,
        range && h("p", { id: "overview-range" }, rangeText(app), " ", wholeButton(app), h("span.note", {}, " Findings, warnings and the run are of the whole recording.")),
        ...layOut({ header, link: (change) => app.link(change), together: togetherOf(app.profile) }, s, hottest(app), notRecorded(app, s), range ? cardsOfRange(app, range) : null));
    };
    return { element, update };
  },
};

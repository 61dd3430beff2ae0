// threads.ts -- who allocates: the threads side by side.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatTime } from "../draw/format.ts";

const NS = 1e9;

interface Column {
  id: string;
  title: string;
  value(app: App, i: number): number;
  format(n: number): string;
}

const number = (app: App, column: string, i: number): number => app.profile.pack.f64(`thread.${column}`)[i]!;

function column(id: string, title: string, format: (n: number) => string): Column {
  return { id, title, format, value: (app, i) => number(app, id, i) };
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
  column("own_peak_bytes", "Own peak", formatBytes),
  column("own_peak_time_ns", "at", formatTime),
  column("at_peak_bytes", "At the program's peak", formatBytes),
  column("live_bytes", "Leaked", formatBytes),
  column("temporary", "Temporary", formatCount),
  column("reallocations", "Reallocs", formatCount),
  column("failed_allocations", "Failed", formatCount),
  { id: "life", title: "Lived", format: formatTime, value: lifeOf },
];

/** When the thread was there, along the recording. */
function bar(app: App, i: number): HTMLElement {
  const whole = Math.max(1, app.profile.pack.header.duration_ns);
  const left = (100 * number(app, "start_ns", i)) / whole;
  const width = Math.max(0.5, (100 * lifeOf(app, i)) / whole);
  const peak = (100 * number(app, "own_peak_time_ns", i)) / whole;
  return h("div.span", {}, h("div", { style: `left:${left}%;width:${width}%` }), h("i", { style: `left:${peak}%`, title: "its own peak" }));
}

function nameOf(app: App, i: number): string {
  return app.profile.text(app.profile.pack.u32("thread.name")[i]!) || "thread";
}

function makeTable(app: App): HTMLElement {
  const { pack } = app.profile;
  const serials = pack.u32("thread.serial");
  const tids = pack.u32("thread.tid");
  const sort = COLUMNS.find((c) => c.id === app.state.sort) ?? COLUMNS[1]!;
  const order = [...serials.keys()].sort((a, b) => sort.value(app, b) - sort.value(app, a));
  const head = h("tr", {}, h("th", {}, "Thread"), ...COLUMNS.map((c) =>
    h("th.number", { "aria-sort": c === sort ? "descending" : undefined }, h("button", { type: "button", onclick: () => app.go({ sort: c.id }) }, c.title))), h("th", {}, "When"));
  return h("table.grid", { id: "threads" }, h("thead", {}, head), h("tbody", {}, ...order.map((i) =>
    h("tr", { "data-serial": serials[i] }, h("th", {}, h("a", { href: app.link({ page: "flame", thread: serials[i], zoom: [] }) }, nameOf(app, i)), ` ${tids[i]}`),
      ...COLUMNS.map((c) => h("td.number", {}, c.format(c.value(app, i)))), h("td.when", {}, bar(app, i))))));
}

export const threads: View = {
  id: "threads",
  title: "Threads",
  create(app) {
    const element = h("div.threads-page");
    const update = () => clear(element,
      h("p.note", {}, "Peaks and leaks count for the thread that allocated, whoever frees. A name leads to the flame graph of that thread."), h("div.scroll", {}, makeTable(app)));
    return { element, update };
  },
};

// globals.ts -- global and thread-local variables: how large they are, and what of them is in memory.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatTime } from "../draw/format.ts";
import { LongTable } from "../draw/longtable.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import type { Json } from "../load/pack.ts";

type Row = { [name: string]: Json };

const rowsOf = (value: Json | undefined): Row[] => (Array.isArray(value) ? (value as Row[]) : []);
const number = (row: Row, name: string): number => (typeof row[name] === "number" ? (row[name] as number) : 0);
const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** What `midden report --globals --json` has; null if the profile does not tell. */
function globalsOf(app: App): Row | null {
  return (app.blocks.pack.header.globals?.["globals"] as Row | undefined) ?? null;
}

/** In memory all in all: a thread-local variable is there once for each thread. */
function sizeOf(row: Row): number {
  return row["thread_local"] ? number(row, "total_bytes") : number(row, "bytes");
}

/** Resident bytes, where somebody looked. */
function residentCell(row: Row): HTMLElement {
  return h("td.number", { "data-resident": typeof row["resident_bytes"] === "number" ? String(row["resident_bytes"]) : undefined }, typeof row["resident_bytes"] === "number" ? formatBytes(row["resident_bytes"]) : "");
}

function objectsTable(globals: Row): HTMLElement {
  const row = (o: Row) => h("tr", { "data-object": String(o["path"]), "data-bytes": number(o, "bytes") }, h("th", { title: String(o["path"]) }, baseName(String(o["path"])) || "?"),
    h("td.number", {}, formatCount(number(o, "variables"))), h("td.number", {}, formatBytes(number(o, "bytes"))), residentCell(o), h("td.number", {}, formatBytes(number(o, "thread_local_bytes"))), h("td.number", {}, formatBytes(number(o, "thread_local_total_bytes"))),
    h("td.note", {}, rowsOf(o["sections"]).map((s) => `${String(s["name"])} ${formatBytes(number(s, "bytes"))}`).join(", ")));
  return h("table.grid", { id: "global-objects" },
    h("thead", {}, h("tr", {}, ...["Object", "Variables", "Size", "Resident", "Thread-local", "in all threads"].map((t, i) => h(i ? "th.number" : "th", {}, t)), h("th", {}, "Sections"))),
    h("tbody", {}, ...rowsOf(globals["objects"]).map(row)));
}

function about(globals: Row): HTMLElement {
  const threads = number(globals, "threads");
  const resident = typeof globals["resident_bytes"] === "number" ? `, ${formatBytes(globals["resident_bytes"])} of it in memory after ${formatTime(number(globals, "time_ns"))}` : "; nobody looked at what of it is in memory";
  return h("p", { id: "globals-sums", "data-bytes": number(globals, "bytes"), "data-variables": number(globals, "variables"), "data-local": number(globals, "thread_local_total_bytes") },
    `${formatBytes(number(globals, "bytes"))} in ${formatCount(number(globals, "variables"))} variables${resident}. Thread-local: ${formatBytes(number(globals, "thread_local_bytes"))} ${threads === 1 ? "in the only thread" : `in each of ${formatCount(threads)} threads, ${formatBytes(number(globals, "thread_local_total_bytes"))} in all`}.`);
}

/** What of them is in memory was seen once. */
function seenAt(app: App): boolean | string {
  const globals = globalsOf(app);
  return typeof globals?.["resident_bytes"] === "number" ? `Variables are as they were at the last look, after ${formatTime(number(globals, "time_ns"))}` : true;
}

class GlobalsPage {
  readonly element = h("div.globals-page");
  private readonly scroller = h("div.source", { id: "globals-scroll", tabindex: 0, role: "region", "aria-label": "variables" });
  private readonly search: HTMLInputElement;
  private table: LongTable | null = null;

  constructor(private readonly app: App) {
    this.search = h("input.page-search", { type: "search", id: "globals-search", placeholder: "search (/)", "aria-label": "search for a variable" }) as HTMLInputElement;
    this.search.addEventListener("input", () => app.go({ search: this.search.value }, false));
    this.scroller.addEventListener("scroll", () => this.table?.draw());
    new ResizeObserver(() => this.table?.draw()).observe(this.scroller);
  }

  update(): void {
    const { app } = this;
    const globals = globalsOf(app);
    if (!globals) return;
    if (document.activeElement !== this.search) this.search.value = app.state.search;
    if (!this.search.isConnected)
      clear(this.element, h("div.sums"), h("h2", {}, "Variables"), h("div.search", {}, this.search, " ", makeSheetSaving(app, "globals", () => this.sheet())), this.scroller);
    clear(this.element.firstElementChild!, about(globals), h("div.scroll", { tabindex: 0, role: "region", "aria-label": "objects" }, objectsTable(globals)));
    this.fill(globals);
  }

  private fill(globals: Row): void {
    const { sort, search } = this.app.state;
    const wanted = search.toLowerCase();
    const list = rowsOf(globals["list"]).filter((v) => !wanted || String(v["name"]).toLowerCase().includes(wanted));
    if (sort === "resident") list.sort((a, b) => number(b, "resident_bytes") - number(a, "resident_bytes"));
    else list.sort((a, b) => sizeOf(b) - sizeOf(a));
    this.table = new LongTable(this.scroller, list.length, (i) => this.row(list[i]!));
    const button = (id: string, title: string) => h("th.number", { "aria-sort": (sort === "resident") === (id === "resident") ? "descending" : undefined }, h("button", { type: "button", id: `globals-${id}`, onclick: () => this.app.go({ sort: id }) }, title));
    clear(this.scroller, h("table.lines.globals", { id: "variables" }, h("thead", {}, h("tr", {}, button("size", "Size"), button("resident", "Resident"), ...["Section", "Object", "Variable", "Where"].map((t) => h("th.text", {}, t)))), this.table.body));
    this.table.draw();
  }

  private sheet(): Sheet {
    const row = (v: Row) => [number(v, "bytes"), number(v, "resident_bytes"), ...["section", "object", "name", "file"].map((c) => String(v[c] ?? "")), number(v, "line")];
    return { head: ["bytes", "resident_bytes", "section", "object", "name", "file", "line"], rows: rowsOf(globalsOf(this.app)?.["list"]).map(row) };
  }

  private row(v: Row): HTMLElement {
    const place = v["file"] ? `${baseName(String(v["file"]))}${v["line"] ? `:${String(v["line"])}` : ""}` : "";
    const name = String(v["name"] ?? "") || (number(v, "count") ? `${formatCount(number(v, "count"))} smaller ones` : "what no symbol tells of");
    const count = v["thread_local"] && number(v, "bytes") ? ` × ${formatCount(Math.round(number(v, "total_bytes") / number(v, "bytes")))} threads` : "";
    return h("tr", { "data-name": String(v["name"] ?? ""), "data-bytes": number(v, "bytes") }, h("td.number", {}, `${formatBytes(number(v, "bytes"))}${count}`), residentCell(v),
      h("td", {}, String(v["section"] ?? "")), h("td", { title: String(v["object"] ?? "") }, baseName(String(v["object"] ?? ""))), h("td", {}, v["name"] ? h("strong", {}, name) : h("span.note", {}, name)), h("td", { title: String(v["file"] ?? "") }, h("span.place", {}, place)));
  }
}

export const globals: View = { id: "globals", title: "Globals", key: "g", isOfAll: seenAt, isPossible: (app) => globalsOf(app) !== null, create: (app) => new GlobalsPage(app) };

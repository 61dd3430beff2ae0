// maps.ts -- what the program mapped itself: by kind, and by the function that did it.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatGrowth } from "../draw/format.ts";
import type { Json } from "../load/pack.ts";
import { appendInPieces } from "../idle.ts";
import { listMappers, mappedIn, type Mapper } from "../model/maps.ts";
import { orderBy } from "../model/order.ts";
import type { Profile } from "../model/profile.ts";
import { MAP_KINDS } from "../model/question.ts";
import type { Work } from "../model/stacks.ts";
import { rangeText } from "./controls.ts";
import { functionKey, Opened } from "./opened.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import { stackList } from "./stack.ts";

const SHOWN = 200;
const STACKS_SHOWN = 50;

type Row = { [name: string]: Json };

interface Column {
  id: string;
  title: string;
  bytes: boolean;
}

/** By kind, as `midden stats --json` has them. */
const KIND_COLUMNS: Column[] = [
  { id: "allocations", title: "Maps", bytes: false },
  { id: "frees", title: "Gone", bytes: false },
  { id: "allocated_bytes", title: "Mapped", bytes: true },
  { id: "freed_bytes", title: "Unmapped", bytes: true },
  { id: "own_peak_bytes", title: "Own peak", bytes: true },
  { id: "peak_bytes", title: "At the peak", bytes: true },
  { id: "leaked_bytes", title: "Left", bytes: true },
];

const MAPPER_COLUMNS: (Column & { id: keyof Omit<Mapper, "frame" | "sites" | "kinds"> })[] = [
  { id: "peak", title: "At the peak", bytes: true },
  { id: "left", title: "Left", bytes: true },
  { id: "mapped", title: "Mapped", bytes: true },
  { id: "maps", title: "Maps", bytes: false },
];

const ABOUT: { [kind: string]: string } = {
  anonymous: "memory without a file",
  file: "files, also what shm_open and memfd_create give",
  reserved: "mapped with PROT_NONE: addresses without memory",
  shared: "shmat",
  break: "brk, sbrk",
  allocator: "by a malloc that is not libc's: in no total",
};

const show = (n: number, bytes: boolean): string => (bytes ? formatBytes(n) : formatCount(n));

function cells(row: Row, columns: Column[]): HTMLElement[] {
  return columns.map((c) => h("td.number", { "data-figure": c.id, "data-value": typeof row[c.id] === "number" ? String(row[c.id]) : undefined }, typeof row[c.id] === "number" ? show(row[c.id] as number, c.bytes) : ""));
}

function kindRow(app: App, row: Row): HTMLElement {
  const kind = String(row["kind"]);
  const name = MAP_KINDS.includes(kind) ? h("a", { href: app.link({ page: "flame", maps: kind, figure: "peak", zoom: [], functions: "", module: "", thread: 0 }) }, kind) : kind;
  return h("tr", { "data-kind": kind }, h("th", {}, name), ...cells(row, KIND_COLUMNS), h("td.note", {}, ABOUT[kind] ?? ""));
}

function kindsTable(app: App, maps: Row): HTMLElement {
  const kinds = (maps["kinds"] as Row[]).filter((kind) => Number(kind["allocations"]) > 0);
  return h("table.grid", { id: "map-kinds" },
    h("thead", {}, h("tr", {}, h("th", {}, "Kind"), ...KIND_COLUMNS.map((c) => h("th.number", {}, c.title)), h("th", {}, ""))),
    h("tbody", {}, ...kinds.map((row) => kindRow(app, row)),
      h("tr", { "data-kind": "all" }, h("th", {}, h("a", { href: app.link({ page: "flame", maps: "all", figure: "peak", zoom: [], functions: "", module: "", thread: 0 }) }, "all")), ...cells(maps, KIND_COLUMNS), h("td.note", {}, `${formatCount(Number(maps["reallocations"] ?? 0))} remaps, ${formatCount(Number(maps["failed_allocations"] ?? 0))} calls that failed`))));
}

/** What the time line tells of a range: the sum of all maps. */
function rangeFacts(app: App): HTMLElement | null {
  const { range } = app;
  const span = range && mappedIn(app.blocks, range);
  if (!span) return null;
  const show = ({ bytes, maps }: { bytes: number; maps: number }): string => `${formatBytes(bytes)} in ${formatCount(maps)} ${maps === 1 ? "map" : "maps"}`;
  const { first, last, most } = span;
  const text = range.from === range.to ? show(last) : `${show(first)} at its start, ${show(last)} at its end (${formatGrowth(last.bytes - first.bytes)}), at most ${formatBytes(most)}`;
  return h("p", { id: "maps-range", "data-first": first.bytes, "data-last": last.bytes, "data-maps": last.maps, "data-most": most }, `All maps together, ${rangeText(app)}: ${text}.`);
}

class MapsPage {
  readonly element = h("div.maps-page");
  private readonly table = h("table.grid", { id: "mappers" });
  private listed: { of: Profile; mappers: Mapper[] } | null = null;
  private readonly opened = new Opened();

  constructor(private readonly app: App) {}

  update(): void {
    const { app } = this;
    const maps = (app.blocks.pack.header.stats?.["maps"] ?? {}) as Row;
    if (!app.maps) return;
    clear(this.element, rangeFacts(app),
      h("p.note", {}, "What the program itself mapped; what malloc gets is on the other pages. A kind leads to its flame graph; the pages of stacks can all show maps in place of blocks."),
      h("div.scroll", { tabindex: 0, role: "region", "aria-label": "kinds of maps" }, kindsTable(app, maps)),
      h("h2", {}, "By function"), app.maps.siteCount > 0 && h("p", {}, makeSheetSaving(app, "maps", () => this.sheet())), app.maps.siteCount ? h("div.scroll", { tabindex: 0, role: "region", "aria-label": "who maps" }, this.table) : h("p.note", {}, "The program mapped nothing itself."));
    this.fillTable();
  }

  private list(): Mapper[] {
    const { maps } = this.app;
    if (this.listed?.of !== maps) this.listed = { of: maps!, mappers: orderBy(listMappers(maps!), (m) => m.mapped) };
    return this.listed!.mappers;
  }

  /** Ahead of time: what the first look at the page would have to wait for. */
  prepare(): Work[] {
    return [{ step: () => !this.app.maps || Boolean(this.list()) }];
  }

  private fillTable(): void {
    const { app } = this;
    const sort = MAPPER_COLUMNS.find((c) => c.id === app.state.sort) ?? MAPPER_COLUMNS[0]!;
    const mappers = orderBy(this.list(), (m) => m[sort.id]);
    const head = MAPPER_COLUMNS.map((c) => h("th.number", { "aria-sort": c === sort ? "descending" : undefined }, h("button", { type: "button", id: `mappers-${c.id}`, onclick: () => app.go({ sort: c.id }) }, c.title)));
    const rest = mappers.length - SHOWN;
    const body = h("tbody");
    appendInPieces(body, Math.min(mappers.length, SHOWN), (i) => this.row(mappers[i]!));
    clear(this.table, h("thead", {}, h("tr", {}, ...head, h("th", {}, "Kinds"), h("th", {}, "Mapped by"))), body,
      rest > 0 && h("tfoot", {}, h("tr", {}, h("td.note", { colspan: 6 }, `and ${formatCount(rest)} functions with less; the flame graph has them all`))));
  }

  private sheet(): Sheet {
    const maps = this.app.maps!;
    const row = (m: Mapper) => [...MAPPER_COLUMNS.map((c) => m[c.id]), m.kinds.map((k) => MAP_KINDS[k] ?? "").join(" "), maps.functionName(m.frame), maps.place(m.frame)];
    return { head: [...MAPPER_COLUMNS.map((c) => c.id), "kinds", "function", "place"], rows: this.list().map(row) };
  }

  private row(mapper: Mapper): HTMLElement {
    const { app } = this;
    const maps = app.maps!;
    const name = maps.functionName(mapper.frame);
    const details = h("details", {}, h("summary", {}, name, h("span.place", {}, ` ${maps.place(mapper.frame)}`)));
    this.opened.follow(details, () => functionKey(maps, mapper.frame), () => details.append(
      h("p", {}, h("a", { href: app.link({ page: "callers", maps: "all", figure: "peak", functions: "", module: "", thread: 0, file: 0, zoom: [maps.frameGroup[mapper.frame]!] }) }, "callers and callees")),
      ...mapper.sites.slice(0, STACKS_SHOWN).map((site) => stackList(app, site, maps))));
    return h("tr", { "data-function": name, ...Object.fromEntries(MAPPER_COLUMNS.map((c) => [`data-${c.id}`, mapper[c.id]])) },
      ...MAPPER_COLUMNS.map((c) => h("td.number", {}, show(mapper[c.id], c.bytes))), h("td", {}, mapper.kinds.map((k) => MAP_KINDS[k] ?? "").join(", ")), h("td", {}, details));
  }
}

export const maps: View = { id: "maps", title: "Maps", key: "m", isOfAll: () => "Which maps there were is kept without times: kinds and functions are those of the whole recording", isPossible: (app) => app.hasMaps, create: (app) => new MapsPage(app) };

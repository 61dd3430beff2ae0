// resident.ts -- who keeps the heap's pages in memory: sums, a map of the pages, and a row for each function.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { cssColour } from "../draw/colours.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatShare, formatTime } from "../draw/format.ts";
import { appendInPieces } from "../idle.ts";
import { layOutPages, pageAt, paintPages, shade, SHADES, type PageCell, type PageGrid } from "../draw/pagemap.ts";
import { Holders, isWithin, listCells, listPins, lookOf, type Cell, type Holder, type Look, type Pin, type Sum } from "../model/resident.ts";
import type { Work } from "../model/stacks.ts";
import { lookChoice, rangeText, wholeButton } from "./controls.ts";
import { functionKey, Opened } from "./opened.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import { stackList } from "./stack.ts";

const ROWS_SHOWN = 200;
const STACKS_SHOWN = 50;
const PAGE_BYTES = 4096; // where the profile does not tell

const COLUMNS: { id: Sum; title: string; about: string; bytes: boolean }[] = [
  { id: "resident", title: "Resident", about: "share of the pages that its blocks are on", bytes: true },
  { id: "pinned", title: "Pinned", about: "what of that is dead", bytes: true },
  { id: "live", title: "Live", about: "its blocks, wherever they are", bytes: true },
  { id: "blocks", title: "Blocks", about: "its live blocks", bytes: false },
  { id: "lone", title: "Lone pages", about: "pages that one small block holds alone", bytes: false },
  { id: "alone", title: "Alone", about: "would be free if these blocks were gone and all others stayed", bytes: true },
];

const show = (n: number, bytes: boolean): string => (bytes ? formatBytes(n) : formatCount(n));

/** The sums of a look, in words; as `midden report --rss` has them. */
function sumRows(look: Look): [string, string, string, string][] {
  const n = (name: string): number => Number(look.sums[name] ?? 0);
  const whole = n("resident_bytes");
  const usable = look.sums["usable_bytes"] === null ? 0 : n("usable_bytes");
  const rows: [string, string, string, string][] = [
    ["resident_bytes", "Resident", formatBytes(whole), `pages of the heap in memory; the whole program has ${formatBytes(n("rss_bytes"))}`],
    ["held_bytes", "held", formatBytes(n("held_bytes")), "on pages with live blocks"],
    ["free_bytes", "free", formatBytes(n("free_bytes")), "on pages without any, kept by the allocator"],
    ["live_bytes", "Live", formatBytes(n("live_bytes")), `requested, in ${formatCount(n("live_blocks"))} blocks`],
    ["touched_bytes", "touched", formatBytes(n("touched_bytes")), "of that, on resident pages"],
    ["untouched_bytes", "untouched", formatBytes(n("untouched_bytes")), "never written to, or given back"],
    ["swapped_live_bytes", "swapped out", formatBytes(n("swapped_live_bytes")), ""],
    ["usable_bytes", "Usable", usable ? formatBytes(usable) : "not known", usable ? `set aside by the allocator: ${formatBytes(usable - n("live_bytes"))} more than was asked for` : "of this allocator"],
    ["pinned_bytes", "Pinned", formatBytes(n("pinned_bytes")), `${formatShare(n("pinned_bytes"), whole)} of the heap is dead, on pages that live blocks hold`],
    ["lone_pages", "Lone", formatCount(n("lone_pages")), "pages held by one small block alone"],
    ["huge_bytes", "Huge pages", formatBytes(n("huge_bytes")), "of what is resident"],
    ["fragmentation", "Fragmentation", formatShare(n("fragmentation"), 1), "pinned and free, of what is resident"],
  ];
  const always = ["resident_bytes", "live_bytes", "pinned_bytes", "free_bytes", "fragmentation", "usable_bytes"];
  return rows.filter(([name]) => always.includes(name) || n(name) > 0);
}

/** Of a range: which look of it this is. */
function aboutLook(app: App, look: Look): string {
  const { blocks, range } = app;
  const [text, seen] = [rangeText(app), `${look.title}, ${formatTime(look.time_ns)}${look.aside}`];
  const within = range ? blocks.looks().filter((l) => isWithin(blocks, l, range)) : [];
  if (within.at(-1) === look) return `The last look ${during(text)}: ${seen}.`;
  if (within.includes(look)) return `A look ${during(text)}: ${seen}.`;
  if (within.length) return `Not taken ${during(text)}: ${seen}.`;
  const isChosen = look !== lookOf(blocks, -1, range);
  const isAfter = look === blocks.looks()[0] && look.time_ns > blocks.pack.f64("point.time_ns")[range!.to]!;
  return `No look was taken ${during(text)}. ${isChosen ? "This one was" : isAfter ? "The first one after was" : "The last one before its end was"} ${seen}.`;
}

const during = (range: string): string => (range.startsWith("at ") ? range : `within ${range}`);

function sumsTable(look: Look): HTMLElement {
  return h("table.plain", { id: "rss-sums" }, ...sumRows(look).map(([name, title, value, about]) =>
    h("tr", { "data-sum": name, "data-value": Number(look.sums[name] ?? 0) }, h(/^[a-z]/.test(title) ? "th.part" : "th", {}, title), h("td.number", {}, value), h("td.note", {}, about))));
}

class ResidentPage {
  readonly element: HTMLElement;
  private readonly bar: HTMLElement;
  private readonly sums = h("div");
  private readonly legend = h("ul.legend", { id: "page-legend", "aria-label": "colours" });
  private readonly canvas = h("canvas.pages", { id: "page-map", tabindex: 0, role: "img", "aria-label": "pages of the heap; arrow keys move, Enter shows who holds a cell" }) as HTMLCanvasElement;
  private readonly card = h("div.hover", { hidden: true });
  private readonly table = h("table.grid", { id: "holders" });
  private look: Look | null = null;
  private cells: Cell[] = [];
  private grid: PageGrid | null = null;
  private told = -1; // cell
  private drawnWidth = 0;
  private holders: Holders | null = null;
  private readonly looks;
  private readonly opened = new Opened();
  private readonly seen = h("span");
  private readonly about = h("p", { id: "look-range", hidden: true });
  private readonly link = h("a", {}, "flame graph of what is resident");

  constructor(private readonly app: App) {
    this.looks = lookChoice(app);
    this.bar = h("form.controls", { onsubmit: (e) => e.preventDefault() }, this.looks.element, this.seen, this.link);
    this.element = h("div.resident-page", {}, this.bar, this.about, this.sums,
      h("h2", {}, "Pages of the heap"), this.legend, h("div.canvas", {}, this.canvas, this.card),
      h("h2", {}, "Who keeps them"), h("p.note", {}, "Each page is split over the stacks whose blocks hold it, its dead bytes included. ", makeSheetSaving(app, "resident", () => this.sheet())),
      h("div.scroll", { tabindex: 0, role: "region", "aria-label": "who keeps pages" }, this.table));
    this.canvas.addEventListener("click", (e) => this.choose(this.at(e)));
    this.canvas.addEventListener("mousemove", (e) => this.tell(this.at(e), e.clientX, e.clientY));
    this.canvas.addEventListener("mouseleave", () => (this.card.hidden = true));
    this.canvas.addEventListener("keydown", (e) => this.onKey(e));
    new ResizeObserver(() => this.canvas.clientWidth !== this.drawnWidth && this.draw()).observe(this.canvas.parentElement!);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  update(): void {
    const { app } = this;
    const look = lookOf(app.blocks, app.state.look, app.range);
    if (!look) return;
    this.ask(look);
    this.looks.update();
    this.about.hidden = !app.range;
    if (app.range) clear(this.about, h("span.range", {}, aboutLook(app, look)), " ", wholeButton(app));
    clear(this.seen, this.looks.element.hidden && !app.range && `Seen ${look.title}, ${formatTime(look.time_ns)}${look.aside}`);
    this.link.setAttribute("href", app.link({ page: "flame", figure: "resident", look: look.index, zoom: [], functions: "", module: "", thread: 0 }));
    clear(this.sums, sumsTable(look));
    this.fillTable(look);
    this.draw();
  }

  private ask(look: Look): void {
    if (look === this.look) return;
    this.look = look;
    this.cells = listCells(this.app.blocks, look);
    this.holders = new Holders(this.app.blocks, look);
    this.told = -1;
    this.card.hidden = true;
  }

  /** Ahead of time: what the first look at the page would have to wait for. */
  prepare(): Work[] {
    const { app } = this;
    const ask = (): boolean => {
      const look = lookOf(app.blocks, app.state.look, app.range); // another one may have been chosen meanwhile
      if (look) this.ask(look);
      return true;
    };
    return [{ step: ask }];
  }

  private pageBytes(): number {
    return this.app.blocks.pack.header.page_bytes || PAGE_BYTES;
  }

  private draw(): void {
    const width = this.canvas.clientWidth;
    if (!width || !this.element.isConnected) return;
    this.drawnWidth = width;
    const page = this.pageBytes();
    const { site } = this.app.state;
    const cells = this.cells.map((cell, i): PageCell => ({
      fill: cell.resident ? Math.min(1, cell.live / (cell.resident * page)) : 0,
      kind: cell.held ? "held" : cell.resident ? "free" : "absent",
      isMarked: i === this.told || (site >= 0 && cell.site === site),
      isApart: i > 0 && this.cells[i - 1]!.start + this.cells[i - 1]!.pages * page !== cell.start,
    }));
    this.grid = layOutPages(cells, width);
    paintPages(this.canvas, cells, this.grid);
    this.showLegend();
  }

  private showLegend(): void {
    const item = (colour: string, text: string) => h("li", {}, h("i", { style: `background:${colour}` }), ` ${text}`);
    const most = this.cells.reduce((n, c) => Math.max(n, c.pages), 1);
    clear(this.legend, item(shade(1), "almost empty, but held"), item(shade(SHADES - 1), "full of live blocks"), item(cssColour("--chart2"), "in memory, without a live block"), item(cssColour("--panel"), "not in memory"),
      h("li.note", {}, most === 1 ? "a cell is a page" : `a cell is ${formatCount(most)} pages, ${formatBytes(most * this.pageBytes())}`));
  }

  private at(e: MouseEvent): number {
    const r = this.canvas.getBoundingClientRect();
    return this.grid ? pageAt(this.grid, e.clientX - r.left, e.clientY - r.top) : -1;
  }

  /** What a cell holds, beside the pointer. */
  private tell(i: number, x: number, y: number): void {
    const cell = this.cells[i];
    this.card.hidden = !cell;
    if (!cell) return;
    if (this.told !== i) {
      this.told = i;
      this.fillCard(cell);
    }
    const box = this.canvas.parentElement!.getBoundingClientRect();
    this.card.style.left = `${Math.min(x - box.left + 12, Math.max(0, box.width - 380))}px`;
    this.card.style.top = `${y - box.top + 16}px`;
  }

  private fillCard(cell: Cell): void {
    const profile = this.app.blocks;
    const bytes = cell.resident * this.pageBytes();
    const rows: [string, string][] = [
      ["pages", `${formatCount(cell.pages)}, ${formatCount(cell.resident)} in memory, ${formatCount(cell.held)} with live blocks`],
      ["live", `${formatBytes(cell.live)} of ${formatBytes(bytes)}: ${formatShare(cell.live, bytes)}`],
    ];
    if (cell.site >= 0) {
      const frame = profile.ownFrames()[cell.site]!;
      rows.push(["mostly by", `${profile.functionName(frame)} ${profile.place(frame)}`]);
    }
    clear(this.card, h("strong", {}, `0x${cell.start.toString(16)}`), h("table", {}, ...rows.map(([k, v]) => h("tr", {}, h("th", {}, k), h("td", {}, v)))));
  }

  private choose(i: number): void {
    const cell = this.cells[i];
    if (!cell || cell.site < 0) return;
    this.app.go({ site: cell.site });
    document.querySelector("#holders tr.chosen")?.scrollIntoView({ block: "nearest" });
  }

  private onKey(e: KeyboardEvent): void {
    const columns = this.grid?.columns ?? 1;
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
    if (e.key === "Enter") return this.choose(this.told);
    if (e.key === "Escape") {
      this.card.hidden = true;
      return this.app.go({ site: -1 });
    }
    if (!(e.key in steps) || !this.cells.length || !this.grid) return;
    e.preventDefault();
    const next = Math.min(this.cells.length - 1, Math.max(0, this.told < 0 ? 0 : this.told + steps[e.key]!));
    const place = this.grid.places[next]!;
    const box = this.canvas.getBoundingClientRect();
    this.tell(next, box.left + (place % columns) * this.grid.size, box.top + Math.floor(place / columns) * this.grid.size);
    this.draw();
  }

  private fillTable(look: Look): void {
    const { app } = this;
    const sort = COLUMNS.find((c) => c.id === app.state.sort) ?? COLUMNS[0]!;
    const holders = this.holders!;
    const order = holders.order(sort.id);
    const chosen = this.chosenGroup();
    const place = chosen < 0 ? -1 : order.findIndex((i) => app.blocks.frameGroup[holders.frame(i)] === chosen);
    const shown = [...(place < ROWS_SHOWN ? [] : [order[place]!]), ...order.subarray(0, ROWS_SHOWN)];
    const head = h("tr", {}, ...COLUMNS.map((c) => h("th.number", { title: c.about, "aria-sort": c === sort ? "descending" : undefined }, h("button", { type: "button", id: `holders-${c.id}`, onclick: () => app.go({ sort: c.id }) }, c.title))), h("th", {}, "Allocated by"));
    const rest = order.length - ROWS_SHOWN;
    const body = h("tbody");
    appendInPieces(body, shown.length, (i) => this.row(holders.at(shown[i]!), Number(look.sums["resident_bytes"]), chosen), Math.max(20, place < ROWS_SHOWN ? place + 1 : 0));
    clear(this.table, h("thead", {}, head), body,
      rest > 0 && h("tfoot", {}, h("tr", {}, h("td.note", { colspan: COLUMNS.length + 1 }, `and ${formatCount(rest)} functions with less; the flame graph has them all`))));
  }

  /** The function that the chosen site is shown under; -1: none is chosen. */
  private chosenGroup(): number {
    const { blocks: profile, state } = this.app;
    return state.site >= 0 && state.site < profile.siteCount ? profile.frameGroup[profile.ownFrames()[state.site]!]! : -1;
  }

  private sheet(): Sheet {
    const profile = this.app.blocks;
    const row = (holder: Holder) => [...COLUMNS.map((c) => holder[c.id]), profile.functionName(holder.frame), profile.place(holder.frame)];
    const rows = Array.from(this.holders!.order("resident"), (i) => row(this.holders!.at(i)));
    return { head: [...COLUMNS.map((c) => c.id), "function", "place"], rows };
  }

  private row(holder: Holder, whole: number, chosen: number): HTMLElement {
    const { app } = this;
    const profile = app.blocks;
    const isChosen = profile.frameGroup[holder.frame] === chosen;
    const details = h("details", { open: isChosen }, h("summary", {}, profile.functionName(holder.frame), h("span.place", {}, ` ${profile.place(holder.frame)}`)));
    const fill = (): void => {
      const { pins, count } = listPins(profile, this.look!, holder, STACKS_SHOWN);
      details.append(...pins.map((pin) => this.stack(pin)), count > pins.length ? h("p.note", {}, `and ${formatCount(count - pins.length)} stacks with less`) : "");
    };
    this.opened.follow(details, () => functionKey(profile, holder.frame), fill);
    return h(`tr${isChosen ? ".chosen" : ""}`, { "data-function": profile.functionName(holder.frame), ...Object.fromEntries(COLUMNS.map((c) => [`data-${c.id}`, holder[c.id]])) },
      ...COLUMNS.map((c) => h("td.number", {}, show(holder[c.id], c.bytes), c.id === "resident" ? h("span.note", {}, ` ${formatShare(holder.resident, whole)}`) : null)), h("td", {}, details));
  }

  private stack(pin: Pin): HTMLElement {
    const text = `${formatBytes(pin.resident)} resident, ${formatBytes(pin.pinned)} of it dead, for ${formatBytes(pin.live)} live in ${formatCount(pin.blocks)} blocks`;
    return h(`div.held${pin.site === this.app.state.site ? ".chosen" : ""}`, { "data-site": pin.site }, h("p.note", {}, text), stackList(this.app, pin.site));
  }
}

export const resident: View = { id: "resident", title: "Resident", key: "r", isPossible: (app) => app.blocks.looks().length > 0, create: (app) => new ResidentPage(app) };

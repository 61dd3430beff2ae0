// flame.ts -- any figure as a flame graph: who is responsible for how much of it.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { changeColour, cssColour, drawingWidth, isDark, moduleColour, OWN_COLOURS } from "../draw/colours.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatShare } from "../draw/format.ts";
import { boxAt, countRows, flameInk, layOut, paintAhead, painter, ROW, type Box, type IcicleSource } from "../draw/icicle.ts";
import { Tall } from "../draw/tall.ts";
import type { CallTree, TreeNode } from "../model/calltree.ts";
import { isTimed } from "../model/question.ts";
import { drawings } from "../model/rehearsals.ts";
import { amountWith } from "../model/search.ts";
import type { Work } from "../model/stacks.ts";
import { inRuns } from "../runs.ts";
import { amountText, inBlocks, waysText } from "./amount.ts";
import { FIGURE_NAMES, makeControls, nothing } from "./controls.ts";
import { makeSaving, svg, tellSaving } from "./saving.ts";
import { within, withinColumn } from "./within.ts";

function labelOf(app: App, tree: CallTree, node: TreeNode): string {
  if (node.frame < 0) return tree.inverted ? "all allocations" : "the program";
  const name = app.nameOf(node.frame);
  const place = tree.by === "line" && node.frame < app.profile.frameCount ? app.profile.place(node.frame) : "";
  return place ? `${name} ${place}` : name;
}

/** Modules of boxes, by their place among all. */
function ranksIn(boxes: Box<TreeNode>[], ranks: Uint32Array): Set<number> {
  const seen = new Set<number>();
  inRuns(boxes.length, addRanks, boxes, ranks, seen);
  return seen;
}

function addRanks(from: number, to: number, boxes: Box<TreeNode>[], ranks: Uint32Array, seen: Set<number>): void {
  for (let i = from; i < to; i++) {
    const { frame } = boxes[i]!.node;
    if (frame >= 0 && frame < ranks.length) seen.add(ranks[frame]!);
  }
}

const REHEARSED = 400; // pixels that a picture is wide which nobody sees

/** What a colour stands for. */
type Meaning = [colour: string, text: string, module?: string];

class FlamePage {
  readonly element: HTMLElement;
  private readonly controls;
  private readonly graph = new Tall("flame graph; arrow keys move, Enter zooms", ROW);
  private readonly area = this.graph.element;
  private readonly card = h("div.hover", { hidden: true });
  private readonly path = h("p.path");
  private readonly total = h("p.total", { id: "flame-total" });
  private readonly search: HTMLInputElement;
  private readonly saving: HTMLElement;
  private readonly legend = h("ul.legend", { id: "legend", "aria-label": "colours" });
  private readonly found = h("output", { id: "search-share" });
  private boxes: Box<TreeNode>[] = [];
  private chosen: TreeNode | null = null;
  private told: TreeNode | null = null; // what the card is about
  private drawnWidth = 0;

  constructor(private readonly app: App) {
    this.controls = makeControls(app, { direction: true, lines: true, shape: true });
    this.search = h("input.page-search", { type: "search", id: "search", placeholder: "search (/)", "aria-label": "search for a function" }) as HTMLInputElement;
    this.search.addEventListener("input", () => app.go({ search: this.search.value }, false));
    this.saving = makeSaving(app, () => ({ tree: this.tree(), node: this.zoomed() }), () => this.picture());
    this.element = h("div.flame-page", {}, this.controls.element,
      h("div.search", {}, this.search, " ", this.found, " ", this.saving), this.total, this.path, h("div.canvas", {}, this.area, this.card), this.legend);
    this.area.addEventListener("click", (e) => this.onClick(e));
    this.area.addEventListener("mousemove", (e) => this.onHover(e));
    this.area.addEventListener("mouseleave", () => (this.card.hidden = true));
    this.area.addEventListener("keydown", (e) => this.onKey(e));
    new ResizeObserver(() => this.area.clientWidth !== this.drawnWidth && this.draw()).observe(this.area.parentElement!);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  private tree(): CallTree {
    return this.app.shapedTree();
  }

  private zoomed(): TreeNode {
    return this.tree().find(this.app.state.zoom) ?? this.tree().root;
  }

  update(): void {
    this.controls.update();
    if (document.activeElement !== this.search) this.search.value = this.app.state.search;
    const a = this.app.answer();
    const { root } = this.tree();
    const ways = a.question.figure === "growth" ? waysText(root.size, root.value) : "";
    const total = `${inBlocks(a.question.figure, a.totalBytes, a.totalBlocks, this.unit(), this.doubt())} in all${ways}`;
    clear(this.total, ...(a.lost ? [] : [total, this.zoomedAmount()]));
    tellSaving(this.app, this.saving);
    this.total.dataset["bytes"] = String(a.totalBytes);
    this.total.dataset["blocks"] = String(a.totalBlocks);
    this.showPath();
    this.draw();
  }

  private unit(): string {
    return this.app.state.maps ? "map" : "block";
  }

  /** What the box that is zoomed in on comes to, of all. */
  private zoomedAmount(): HTMLElement | null {
    const tree = this.tree();
    const node = this.zoomed();
    if (node === tree.root) return null;
    const { figure } = tree.answer.question;
    const { bytes, blocks } = tree.sum(node);
    return h("span", { id: "zoom-amount" }, `; ${labelOf(this.app, tree, node)}: ${inBlocks(figure, bytes, blocks, this.unit(), this.doubt(node))}, ${formatShare(node.value, tree.root.size)}`);
  }

  /** Within what a box lies; the whole if none is named. */
  private doubt(node?: TreeNode): string {
    const tree = this.tree();
    const { variance } = tree.answer;
    const of = node ?? tree.root;
    const all = this.app.answer(); // of all threads together more is known than of each
    if (of === tree.root && all.variance) return within(this.app, all, all.total, all.variance.reduce((a, b) => a + b, 0));
    return variance ? within(this.app, tree.answer, of.value, tree.total(of, variance)) : "";
  }

  /** Where we are: every step outwards is a link. */
  private showPath(): void {
    const { app } = this;
    const zoom = app.state.zoom;
    const steps = zoom.map((frame, i) => h("a", { href: app.link({ zoom: zoom.slice(0, i + 1) }) }, app.nameOf(frame)));
    clear(this.path, zoom.length ? h("a", { href: app.link({ zoom: [] }), id: "zoom-out" }, "all") : null,
      ...steps.flatMap((s) => [" › ", s]), ...this.ways(zoom.at(-1)));
  }

  /** From the function that is zoomed in on to the other pages about it. */
  private ways(frame: number | undefined): (HTMLElement | string)[] {
    const { app } = this;
    if (frame === undefined || frame >= app.profile.frameCount) return [];
    const file = app.profile.frameFile[frame]!;
    const place = app.profile.place(frame);
    return [" · ", h("a", { href: app.link({ page: "callers", zoom: [app.profile.frameGroup[frame]!] }), id: "zoom-callers" }, "callers and callees"), " · ", h("a", { href: app.link({ page: "table" }), id: "zoom-table" }, "tree"),
      ...(place ? [" · ", h("a", { href: app.link({ page: "source", file, line: app.profile.frameLine[frame]! }), id: "zoom-source" }, place)] : [])];
  }

  private source(tree: CallTree, root: TreeNode, search: string): IcicleSource<TreeNode> {
    const { app } = this;
    const hits = app.profile.search(search);
    return {
      root,
      size: (n) => n.size,
      children: (n, least) => tree.open(n, least),
      label: (n) => labelOf(app, tree, n),
      colour: this.colours(tree, isDark()),
      isMarked: (n) => n === this.chosen || (n.frame >= 0 && hits[n.frame] === 1),
    };
  }

  /** Ahead of time: what the first look at the page would have to wait for. */
  prepare(width: number): Work[] {
    const paint = (tree: CallTree, root: TreeNode, search: string, wide: number): void => {
      ranksIn(paintAhead(wide, this.source(tree, root, search), flameInk()), this.app.profile.moduleRanks());
    };
    return [
      { step: () => Boolean(this.tree()) },
      { step: () => (paint(this.tree(), this.zoomed(), this.app.state.search, width), true) },
      ...drawings(this.app.blocks, (tree, root, search) => paint(tree, root, search, REHEARSED)),
    ];
  }

  draw(): void {
    const { app } = this;
    const width = drawingWidth(this.area);
    if (!width || !this.element.isConnected) return;
    this.drawnWidth = width;
    const source = this.source(this.tree(), this.zoomed(), app.state.search);
    this.boxes = layOut(source, width);
    this.graph.show(countRows(this.boxes), painter(width, source, this.boxes, flameInk()));
    const { search } = app.state;
    clear(this.found, search ? `${formatShare(amountWith(app.profile, this.tree(), source.root, search), source.root.size)} of what is shown` : "");
    this.showLegend(isDark());
    if (!this.boxes.length) clear(this.path, ...nothing(app));
  }

  /** By module; of growth, by how much of a box grew or shrank. */
  private colours(tree: CallTree, dark: boolean): (n: TreeNode) => string {
    const { profile } = this.app;
    const isShown = dark === isDark(); // or else it is for paper
    const top = isShown ? cssColour("--line") : "#d9dde3";
    if (tree.answer.question.figure === "growth") {
      const same = isShown ? cssColour("--panel") : "#f5f6f8";
      return (n) => (n.value === 0 ? same : changeColour(n.value / Math.max(1, n.size), dark));
    }
    const ranks = profile.moduleRanks();
    return (n) => (n.frame < 0 || n.frame >= profile.frameCount ? top : moduleColour(ranks[n.frame]!, dark));
  }

  /** What the colours of the boxes in sight mean. */
  private showLegend(dark: boolean): void {
    const { profile, state } = this.app;
    if (state.figure === "growth")
      return this.fillLegend([[changeColour(1, dark), "grown"], [changeColour(-1, dark), "shrunk"]], "boxes are as wide as what grew and what shrank together");
    const ranks = profile.moduleRanks();
    const seen = ranksIn(this.boxes, ranks);
    const own = profile.modules().slice(0, OWN_COLOURS).map((name, i) => [name, i] as const).filter(([, i]) => seen.has(i));
    const others: Meaning[] = seen.size > own.length ? [[moduleColour(-1, dark), "all others"]] : [];
    this.fillLegend([...own.map(([name, i]): Meaning => [moduleColour(i, dark), name, name]), ...others], "");
  }

  private legendIs = "";

  private fillLegend(items: Meaning[], note: string): void {
    const key = JSON.stringify([items, note]);
    if (key === this.legendIs) return;
    this.legendIs = key;
    const list = items.map(([colour, text, module]) => h("li", { "data-module": module }, h("i", { style: `background:${colour}` }), ` ${text}`));
    clear(this.legend, ...list, note && h("li.note", {}, note));
  }

  private picture(): string {
    const { app } = this;
    const tree = this.tree();
    return svg({
      heading: `${String(app.blocks.pack.header.stats?.["program"] ?? "")}, ${app.state.figure}: ${this.total.textContent}`,
      boxes: this.boxes,
      width: this.area.clientWidth,
      label: (n) => labelOf(app, tree, n),
      title: (n) => `${labelOf(app, tree, n)}: ${formatShare(n.value, tree.root.size)}, ${amountText(app.state.figure, n.value)}`,
      colour: this.colours(tree, false),
    });
  }

  private at(e: MouseEvent): TreeNode | null {
    const r = this.area.getBoundingClientRect();
    return boxAt(this.boxes, e.clientX - r.left, e.clientY - r.top)?.node ?? null;
  }

  private zoomTo(node: TreeNode): void {
    this.card.hidden = true; // another box is under the pointer now
    this.app.go({ zoom: this.tree().path(node) });
  }

  private onClick(e: MouseEvent): void {
    const node = this.at(e);
    if (node) this.zoomTo(node);
  }

  private onHover(e: MouseEvent): void {
    const node = this.at(e);
    this.card.hidden = !node;
    if (!node) return;
    if (node !== this.told) this.fillCard(node);
    const box = this.area.parentElement!.getBoundingClientRect();
    const x = Math.min(e.clientX - box.left + 12, Math.max(0, box.width - 380));
    this.card.style.left = `${x}px`;
    this.card.style.top = `${e.clientY - box.top + 16}px`;
  }

  /** All figures of the sites behind a box. */
  private fillCard(node: TreeNode): void {
    this.told = node;
    const { profile } = this.app;
    const tree = this.tree();
    const sum = (column: string): number => tree.total(node, this.column(column));
    const doubt = (column: string, isBytes: boolean): string => (tree.threads ? "" : withinColumn(this.app, column, isBytes, (values) => tree.total(node, values)));
    const bytes = (column: string): string => formatBytes(sum(column)) + doubt(column, true);
    const count = (column: string): string => formatCount(sum(column)) + doubt(column, false);
    const unit = (column: string): string => this.unit() + (sum(column) === 1 ? "" : "s");
    const isOfRange = isTimed(tree.answer.question) && tree.answer.question.range !== null;
    const rows: [string, string][] = [
      ["share", formatShare(node.value, tree.root.size)],
      ...(tree.threads && tree.answer.variance ? [["within", this.doubt(node).trim()] as [string, string]] : []),
      ...(isTimed(tree.answer.question) ? [this.timedRow(node)] : []),
      ...(isOfRange ? [["", "In the whole recording:"] as [string, string]] : []),
      ["at the peak", `${bytes("at_peak_bytes")} in ${count("at_peak_blocks")} ${unit("at_peak_blocks")}`],
      ["leaked", `${bytes("live_bytes")} in ${count("live_blocks")} ${unit("live_blocks")}`],
      ["allocated", `${bytes("allocated_bytes")} by ${count("allocations")} ${sum("allocations") === 1 ? "call" : "calls"}`],
      ["temporary", count("temporary")],
      ["stacks", formatCount(tree.count(node))],
    ];
    const place = node.frame < 0 || node.frame >= profile.frameCount ? "" : `${profile.moduleName(node.frame)} ${tree.by === "line" ? profile.place(node.frame) : profile.functionPlace(node.frame)}`;
    clear(this.card, h("strong", {}, labelOf(this.app, tree, node)), h("div.note", {}, place),
      h("table", {}, ...rows.map(([k, v]) => h("tr", {}, h("th", {}, k), h("td", {}, v)))));
  }

  /** What the time line says, which the columns do not have. */
  private timedRow(node: TreeNode): [string, string] {
    const { figure } = this.app.state;
    return [FIGURE_NAMES[figure].toLowerCase(), amountText(figure, node.value) + this.doubt(node) + waysText(node.size, node.value)];
  }

  private columns = new Map<string, Float64Array>();
  private columnsOf: unknown = null;

  /** A figure by row of the tree's stacks. */
  private column(name: string): Float64Array {
    const { threads } = this.tree();
    const of = threads ?? this.app.profile;
    if (this.columnsOf !== of) this.columns.clear();
    this.columnsOf = of;
    let values = this.columns.get(name);
    if (!values) this.columns.set(name, (values = threads ? threads.column(name) : this.app.profile.pack.f64(`site.${name}`)));
    return values;
  }

  private onKey(e: KeyboardEvent): void {
    if (this.chosen && this.tree().find(this.tree().path(this.chosen)) !== this.chosen) this.chosen = null; // of another tree
    const now = this.chosen ?? this.zoomed();
    const inside = (n: TreeNode) => this.tree().open(n).filter((child) => child.size > 0);
    const siblings = now.parent ? inside(now.parent) : [now];
    const beside = (step: number) => siblings[siblings.indexOf(now) + step] ?? now;
    const moves: Record<string, () => TreeNode> = {
      ArrowUp: () => now.parent ?? now,
      ArrowDown: () => inside(now)[0] ?? now,
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
    };
    if (e.key in moves) this.chosen = moves[e.key]!();
    else if (e.key === "Enter") return this.zoomTo(now);
    else if (e.key === "Escape") {
      this.chosen = null;
      return this.app.go({ zoom: [] });
    } else return;
    e.preventDefault();
    this.fillCard(this.chosen!);
    this.card.hidden = false;
    this.draw();
  }
}

export const flame: View = { id: "flame", title: "Flame graph", key: "3", create: (app) => new FlamePage(app) };

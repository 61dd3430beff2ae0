// table.ts -- the call tree as a table, sorted by any figure; and the callers and callees of one
// function.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h, press } from "../draw/dom.ts";
import { part, type Part } from "../draw/fit.ts";
import { formatBytes, formatCount, formatMore, formatShare } from "../draw/format.ts";
import { Rows } from "../draw/rows.ts";
import type { CallTree, NodeSums, TreeNode } from "../model/calltree.ts";
import { FIGURE_COLUMNS, figureColumn, type FigureColumn } from "../model/figures.ts";
import { OpenRows, type Level } from "../model/level.ts";
import { carryPaths } from "../model/next.ts";
import type { Profile } from "../model/profile.ts";
import type { Ranking } from "../model/ranking.ts";
import type { Work } from "../model/stacks.ts";
import { amountText, OF_CHANGES } from "./amount.ts";
import { makeControls, nothing } from "./controls.ts";
import { makeSaving, tellSaving } from "./saving.ts";
import { within, withinColumn } from "./within.ts";

/** What rows can be sorted by, and the titles of the columns; that of the second goes by the figure. */
const HEADS: [id: string, title: string][] = [["name", "Function"], ["", ""], ["self", "Self"], ["blocks", "Blocks"], ...FIGURE_COLUMNS.map((c): [string, string] => [c.id, c.title])];

class TablePage {
  readonly element: HTMLElement;
  private readonly controls;
  private readonly head = h("div.row.head", { role: "row" });
  private readonly rows = new Rows("call tree", this.head);
  private readonly about = h("p.note", { id: "tree-note" });
  private readonly saving: HTMLElement;
  private open = new Set<TreeNode>();
  private list: OpenRows | null = null;
  private tree: CallTree | null = null;
  private of: Profile | null = null; // the blocks of what the tree is of
  private at = 0;
  private sums = new Map<TreeNode, NodeSums>(); // of rows that were in sight

  constructor(private readonly app: App) {
    this.controls = makeControls(app, { direction: true, lines: true });
    this.saving = makeSaving(app, () => ({ tree: app.tree(), node: app.tree().root }), null);
    this.element = h("div.table-page", {}, this.controls.element, this.saving, this.about, this.rows.element);
    this.head.append(...HEADS.map(([id, title]) => h("button.cell", { type: "button", id: `sort-${id || "value"}`, onclick: () => app.go({ sort: id }) }, title)));
    this.rows.element.addEventListener("keydown", (e) => this.onKey(e));
    this.rows.element.addEventListener("click", (e) => (e.target as Element).closest(".twist") && this.toggle(this.rows.rowOf(e.target as Element)));
  }

  update(): void {
    this.controls.update();
    const tree = this.app.tree();
    const notes = [tree.answer.question.figure === "growth" && OF_CHANGES, tree.answer.question.range && "The columns from Peak on are of the whole recording."];
    clear(this.about, ...(tree.root.size === 0 ? nothing(this.app) : [notes.filter(Boolean).join(" ")]));
    tellSaving(this.app, this.saving);
    if (tree !== this.tree) {
      const open = this.stillOpen(tree);
      this.tree = tree;
      this.of = this.app.blocks;
      this.open = new Set();
      this.at = 0;
      this.columns.clear();
      this.sums.clear();
      if (open) open.forEach((path) => this.openPath(path));
      else this.openHotPath();
    }
    const chosen = this.openChosen();
    this.showHead();
    const before = this.list?.at(this.at);
    this.flatten(chosen);
    if (chosen && chosen !== before) this.rows.scrollTo(this.at);
  }

  /** Of a program that runs on: paths of what is open now, in the next profile's tree. Null: that is of something else. */
  private stillOpen(next: CallTree): number[][] | null {
    const { tree, of } = this;
    const isNext = tree && of && of !== this.app.blocks && this.app.profile === this.app.blocks;
    if (!isNext || tree.inverted !== next.inverted || tree.by !== next.by || JSON.stringify(tree.answer.question) !== JSON.stringify(next.answer.question)) return null;
    return carryPaths([...this.open].map((node) => tree.path(node)), next.by === "function", of, this.app.blocks);
  }

  private openPath(path: number[]): void {
    const node = this.tree!.seek(path);
    if (node) this.open.add(node);
  }

  /** Ahead of time: what the first look at the page would have to wait for. Which row is chosen shows when it is looked at. */
  prepare(): Work[] {
    const isOver = () => this.element.isConnected || this.app.state.zoom.length > 0;
    return [{ step: () => isOver() || (this.update(), true) }, { step: () => isOver() || this.rows.makeAhead() }];
  }

  /** The row that the address names, with all above it open; null if it names none. */
  private openChosen(): TreeNode | null {
    const { zoom } = this.app.state;
    const node = zoom.length ? this.tree!.seek(zoom) : null;
    for (let above = node?.parent; above; above = above.parent) this.open.add(above);
    return node;
  }

  /** The address follows what is chosen; the step back passes over it. */
  private choose(i: number): void {
    this.at = i;
    const node = this.list!.at(i);
    if (node) this.app.go({ zoom: this.tree!.path(node) }, false);
  }

  /** Down to where the largest part is no longer most of what is above it. */
  private openHotPath(): void {
    const tree = this.tree!;
    let node: TreeNode | undefined = tree.root;
    for (let depth = 0; node && depth < 60; depth++) {
      this.open.add(node);
      const level: Level = tree.level(node);
      const first: TreeNode | undefined = level.order.length ? level.node(level.order.at(0)!) : undefined;
      node = first && Math.abs(first.value) * 2 >= Math.abs(node.value) ? first : undefined;
    }
  }

  /** What is shown of rows, for all that are to be made together. */
  private tell(first: number, last: number): void {
    const nodes: TreeNode[] = [];
    for (let i = first; i < last; i++) if (!this.sums.has(this.list!.at(i)!)) nodes.push(this.list!.at(i)!);
    if (!nodes.length) return;
    const told = this.tree!.tell(nodes, FIGURE_COLUMNS.map((c) => this.column(c.column)));
    nodes.forEach((node, i) => this.sums.set(node, told[i]!));
  }

  private columns = new Map<string, Float64Array>();

  /** A figure by site, of the chosen thread if there is one. */
  private column(name: string): Float64Array {
    let values = this.columns.get(name);
    if (!values) this.columns.set(name, (values = figureColumn(this.app.profile, name, this.tree!.answer)));
    return values;
  }

  /** The children of a node as they are to be shown. What has nothing of the figure is there for its other columns: by name it comes last. */
  private sorted(level: Level, parent: TreeNode): Ranking {
    const { sort } = this.app.state;
    const tree = this.tree!;
    const column = FIGURE_COLUMNS.find((c) => c.id === sort);
    if (column) return level.sorted(sort, () => tree.amountsOf(level, this.column(column.column)));
    if (sort === "blocks") return level.sorted(sort, () => tree.amountsOf(level, tree.figures().blocks));
    if (sort === "self" && !tree.inverted) return level.sorted(sort, () => tree.ownSizesOf(level, tree.figures().values, parent));
    return sort === "name" ? level.sorted(sort, () => level.placesOf(this.app.profile.namePlaces())) : level.order;
  }

  private flatten(chosen: TreeNode | null): void {
    const tree = this.tree!;
    const list = new OpenRows((node) => tree.level(node), (node) => this.open.has(node), (level, node) => this.sorted(level, node), tree.root); // which is always open
    this.list = list;
    this.at = chosen ? list.indexOf(chosen) : Math.min(this.at, Math.max(0, list.count - 1));
    this.rows.element.hidden = !list.count;
    this.rows.set(list.count, (i) => this.makeRow(i), (first, last) => this.tell(first, last));
  }

  private showHead(): void {
    const { figure, sort } = this.app.state;
    clear(this.head.children[1]!, `Share of ${figure === "growth" ? "changes" : figure}`);
    HEADS.forEach(([id], i) => press(this.head.children[i]!, sort === id));
  }

  private makeRow(i: number): Part {
    const node = this.list!.at(i)!;
    const { profile } = this.app;
    const tree = this.tree!;
    const { question: { figure }, lost } = tree.answer;
    const show = (n: number) => (lost ? "–" : amountText(figure, n));
    const sums = this.sums.get(node)!;
    // The function that allocates is the first of an inverted tree; those that follow called it.
    const self = !tree.inverted ? sums.self : node.depth === 1 ? node.value : 0;
    const isOpen = this.open.has(node);
    const leaf = isOpen && tree.level(node).order.length === 0;
    const name = part("span.cell.name", { style: `padding-left:calc(${node.depth - 1} * var(--indent))` },
      part("button.twist", { type: "button", tabindex: -1, "aria-label": isOpen ? "close" : "open" }, leaf ? "·" : isOpen ? "▾" : "▸"),
      part("a", { href: this.app.link({ page: "callers", functions: "", file: 0, zoom: [profile.frameGroup[node.frame]!] }), title: profile.modulePath(node.frame) }, profile.functionName(node.frame)),
      part("span.place", {}, ` ${tree.by === "line" ? profile.place(node.frame) : profile.functionPlace(node.frame)}`));
    return part(`div.row${i === this.at ? ".chosen" : ""}`, { role: "row", "aria-level": node.depth, "aria-expanded": leaf ? undefined : String(isOpen), "data-depth": node.depth, "data-bytes": sums.bytes, "data-blocks": sums.blocks }, name,
      part("span.cell", { title: show(node.value) + this.doubt(node) }, lost ? "–" : `${formatShare(node.value, figure === "growth" ? tree.root.size : tree.root.value)}  ${show(node.value)}`),
      part("span.cell", {}, self ? show(self) : ""),
      part("span.cell", {}, lost ? "–" : (figure === "growth" ? formatMore : formatCount)(sums.blocks)),
      ...FIGURE_COLUMNS.map((c, k) => part("span.cell", { "data-figure": c.id, "data-value": sums.others[k]!, title: this.doubtOf(node, c) }, (c.bytes ? formatBytes : formatCount)(sums.others[k]!))));
  }

  private doubt(node: TreeNode): string {
    const { answer } = this.tree!;
    return answer.variance ? within(this.app, answer, node.value, this.tree!.total(node, answer.variance)) : "";
  }

  /** Of a column beside the figure; what a thread has of it was not kept. */
  private doubtOf(node: TreeNode, c: FigureColumn): string | undefined {
    if (this.tree!.answer.question.thread !== null) return undefined;
    return withinColumn(this.app, c.column, c.bytes, (values) => this.tree!.total(node, values)).trim() || undefined;
  }

  private toggle(i: number): void {
    const node = this.list!.at(i)!;
    if (this.open.has(node)) this.open.delete(node);
    else this.open.add(node);
    this.choose(i);
  }

  private onKey(e: KeyboardEvent): void {
    const node = this.list?.at(this.at);
    if (!node) return;
    const last = this.list!.count - 1;
    const page = Math.max(1, Math.floor(this.rows.element.clientHeight / 24) - 2);
    const steps: Record<string, number> = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: last };
    let next = this.at;
    if (e.key in steps) next = Math.min(last, Math.max(0, steps[e.key]!));
    else if (e.key === "ArrowRight") this.open.add(node);
    else if (e.key === "ArrowLeft") {
      if (!this.open.delete(node) && node.parent && node.parent.depth > 0) next = this.list!.indexOf(node.parent);
    } else if (e.key === "Enter") return this.app.go({ page: "callers", functions: "", file: 0, zoom: [this.app.profile.frameGroup[node.frame]!] });
    else return;
    e.preventDefault();
    this.choose(next);
    this.rows.scrollTo(this.at);
  }
}

export const table: View = { id: "table", title: "Tree", key: "4", create: (app) => new TablePage(app) };

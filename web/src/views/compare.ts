// compare.ts -- two profiles: what grew, what shrank, what is new, what is gone.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { changeColour, cssColour, drawingWidth, isDark } from "../draw/colours.ts";
import { clear, h } from "../draw/dom.ts";
import { part, type Part } from "../draw/fit.ts";
import { formatBytes, formatCount, formatTime } from "../draw/format.ts";
import { boxAt, countRows, flameInk, layOut, paintAhead, painter, ROW, type Box, type IcicleSource } from "../draw/icicle.ts";
import { Rows } from "../draw/rows.ts";
import { Tall } from "../draw/tall.ts";
import type { Header } from "../load/pack.ts";
import { BottomUp } from "../model/bottomup.ts";
import type { CallTree, TreeNode } from "../model/calltree.ts";
import { errorOf } from "../model/interval.ts";
import { countsBlocks } from "../model/question.ts";
import type { Work } from "../model/stacks.ts";
import { TopDown } from "../model/topdown.ts";
import type { Changes, Compared, Union } from "../model/union.ts";
import { makeControls, sentence } from "./controls.ts";
import { makeSheetSaving, svg, type Sheet } from "./saving.ts";

const FACT_LENGTH = 160; // of commands that go on for pages, the beginning

/** What tells two runs apart. */
function aboutRun(when: string, { file, stats, start_unix_ns, duration_ns }: Header): HTMLElement {
  const started = start_unix_ns > 0 ? new Date(start_unix_ns / 1e6).toLocaleString() : "";
  const facts = [file, stats?.["command"] || stats?.["executable"], started, formatTime(duration_ns)].map((fact) => String(fact ?? ""));
  return h("tr", {}, h("th", {}, when), ...facts.map((fact) => h("td", { title: fact }, fact.length > FACT_LENGTH ? `${fact.slice(0, FACT_LENGTH)}…` : fact)));
}

class ComparePage {
  readonly element: HTMLElement;
  private readonly runs = h("table.plain", { id: "compare-runs" });
  private readonly controls;
  private readonly totals = h("p", { id: "compare-totals" });
  private readonly path = h("p.path");
  private readonly note = h("p.note", { id: "compare-note" });
  private readonly graph = new Tall("differential flame graph; arrow keys move, Enter zooms", ROW);
  private readonly area = this.graph.element;
  private readonly card = h("div.hover", { hidden: true });
  private readonly rows = new Rows("changes by function", h("div.row.changes.head", { role: "row" },
    ...["Function", "Change", "Before", "Now", "Difference"].map((title) => h("span.cell", {}, title))));
  private readonly same = h("p.note", { id: "compare-same", hidden: true }, "Nothing changed.");
  private union: Union | null = null;
  private data: Compared | null = null;
  private tree: CallTree | null = null;
  private key = "";
  private turned = false;
  private chosen: TreeNode | null = null;
  private boxes: Box<TreeNode>[] = [];
  private changes: Changes | null = null;
  private drawnWidth = 0;

  constructor(private readonly app: App) {
    this.controls = makeControls(app, { direction: true, ofAll: true });
    this.element = h("div.compare-page", {}, this.controls.element, h("div.search", {}, makeSheetSaving(app, "changes", () => this.sheet(), () => this.drawing())), this.runs, this.totals,
      h("p.note", {}, "Boxes are as wide as both profiles together; orange has grown, blue has shrunk. A click zooms, a click on the top box goes back."), this.note, this.path,
      h("div.canvas", {}, this.area, this.card), h("h2", {}, "Functions that allocate more or less themselves"), this.same, this.rows.element);
    this.area.addEventListener("click", (e) => this.onClick(e));
    this.area.addEventListener("mousemove", (e) => this.onHover(e));
    this.area.addEventListener("mouseleave", () => (this.card.hidden = true));
    this.area.addEventListener("keydown", (e) => this.onKey(e));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.area.clientWidth !== this.drawnWidth && this.draw()).observe(this.area.parentElement!);
  }

  private show(n: number): string {
    return countsBlocks(this.app.state.figure) ? formatCount(n) : formatBytes(n);
  }

  private signed(n: number): string {
    return n > 0 ? `+${this.show(n)}` : n < 0 ? this.show(n) : "same";
  }

  /** By how much a difference may be off. */
  private off(variance: number): string {
    return variance > 0 ? ` (± ${this.show(errorOf(variance))})` : "";
  }

  private offOf(node: TreeNode): string {
    const { variance } = this.data!.both;
    return variance ? this.off(this.tree!.total(node, variance)) : "";
  }

  /** Works out what is asked for now, if that has changed. */
  private ask(): void {
    const { app } = this;
    this.union = app.union();
    const shape = this.union.shape();
    // Threads and times of two runs have nothing to do with each other.
    const question = app.question({ range: null, thread: null });
    const key = `${app.profile.pack.header.generation} ${JSON.stringify(question)}`;
    const { inverted } = app.state;
    if (key === this.key && inverted === this.turned) return;
    if (key !== this.key) {
      this.data?.both.arrays.giveBack(); // the tree that looks at them is replaced below
      this.data = this.union.answer(question, app.profile === this.union.now ? app.answer(question) : null);
      this.fillRows();
    }
    [this.key, this.turned] = [key, inverted];
    this.tree = inverted ? new BottomUp(this.union.reversed(), this.data!.both) : new TopDown(shape, this.data!.both);
    this.chosen = null;
  }

  /** Ahead of time: what the first look at the page would have to wait for. */
  prepare(width: number): Work[] {
    return [{ step: () => (this.ask(), true) }, { step: () => (paintAhead(width, this.picture(), flameInk()), true) }];
  }

  update(): void {
    this.controls.update();
    const { app } = this;
    this.ask();
    const [now, old] = this.data!.totals;
    const { union } = this;
    clear(this.runs, aboutRun("Before", union!.old.pack.header), aboutRun("Now", union!.now.pack.header));
    const { lost } = this.data!.both;
    clear(this.totals, lost ? sentence(lost) : `Before ${this.show(old)}, now ${this.show(now)}: ${this.signed(now - old)}${this.offOf(this.tree!.root)}`);
    this.totals.dataset["now"] = String(now);
    this.totals.dataset["old"] = String(old);
    clear(this.note, app.range || app.state.thread ? "Whole recordings, all threads: a range or a thread holds for one profile alone." : "");
    this.showPath();
    this.draw();
  }

  private top(): TreeNode {
    return this.tree!.find(this.app.state.pair) ?? this.tree!.root;
  }

  private nameOf(node: TreeNode): string {
    return node.frame < 0 ? "everything" : this.union!.functionName(node.frame);
  }

  private showPath(): void {
    const { app } = this;
    const { pair } = app.state;
    const steps = pair.filter((id) => id < this.union!.frameGroup.length).map((id, i) => h("a", { href: app.link({ pair: pair.slice(0, i + 1) }) }, this.union!.functionName(id)));
    clear(this.path, pair.length ? h("a", { href: app.link({ pair: [] }), id: "compare-out" }, "all") : null, ...steps.flatMap((s) => [" › ", s]));
  }

  /** The new profile's part of nodes. */
  private nowOf(): (node: TreeNode) => number {
    return this.tree!.adderOfFirst(this.union!.now.siteCount);
  }

  private sides(node: TreeNode): [number, number] {
    const now = this.nowOf()(node);
    return [now, node.value - now];
  }

  private picture(dark = isDark()): IcicleSource<TreeNode> {
    const tree = this.tree!;
    const same = dark === isDark() ? cssColour("--panel") : "#f5f6f8"; // on paper
    const nowOf = this.nowOf();
    return {
      root: this.top(),
      size: (n) => n.size,
      children: (n, least) => tree.open(n, least),
      label: (n) => this.nameOf(n),
      colour: (n) => {
        const now = nowOf(n);
        const old = n.value - now;
        return now === old ? same : changeColour((now - old) / Math.max(now, old, 1), dark);
      },
      isMarked: (n) => n === this.chosen,
    };
  }

  private draw(): void {
    if (!this.tree || !this.area.clientWidth) return;
    this.drawnWidth = drawingWidth(this.area);
    const source = this.picture();
    this.boxes = layOut(source, this.drawnWidth);
    this.graph.show(countRows(this.boxes), painter(this.drawnWidth, source, this.boxes, flameInk()));
  }

  private at(e: MouseEvent): TreeNode | null {
    const r = this.area.getBoundingClientRect();
    return boxAt(this.boxes, e.clientX - r.left, e.clientY - r.top)?.node ?? null;
  }

  private onClick(e: MouseEvent): void {
    const node = this.at(e);
    if (node) this.app.go({ pair: node === this.top() ? [] : this.tree!.path(node) });
  }

  private onKey(e: KeyboardEvent): void {
    const now = this.chosen ?? this.top();
    const inside = (n: TreeNode) => this.tree!.open(n).filter((child) => child.size > 0);
    const siblings = now.parent ? inside(now.parent) : [now];
    const beside = (step: number) => siblings[siblings.indexOf(now) + step] ?? now;
    if (e.key === "ArrowUp") this.chosen = now.parent ?? now;
    else if (e.key === "ArrowDown") this.chosen = inside(now)[0] ?? now;
    else if (e.key === "ArrowLeft") this.chosen = beside(-1);
    else if (e.key === "ArrowRight") this.chosen = beside(1);
    else if (e.key === "Enter") return this.app.go({ pair: this.tree!.path(now) });
    else if (e.key === "Escape") {
      this.chosen = null;
      return this.app.go({ pair: [] });
    } else return;
    e.preventDefault();
    this.fillCard(this.chosen);
    this.draw();
  }

  private fillCard(node: TreeNode): void {
    this.card.hidden = false;
    clear(this.card, h("strong", {}, this.nameOf(node)), h("div", {}, this.told(node)));
  }

  private told(node: TreeNode): string {
    const [now, old] = this.sides(node);
    return `before ${this.show(old)}, now ${this.show(now)}: ${this.signed(now - old)}${this.offOf(node)}`;
  }

  private onHover(e: MouseEvent): void {
    const node = this.at(e);
    if (!node) return void (this.card.hidden = true);
    this.fillCard(node);
    const box = this.area.parentElement!.getBoundingClientRect();
    this.card.style.left = `${Math.min(e.clientX - box.left + 12, Math.max(0, box.width - 380))}px`;
    this.card.style.top = `${e.clientY - box.top + 16}px`;
  }

  private fillRows(): void {
    const changes = (this.changes = this.union!.changes(this.data!));
    this.rows.element.hidden = !changes.order.length;
    this.same.hidden = changes.order.length > 0;
    this.rows.set(changes.order.length, (i) => this.makeRow(changes.differing[changes.order.at(i)!]!));
  }

  private sheet(): Sheet {
    const { order, differing, now, old } = this.changes!;
    const ids = order.slice(Infinity).map((place) => differing[place]!);
    return { head: ["old", "now", "difference", "function", "module"], rows: ids.map((id) => [old[id]!, now[id]!, now[id]! - old[id]!, this.union!.functionName(id), this.union!.moduleName(id)]) };
  }

  private drawing(): string {
    const { label, colour } = this.picture(false);
    return svg({ heading: `${this.app.state.figure}: ${this.totals.textContent}`, boxes: this.boxes, width: this.drawnWidth, label, colour, title: (n) => `${label(n)}: ${this.told(n)}` });
  }

  private makeRow(id: number): Part {
    const u = this.union!;
    const { variance } = this.changes!;
    const [now, old] = [this.changes!.now[id]!, this.changes!.old[id]!];
    const status = old === 0 ? "new" : now === 0 ? "gone" : now > old ? "grown" : "shrunk";
    return part("div.row.changes", { role: "row", "data-old": old, "data-now": now },
      part("span.cell.name", {}, u.functionName(id), part("span.place", {}, ` ${u.moduleName(id)}`)),
      part("span.cell", {}, status), part("span.cell", {}, this.show(old)), part("span.cell", {}, this.show(now)), part("span.cell", { title: this.signed(now - old) + this.off(variance?.[id] ?? 0) }, this.signed(now - old)));
  }
}

export const compare: View = { id: "compare", title: "Compare", key: "c", isPossible: (app) => app.old !== null, create: (app) => new ComparePage(app) };

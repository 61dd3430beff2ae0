// callers.ts -- all functions, and the callers and callees of the chosen one.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h, press } from "../draw/dom.ts";
import { part, type Part } from "../draw/fit.ts";
import { formatCount, formatShare } from "../draw/format.ts";
import { Rows } from "../draw/rows.ts";
import { appendInPieces } from "../idle.ts";
import { allFunctions, findCallers, rankFunctions, type Callers, type Functions, type Neighbour } from "../model/callers.ts";
import { wholeOf, type Answer } from "../model/question.ts";
import type { Ranking } from "../model/ranking.ts";
import type { Work } from "../model/stacks.ts";
import type { State } from "../state.ts";
import { amountText, OF_CHANGES } from "./amount.ts";
import { makeControls, nothing, sentence } from "./controls.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import { within } from "./within.ts";

const NEIGHBOURS = 100; // at most, of either kind
const FIRST = 16; // of either: those in sight

class CallersPage {
  readonly element: HTMLElement;
  private readonly controls;
  private readonly heads = (["self", "total"] as const).map((id) => h("button.cell", { type: "button", id: `sort-${id}`, onclick: () => this.app.go({ sort: id }) }, id === "self" ? "Self" : "With callees"));
  private readonly head = h("div.row.head.functions", { role: "row" }, h("span.cell", {}, "Function"), ...this.heads);
  private readonly rows = new Rows("functions", this.head);
  private readonly side = h("div.neighbours", { id: "neighbours" });
  private answer: Answer | null = null;
  private whole = 0; // what shares are of
  private all: Functions | null = null;
  private list: Uint32Array = new Uint32Array(0); // of those: groups that the search leaves
  private order: Ranking | null = null; // of these
  private found: { answer: Answer | null; group: number; callers: Callers | null } = { answer: null, group: -1, callers: null };
  private readonly search: HTMLInputElement;
  private readonly about = h("p.note", { id: "functions-note", hidden: true });
  private readonly count = h("output", { id: "functions-found" });

  constructor(private readonly app: App) {
    this.controls = makeControls(app, { direction: false });
    this.search = h("input.page-search", { type: "search", id: "function-search", placeholder: "search functions (/)", "aria-label": "search for a function" }) as HTMLInputElement;
    this.search.addEventListener("input", () => app.go({ search: this.search.value }, false));
    this.element = h("div.callers-page", {}, this.controls.element, h("div.search", {}, this.search, " ", this.count, " ", makeSheetSaving(app, "functions", () => this.sheet())),
      this.about, h("div.split", {}, h("div", {}, this.rows.element), this.side));
  }

  private show(n: number): string {
    return amountText(this.app.state.figure, n);
  }

  update(): void {
    this.controls.update();
    this.ask();
    const sort = this.app.state.sort === "total" ? "total" : "self";
    this.choose();
    this.order = rankFunctions(this.all!, this.list, sort);
    this.heads.forEach((button) => press(button, button.id === `sort-${sort}`));
    this.tell();
    this.rows.set(this.list.length, (i) => this.makeRow(this.groupAt(i)));
    this.showNeighbours();
  }

  /** What the list cannot say itself. */
  private tell(): void {
    const { figure } = this.answer!.question;
    clear(this.about, ...(!this.all!.groups.length ? nothing(this.app) : [figure === "growth" && OF_CHANGES]));
    this.about.hidden = !this.about.textContent;
    this.rows.element.hidden = !this.all!.groups.length;
    this.side.hidden = this.rows.element.hidden;
  }

  private ask(): void {
    const answer = this.app.answer();
    if (answer === this.answer) return;
    this.answer = answer;
    this.all = allFunctions(this.app.profile, answer);
    this.whole = wholeOf(answer);
  }

  /** Ahead of time: what the first look at the page would have to wait for. */
  prepare(): Work[] {
    return [{ step: () => (this.ask(), true) }];
  }

  /** Those that the search leaves. */
  private choose(): void {
    const { search } = this.app.state;
    if (document.activeElement !== this.search) this.search.value = search;
    const hits = search ? this.app.profile.search(search) : null;
    const { groups } = this.all!;
    this.list = hits ? groups.filter((group) => hits[group]) : groups;
    clear(this.count, hits ? `${formatCount(this.list.length)} of ${formatCount(groups.length)} functions` : `${formatCount(groups.length)} functions`);
  }

  private groupAt(i: number): number {
    return this.list[this.order!.at(i)!]!;
  }

  private sheet(): Sheet {
    const { profile } = this.app;
    const groups = Array.from(this.list, (_, i) => this.groupAt(i));
    return { head: ["self", "total", "function", "module"], rows: groups.map((group) => [this.all!.self[group]!, this.all!.total[group]!, profile.functionName(group), profile.modulePath(group)]) };
  }

  private makeRow(group: number): Part {
    const { app } = this;
    const { self, total, selfVariance, totalVariance } = this.all!;
    const chosen = app.state.zoom[0] === group;
    return part(`div.row.functions${chosen ? ".chosen" : ""}`, { role: "row", "data-self": self[group]!, "data-total": total[group]! },
      part("span.cell.name", {}, part("a", { href: app.link({ zoom: [group] }), "aria-current": chosen ? "true" : undefined, title: app.profile.modulePath(group) }, app.profile.functionName(group)),
        part("span.place", {}, ` ${app.profile.moduleName(group)}`)),
      this.figure(self[group]!, selfVariance?.[group] ?? 0),
      this.figure(total[group]!, totalVariance?.[group] ?? 0));
  }

  private figure(value: number, variance: number): Part {
    const text = value ? `${formatShare(value, this.whole)}  ${this.show(value)}` : "";
    return part("span.cell", { title: text + within(this.app, this.answer!, value, variance) }, text);
  }

  private neighbours(title: string, list: Neighbour[], total: number, none: string): HTMLElement {
    const { profile } = this.app;
    const body = h("tbody");
    const row = (n: Neighbour) => h("tr", {},
      h("td.number", {}, formatShare(n.value, total)), h("td.number", {}, this.show(n.value)),
      h("td", {}, n.group < 0 ? none : this.way({ zoom: [n.group] }, profile.functionName(n.group))));
    appendInPieces(body, Math.min(list.length, NEIGHBOURS), (i) => row(list[i]!), FIRST);
    return h("section", {}, h("h3", {}, title), h("table.plain", {}, body));
  }

  private totalOf(group: number, found: Callers): string {
    if (this.answer!.lost) return sentence(this.answer!.lost);
    const { totalVariance, selfVariance } = this.all!;
    const doubt = (value: number, variance = 0) => this.show(value) + within(this.app, this.answer!, value, variance);
    return `${doubt(found.total, totalVariance?.[group])} with callees, ${doubt(found.self, selfVariance?.[group])} by itself.`;
  }

  private ways: [link: HTMLElement, change: Partial<State>][] = []; // from the chosen function

  private way(change: Partial<State>, text: string): HTMLElement {
    const link = h("a", { href: this.app.link(change) }, text);
    this.ways.push([link, change]);
    return link;
  }

  /** What is shown is the same: where it leads to has another search, or another order. */
  private linkNeighbours(): void {
    for (const [link, change] of this.ways) link.setAttribute("href", this.app.link(change));
  }

  private showNeighbours(): void {
    const { app } = this;
    const group = app.state.zoom[0];
    if (group === undefined || group >= app.profile.frameCount) {
      this.found = { answer: null, group: -1, callers: null };
      return clear(this.side, h("p.note", {}, "Choose a function to see who calls it and what it calls."));
    }
    if (this.found.answer === this.answer && this.found.group === group) return this.linkNeighbours();
    this.found = { answer: this.answer, group, callers: findCallers(app.profile, this.answer!, group) };
    this.ways = [];
    const found = this.found.callers!;
    // The parts of a change can be more than it, and less than nothing.
    const whole = this.answer!.question.figure === "growth" ? this.whole : found.total;
    const file = app.profile.frameFile[group]!;
    clear(this.side, h("h2", {}, app.profile.functionName(group)),
      h("p", { id: "chosen-figures" }, this.totalOf(group, found), " ",
        file ? this.way({ page: "source", file, line: app.profile.frameLine[group]! }, app.profile.functionPlace(group)) : ""),
      this.neighbours("Callers", found.callers, whole, "(none: the program or thread starts here)"),
      found.callees.length > 0 && this.neighbours("Callees", found.callees, whole, ""));
  }
}

export const callers: View = { id: "callers", title: "Functions", key: "5", create: (app) => new CallersPage(app) };

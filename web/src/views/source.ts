// source.ts -- source files with what their lines come to in the margin.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatShare } from "../draw/format.ts";
import { LongTable } from "../draw/longtable.ts";
import { Highlighter, languageOf } from "../draw/syntax.ts";
import { appendInPieces } from "../idle.ts";
import { allFiles, doubtsOf, hottestFrames, linesOf, type FileFigures, type LineFigures } from "../model/lines.ts";
import { wholeOf, type Answer } from "../model/question.ts";
import type { Work } from "../model/stacks.ts";
import { amountText } from "./amount.ts";
import { makeControls, nothing, sentence } from "./controls.ts";
import { within } from "./within.ts";

const FILES_SHOWN = 300;

interface Place {
  file: number; // 0: none
  line: number;
}

const TRIED = 8; // files that a server is asked for, until one can be read

/** Where to begin: the lines of the program that most comes from, then the files that allocate most; one of each file. */
function hottestPlaces(app: App, answer: Answer, list: FileFigures[]): Place[] {
  const { frameFile, frameLine } = app.profile;
  const hot = hottestFrames(app.profile, answer).filter(({ frame }) => frameFile[frame]).map(({ frame }): Place => ({ file: frameFile[frame]!, line: frameLine[frame]! }));
  const places = new Map<number, Place>();
  for (const place of [...hot, ...list.map(({ file }): Place => ({ file, line: 0 }))]) if (!places.has(place.file)) places.set(place.file, place);
  return [...places.values()];
}

class SourcePage {
  readonly element: HTMLElement;
  private readonly controls;
  private readonly files = h("nav.files", { "aria-label": "Source files" });
  private readonly text = h("div.source", { id: "source-text", tabindex: 0, role: "region", "aria-label": "source lines" });
  private request = 0;
  private table: LongTable | null = null;
  private rows: number[] = []; // of the table: lines, 0 where some are left out
  private doubts: Map<number, LineFigures> | null = null; // of the lines in sight
  private listed: { answer: Answer; list: FileFigures[]; doubts: Map<number, FileFigures>; hottest: Place[]; whole: number } | null = null;

  constructor(private readonly app: App) {
    this.controls = makeControls(app, { direction: false });
    this.element = h("div.source-page", {}, this.controls.element, h("div.split.wide", {}, this.files, this.text));
    this.text.addEventListener("scroll", () => this.table?.draw());
    new ResizeObserver(() => this.table?.draw()).observe(this.text);
  }

  private show(n: number): string {
    return amountText(this.app.state.figure, n);
  }

  private within(value: number, variance: number | undefined): string {
    return variance ? within(this.app, this.app.answer(), value, variance) : "";
  }

  update(): void {
    this.controls.update();
    this.listFiles();
    this.showFiles();
    void this.showFile();
  }

  /** What the address names, or else where most comes from. */
  private place(): Place {
    const { file, line } = this.app.state;
    return file ? { file, line } : (this.listed!.hottest[0] ?? { file: 0, line: 0 });
  }

  private listFiles(): void {
    const answer = this.app.answer();
    if (this.listed?.answer === answer) return;
    const list = allFiles(this.app.profile, answer);
    const doubts = answer.variance ? allFiles(this.app.profile, { ...answer, values: answer.variance }) : [];
    this.listed = { answer, list, doubts: new Map(doubts.map((f) => [f.file, f])), hottest: hottestPlaces(this.app, answer, list), whole: wholeOf(answer) };
  }

  /** Ahead of time: what the first look at the page would have to wait for. */
  prepare(): Work[] {
    return [{ step: () => (this.listFiles(), true) }];
  }

  /** What is listed, whichever file of it is shown. */
  private listKey = "";
  private listShown: FileFigures[] | null = null;

  /** The list stays if only another file of it is chosen. */
  private showFiles(): void {
    const key = this.app.link({ file: 0, line: 0 });
    if (key !== this.listKey || this.listed!.list !== this.listShown) this.fillFiles();
    [this.listKey, this.listShown] = [key, this.listed!.list];
    const { file } = this.place();
    for (const link of this.files.querySelectorAll("a[aria-current]")) link.removeAttribute("aria-current");
    this.files.querySelector(`a[data-file="${file}"]`)?.setAttribute("aria-current", "true");
  }

  private fillFiles(): void {
    const { app } = this;
    const { list, doubts } = this.listed!;
    const doubtful = (f: FileFigures, key: "self" | "total"): string => this.show(f[key]) + this.within(f[key], doubts.get(f.file)?.[key]);
    const { profile } = app;
    const item = (f: FileFigures) => h("li", {},
      h("a", { href: app.link({ file: f.file, line: 0 }), title: profile.text(f.file), "data-file": f.file, "aria-current": f.file === this.place().file ? "true" : undefined }, profile.text(f.file).split("/").slice(-2).join("/")),
      h("span.note", { title: `${doubtful(f, "self")} allocated here, ${doubtful(f, "total")} with what is called from here` }, `${this.show(f.self)} of ${this.show(f.total)}`));
    const { lost } = this.listed!.answer;
    if (lost) return clear(this.files, sentence(lost));
    const items = h("ul");
    appendInPieces(items, Math.min(list.length, FILES_SHOWN), (i) => item(list[i]!));
    clear(this.files, ...(list.length ? [items] : this.listed!.whole ? ["No stack has source lines: the program has no debug information."] : nothing(this.app)));
  }

  private async showFile(): Promise<void> {
    const { app } = this;
    const request = ++this.request;
    this.text.hidden = !this.place().file;
    if (this.text.hidden) return clear(this.text);
    this.table = null;
    const lines = await this.readLines(request);
    if (request !== this.request) return; // the user has gone on
    const { file } = this.place();
    const path = app.profile.text(file);
    const figures = linesOf(app.profile, app.answer(), file);
    this.doubts = doubtsOf(app.profile, app.answer(), file);
    const why = app.source.embedded && !app.source.hasSources ? "This page has no sources (`midden html --sources` puts them in)" : "The file cannot be read here";
    clear(this.text, h("h2", {}, path), lines ? null : h("p.note", {}, `${why}; its lines are shown by number.`),
      lines ? this.makeLines(path, lines, figures) : this.makeNumbers(figures));
    this.showLine();
  }

  /** Of the file that is shown. Where none was asked for, the first that can be read is; if none can, the first of all. */
  private async readLines(request: number): Promise<Map<number, string> | null> {
    const { app, listed } = this;
    const read = ({ file }: Place): Promise<Map<number, string> | null> => app.source.lines(app.profile.text(file), app.profile.frameFile.indexOf(file));
    if (app.state.file) return read(this.place());
    for (const place of listed!.hottest.filter(({ file }) => app.source.mayHave(app.profile.text(file))).slice(0, TRIED)) {
      const lines = await read(place);
      if (request !== this.request) return null;
      if (!lines) continue;
      listed!.hottest = [place];
      this.showFiles();
      return lines;
    }
    return null;
  }

  private showLine(): void {
    const { line } = this.place();
    const row = line ? this.rows.indexOf(line) : -1;
    if (row >= 0) this.table?.show(row);
    else this.table?.draw();
  }

  private margin(f: LineFigures | undefined, number: number): HTMLElement[] {
    const doubt = this.doubts?.get(number);
    const cell = (n: number, variance?: number) => h("td.number", { title: this.show(n) + this.within(n, variance) }, n ? this.show(n) : "");
    const strength = f ? Math.min(1, Math.abs(f.total) / Math.max(1, Math.abs(this.listed!.whole))) : 0;
    const cells = [cell(f?.self ?? 0, doubt?.self), cell(f?.total ?? 0, doubt?.total)];
    if (f) cells[1]!.setAttribute("style", `background:color-mix(in srgb, var(--chart3) ${Math.round(10 + 60 * strength)}%, transparent)`);
    return cells;
  }

  private callersLink(f: LineFigures | undefined, number: number): HTMLElement | string {
    if (!f) return String(number);
    const { app } = this;
    const group = app.profile.frameGroup[f.frame]!;
    return h("a", { href: app.link({ page: "callers", zoom: [group] }), title: `${formatShare(f.total, this.listed!.whole)}: who calls ${app.profile.functionName(group)}` }, String(number));
  }

  private makeTable(rows: number[], makeCode: (number: number, f: LineFigures | undefined) => HTMLElement, figures: Map<number, LineFigures>): HTMLElement {
    this.rows = rows;
    this.table = new LongTable(this.text, rows.length, (row) => {
      const number = rows[row]!;
      if (!number) return h("tr.gap", {}, h("td", { colspan: 4 }, "…"));
      const f = figures.get(number);
      return h(`tr${number === this.place().line ? ".chosen" : ""}`, { id: `line-${number}` }, ...this.margin(f, number), h("td.number.line", {}, this.callersLink(f, number)), makeCode(number, f));
    });
    return h("table.lines", {}, this.head(), this.table.body);
  }

  private makeLines(path: string, lines: Map<number, string>, figures: Map<number, LineFigures>): HTMLElement {
    const highlighter = new Highlighter(languageOf(path), [...lines.values()]);
    const numbers = [...lines.keys()];
    const places = new Map(numbers.map((number, i) => [number, i]));
    const rows = numbers.flatMap((number, i) => (i && number !== numbers[i - 1]! + 1 ? [0, number] : [number]));
    const code = (number: number): HTMLElement => h("td.code", {}, ...highlighter.at(places.get(number)!).map((t) => (t.kind ? h(`span.${t.kind}`, {}, t.text) : t.text)));
    return this.makeTable(rows, code, figures);
  }

  /** Without the text: only the lines that something comes from. */
  private makeNumbers(figures: Map<number, LineFigures>): HTMLElement {
    const rows = [...figures.keys()].sort((a, b) => a - b);
    return this.makeTable(rows, (_, f) => h("td.code", {}, this.app.profile.functionName(f!.frame)), figures);
  }

  private head(): HTMLElement {
    return h("thead", {}, h("tr", {}, h("th", {}, "Self"), h("th", {}, "With callees"), h("th", {}, "Line"), h("th", {}, "")));
  }
}

export const source: View = { id: "source", title: "Source", key: "6", create: (app) => new SourcePage(app) };

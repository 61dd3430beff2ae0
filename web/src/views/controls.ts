// controls.ts -- the question at hand, to be changed: figure, thread, filters.
// SPDX-License-Identifier: Apache-2.0

import type { App } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatTime } from "../draw/format.ts";
import type { Profile } from "../model/profile.ts";
import { COLUMNS, figuresOf, isOfPages, isTimed, MAP_KINDS, totalOf, type Figure, type Question } from "../model/question.ts";
import { isWithin, lookOf } from "../model/resident.ts";

export const FIGURE_NAMES: Record<Figure, string> = {
  peak: "Peak",
  leaked: "Leaked",
  allocated: "Allocated bytes",
  calls: "Calls",
  temporary: "Temporary",
  live: "Live at a time",
  growth: "Growth",
  resident: "Resident",
  pinned: "Pinned",
};

export interface ControlOptions {
  direction: boolean; // inverted
  lines?: boolean; // by line
  shape?: boolean; // fold recursion, by thread
  ofAll?: boolean; // the page shows whole recordings and all threads, whatever is chosen
}

type Options = [value: string, text: string][];

/** A list to choose from. It stays the same element, so that who uses the keyboard stays in it. */
export class Choice {
  readonly element: HTMLElement;
  private readonly select: HTMLSelectElement;
  private options: Options | null = null;
  private listed = "";

  constructor(label: string, id: string, take: (v: string) => void) {
    this.select = h("select", { id, onchange: () => take(this.select.value) }) as HTMLSelectElement;
    this.element = h("label", {}, `${label} `, this.select);
  }

  /** No options: it is not to be seen. */
  show(options: Options | null, value: string): void {
    this.element.hidden = !options;
    if (!options) return;
    const key = options === this.options ? this.listed : JSON.stringify(options);
    if (key !== this.listed) clear(this.select, ...options.map(([v, text]) => h("option", { value: v }, text)));
    [this.options, this.listed] = [options, key];
    if (this.select.value !== value) this.select.value = value;
  }

  /** `why`, in words, there is nothing to choose; "": there is. */
  block(why: string): void {
    this.select.disabled = why !== "";
    this.element.title = why;
  }
}

class Tick {
  readonly element: HTMLElement;
  private readonly box: HTMLInputElement;

  constructor(label: string, id: string, take: (v: boolean) => void) {
    this.box = h("input", { type: "checkbox", id, onchange: () => take(this.box.checked) }) as HTMLInputElement;
    this.element = h("label", {}, this.box, ` ${label}`);
  }

  show(isPossible: boolean, value: boolean): void {
    this.element.hidden = !isPossible;
    this.box.checked = value;
  }
}

/** Of a profile they stay the same, and every page asks for them at every click. */
function remembered(make: (p: Profile) => Options): (app: App) => Options {
  const known = new WeakMap<Profile, Options>();
  return ({ profile }) => {
    let options = known.get(profile);
    if (!options) known.set(profile, (options = make(profile)));
    return options;
  };
}

const threadOptions = remembered((p) => [["0", "all threads"], ...[...p.pack.u32("thread.serial")].map((s, i): [string, string] => [String(s), p.threadName(i)])]);

function modulesOf(profiles: Profile[]): Options {
  const names = new Set(profiles.flatMap((p) => p.modules()));
  return [["", "all modules"], ...[...names].sort().map((m): [string, string] => [m, m])];
}

const moduleOptions = remembered((p) => modulesOf([p]));

export function wholeButton(app: App): HTMLElement {
  return h("button", { type: "button", id: "whole-range", onclick: () => app.go({ from: -1, to: -1, zoom: [] }) }, "whole recording");
}

/** The chosen range in words; "": there is none. */
export function rangeText(app: App): string {
  if (!app.range) return "";
  const { from, to } = app.range;
  const times = app.blocks.pack.f64("point.time_ns");
  return from === to ? `at ${formatTime(times[to]!)}` : `${formatTime(times[from]!)} to ${formatTime(times[to]!)}`;
}

/** Blocks or maps; null if there are no maps. Comparisons are of blocks. */
function mapsOptions(app: App): Options | null {
  if (!app.hasMaps || app.state.page === "compare") return null;
  return [["", "blocks"], ["all", "maps"], ...MAP_KINDS.map((k): [string, string] => [k, `maps: ${k}`])];
}

/** Which look at the heap's pages, if there are several; those within the range first, unless it is all the same (`ofAll`). */
export function lookChoice(app: App, ofAll = false): { element: HTMLElement; update(): void } {
  const choice = new Choice("Look", "look", (v) => app.go({ look: Number(v), zoom: [], site: -1 }));
  const update = (): void => {
    const { profile } = app;
    const range = ofAll ? null : app.range;
    const looks = profile.looks().map((look) => ({ look, isIn: !range || isWithin(profile, look, range) }));
    const options = [...looks.filter((l) => l.isIn), ...looks.filter((l) => !l.isIn)].map(({ look, isIn }): [string, string] => [String(look.index), `${look.title}, ${formatTime(look.time_ns)}${look.aside}${isIn ? "" : " (outside)"}`]);
    choice.show(looks.length < 2 ? null : options, String(lookOf(profile, app.state.look, range)?.index ?? ""));
  };
  return { element: choice.element, update };
}

/** Words that stand alone. */
export const sentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

/** Of a program that allocated nothing while it was recorded. */
export const NO_BLOCKS = "Nothing to show: the program allocated nothing while it was recorded.";

/** Why a page of stacks is empty, and which figures would not be. */
export function nothing(app: App): (string | HTMLElement)[] {
  const { lost } = app.answer();
  if (lost) return [sentence(lost)];
  const { thread, module, functions } = app.question();
  if (!app.profile.siteCount && !app.state.maps) return [NO_BLOCKS];
  const filters = [thread && "of this thread", module && `through ${module}`, functions && `with “${functions}”`].filter(Boolean);
  const others = figuresOf(app.profile).filter((figure) => COLUMNS[figure] && figure !== app.state.figure && totalOf(app.profile, app.question({ figure })) !== 0);
  const links = others.flatMap((figure, i) => [i ? ", " : " There is something of: ", h("a", { href: app.link({ figure, zoom: [] }) }, FIGURE_NAMES[figure])]);
  return [`Nothing to show: no stack${filters.length ? ` ${filters.join(" and ")}` : ""} has anything of this figure.`, ...links, ...(links.length ? ["."] : [])];
}

function inWords(app: App, options: ControlOptions, range: string): string {
  const s = app.state;
  const thread = threadOptions(app).find(([serial]) => serial === String(app.question().thread));
  const ticks: [boolean | undefined, boolean, string][] = [[options.direction, s.inverted, "inverted"], [options.lines, s.byLine, "by line"], [options.shape, s.fold, "recursion folded"], [options.shape, s.byThread, "by thread"]];
  return [FIGURE_NAMES[s.figure] + (s.maps ? ` of maps${s.maps === "all" ? "" : `: ${s.maps}`}` : ""), range, thread?.[1], s.module, s.functions && `only stacks with ${s.functions}`, ...ticks.map(([has, is, text]) => has && is && text)].filter(Boolean).join(", ");
}

/** Why no thread can be chosen, in words; "": it can. */
function notApart(q: Question): string {
  return isTimed(q) ? `all threads: they are not told apart ${isOfPages(q.figure) ? "here" : "over time"}` : "";
}

/** The bar above a page. */
export function makeControls(app: App, options: ControlOptions): { element: HTMLElement; update(): void } {
  const maps = new Choice("Of", "of-maps", (v) => app.go({ maps: v, zoom: [], thread: 0 }));
  const figure = new Choice("Figure", "figure", (v) => app.go({ figure: v as Figure, zoom: [] }));
  const look = lookChoice(app, options.ofAll);
  const thread = new Choice("Thread", "thread", (v) => app.go({ thread: Number(v), zoom: [] }));
  const module = new Choice("Module", "module", (v) => app.go({ module: v, zoom: [] }));
  const inverted = new Tick("inverted", "inverted", (v) => app.go({ inverted: v, zoom: [] }));
  const byLine = new Tick("by line", "by-line", (v) => app.go({ byLine: v, zoom: [] }));
  const fold = new Tick("fold recursion", "fold", (v) => app.go({ fold: v, zoom: [] }));
  const byThread = new Tick("by thread", "by-thread", (v) => app.go({ byThread: v, zoom: [] }));
  const filter = h("input", {
    type: "search", id: "functions", placeholder: "only stacks with…", "aria-label": "only stacks with this function",
    onchange: (e) => app.go({ functions: (e.target as HTMLInputElement).value, zoom: [] }),
  }) as HTMLInputElement;
  const facts = h("span.facts");
  const words = h("p.paper"); // what the choices say, for those who cannot see them
  const parts = [maps, figure, look, thread, module, inverted, byLine, fold, byThread].map((part) => part.element);
  const element = h("form.controls", { onsubmit: (e) => e.preventDefault() }, ...parts, filter, facts, words);
  const update = (): void => {
    const s = app.state;
    if (document.activeElement !== filter) filter.value = s.functions;
    maps.show(mapsOptions(app), s.maps);
    figure.show(figuresOf(app.profile).filter((f) => f === s.figure || !options.ofAll || app.range || (f !== "live" && f !== "growth")).map((f) => [f, FIGURE_NAMES[f]]), s.figure); // of two runs no time is the same
    look.update();
    look.element.hidden ||= !isOfPages(s.figure);
    const blocked = notApart(app.question());
    thread.show(s.maps || s.page === "compare" ? null : threadOptions(app), blocked ? "0" : String(s.thread)); // two runs' threads have nothing in common
    thread.block(blocked);
    module.show(options.ofAll && app.old ? modulesOf([app.profile, app.old]) : moduleOptions(app), s.module);
    inverted.show(options.direction, s.inverted);
    byLine.show(Boolean(options.lines), s.byLine);
    fold.show(Boolean(options.shape), s.fold);
    byThread.show(Boolean(options.shape) && !s.maps, s.byThread);
    const range = rangeText(app);
    const answer = app.answer(app.question(options.ofAll ? { range: null, thread: null } : {}));
    const note = [answer.note, s.thread && !options.ofAll && blocked].filter(Boolean).join("; ");
    const isOfMaps = app.profile !== app.blocks;
    clear(words, inWords(app, options, isOfMaps ? "" : range));
    clear(facts, range && h("span.range", {}, isOfMaps ? `maps are kept without times: the whole recording, not ${range}` : range, " ", wholeButton(app)),
      range && note ? " " : "", note && h("span.note", { id: "answer-note" }, note));
  };
  return { element, update };
}

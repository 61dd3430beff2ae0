// controls.ts -- the question at hand, to be changed: figure, thread, filters.
// SPDX-License-Identifier: Apache-2.0

import type { App } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatTime } from "../draw/format.ts";
import { figuresOf, isOfPages, MAP_KINDS, type Figure } from "../model/question.ts";

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
}

export function choice(label: string, id: string, value: string, options: [string, string][], take: (v: string) => void): HTMLElement {
  const select = h("select", { id, onchange: (e) => take((e.target as HTMLSelectElement).value) },
    ...options.map(([v, text]) => h("option", { value: v, selected: v === value }, text)));
  return h("label", {}, `${label} `, select);
}

function tick(label: string, id: string, value: boolean, take: (v: boolean) => void): HTMLElement {
  return h("label", {}, h("input", { type: "checkbox", id, checked: value, onchange: (e) => take((e.target as HTMLInputElement).checked) }), ` ${label}`);
}

function threadOptions(app: App): [string, string][] {
  const serials = [...app.profile.pack.u32("thread.serial")];
  return [["0", "all threads"], ...serials.map((s, i): [string, string] => [String(s), app.profile.threadName(i)])];
}

function moduleOptions(app: App): [string, string][] {
  return [["", "all modules"], ...[...app.profile.modules()].sort().map((m): [string, string] => [m, m])];
}

function rangeText(app: App): string {
  const { from, to } = app.state;
  if (from < 0) return "";
  const times = app.profile.pack.f64("point.time_ns");
  return from === to ? `at ${formatTime(times[to]!)}` : `${formatTime(times[from]!)} to ${formatTime(times[to]!)}`;
}

/** Blocks or maps; null if there are no maps. Comparisons are of blocks. */
function mapsChoice(app: App): HTMLElement | null {
  if (!app.maps || app.state.page === "compare") return null;
  return choice("Of", "maps", app.state.maps, [["", "blocks"], ["all", "maps"], ...MAP_KINDS.map((k): [string, string] => [k, `maps: ${k}`])], (v) => app.go({ maps: v, zoom: [], thread: 0 }));
}

/** Which look at the heap's pages; null if there is only one. */
export function lookChoice(app: App): HTMLElement | null {
  const looks = app.profile.looks();
  if (looks.length < 2) return null;
  const shown = app.profile.findLook(app.state.look)!;
  return choice("Look", "look", String(shown.index), looks.map((l): [string, string] => [String(l.index), `${l.title}, ${formatTime(l.time_ns)}`]), (v) => app.go({ look: Number(v), zoom: [], site: -1 }));
}

/** The bar above a page. Rebuilt when the state changes, but not under the user's cursor. */
export function makeControls(app: App, options: ControlOptions): { element: HTMLElement; update(): void } {
  const element = h("form.controls", { onsubmit: (e) => e.preventDefault() });
  const filter = h("input", {
    type: "search", id: "functions", placeholder: "only stacks with…", "aria-label": "only stacks with this function",
    onchange: (e) => app.go({ functions: (e.target as HTMLInputElement).value, zoom: [] }),
  }) as HTMLInputElement;
  const update = (): void => {
    const s = app.state;
    if (document.activeElement !== filter) filter.value = s.functions;
    const range = rangeText(app);
    const note = app.answer().note;
    clear(element,
      mapsChoice(app),
      choice("Figure", "figure", s.figure, figuresOf(app.profile).map((f) => [f, FIGURE_NAMES[f]]), (v) => app.go({ figure: v as Figure, zoom: [] })),
      isOfPages(s.figure) && lookChoice(app),
      !s.maps && choice("Thread", "thread", String(s.thread), threadOptions(app), (v) => app.go({ thread: Number(v), zoom: [] })),
      choice("Module", "module", s.module, moduleOptions(app), (v) => app.go({ module: v, zoom: [] })),
      options.direction && tick("inverted", "inverted", s.inverted, (v) => app.go({ inverted: v, zoom: [] })),
      options.lines && tick("by line", "by-line", s.byLine, (v) => app.go({ byLine: v, zoom: [] })),
      options.shape && tick("fold recursion", "fold", s.fold, (v) => app.go({ fold: v, zoom: [] })),
      options.shape && !s.maps && tick("by thread", "by-thread", s.byThread, (v) => app.go({ byThread: v, zoom: [] })),
      filter,
      range && h("span.range", {}, range, " ", h("button", { type: "button", id: "whole-range", onclick: () => app.go({ from: -1, to: -1, zoom: [] }) }, "whole recording")),
      note && h("span.note", { id: "answer-note" }, note));
  };
  return { element, update };
}

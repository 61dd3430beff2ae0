// state.ts -- what the user looks at, kept in the page's address.
// SPDX-License-Identifier: Apache-2.0

import { FIGURES, type Figure } from "./model/question.ts";

export interface State {
  page: string;
  figure: Figure;
  /** Times in ns since the start; both -1: the whole recording. Not points of the time line: those have other numbers when
   * the time line of a program that runs on is thinned out. */
  from: number;
  to: number;
  thread: number; // serial; 0 all
  functions: string;
  module: string;
  inverted: boolean;
  byLine: boolean;
  fold: boolean; // calls to itself count as one
  byThread: boolean;
  search: string;
  /** Frames from the tree's root to what is zoomed in on. */
  zoom: number[];
  /** The same of the two profiles' common tree. */
  pair: number[];
  sort: string;
  file: number; // text of the source file shown
  line: number;
  cell: string; // of the size maps: "size,life" or "size@time"
  maps: string; // pages of stacks show maps of this kind, or "all", in place of blocks; "": blocks
  look: number; // at the heap's pages; -1: the last
  site: number; // that is shown among those that keep pages; -1: none
}

export const FIRST_STATE: State = {
  page: "overview",
  figure: "peak",
  from: -1,
  to: -1,
  thread: 0,
  functions: "",
  module: "",
  inverted: false,
  byLine: false,
  fold: false,
  byThread: false,
  search: "",
  zoom: [],
  pair: [],
  sort: "",
  file: 0,
  line: 0,
  cell: "",
  maps: "",
  look: -1,
  site: -1,
};

/** "#page?name=value&…" with what differs from the first state. */
export function printState(s: State): string {
  const words = new URLSearchParams();
  for (const key of Object.keys(FIRST_STATE) as (keyof State)[]) {
    if (key === "page" || s[key] === FIRST_STATE[key]) continue;
    const text = key === "from" || key === "to" ? `${s[key]}ns` : textOf(s[key]);
    if (text !== textOf(FIRST_STATE[key])) words.set(key, text);
  }
  const query = words.toString();
  return `#${s.page}${query ? `?${query}` : ""}`;
}

/** Units of times in addresses, in ns; they are those of `midden report --live-at`, where a number alone is seconds, too. */
const UNITS: { [unit: string]: number } = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, "": 1e9 };

/** -1: it is no time. */
function parseTime(text: string | null): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ns|us|ms|s|)$/.exec(text ?? "") ?? [];
  const ns = number === undefined ? NaN : Math.round(Number(number) * UNITS[unit!]!);
  return Number.isSafeInteger(ns) ? ns : -1;
}

function textOf(value: State[keyof State]): string {
  if (Array.isArray(value)) return value.join(".");
  return typeof value === "boolean" ? (value ? "1" : "") : String(value);
}

/** What cannot be read is as it is at first. */
export function parseState(hash: string): State {
  const [page, query] = hash.replace(/^#/, "").split("?", 2) as [string, string | undefined];
  const words = new URLSearchParams(query ?? "");
  const s: State = { ...FIRST_STATE, page: page || FIRST_STATE.page };
  const whole = (key: "thread" | "file" | "line" | "look" | "site") => {
    const n = Number(words.get(key) ?? NaN);
    if (Number.isSafeInteger(n) && n >= 0) s[key] = n;
  };
  for (const key of ["from", "to"] as const) s[key] = parseTime(words.get(key));
  for (const key of ["thread", "file", "line", "look", "site"] as const) whole(key);
  for (const key of ["functions", "module", "search", "sort", "cell", "maps"] as const) s[key] = words.get(key) ?? "";
  for (const key of ["inverted", "byLine", "fold", "byThread"] as const) s[key] = words.get(key) === "1";
  const figure = words.get("figure");
  if (FIGURES.includes(figure as Figure)) s.figure = figure as Figure;
  for (const key of ["zoom", "pair"] as const) s[key] = (words.get(key) ?? "").split(".").filter(Boolean).map(Number).filter(Number.isSafeInteger);
  if (s.from < 0 || s.to < s.from) s.from = s.to = -1;
  return tidyState(s);
}

/** Pages that can show maps. */
const OF_STACKS = ["flame", "table", "callers", "source"];

/** Who leaves those pages leaves the maps, too: what the others lead to is about blocks. */
export function tidyState(s: State): State {
  return s.maps && !OF_STACKS.includes(s.page) ? { ...s, maps: "" } : s;
}

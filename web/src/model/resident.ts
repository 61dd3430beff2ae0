// resident.ts -- which blocks keep which pages of the heap in memory: what the looks at them have found.
// SPDX-License-Identifier: Apache-2.0

import type { Json } from "../load/pack.ts";
import { inRuns } from "../runs.ts";
import { withArrays } from "./memory.ts";
import { largestFirst, largestOf, reorder } from "./order.ts";
import type { Profile } from "./profile.ts";
import type { Range } from "./question.ts";

/** A look that found something; its sums are those of `midden report --rss --json`. */
export interface Look {
  index: number; // among all looks
  title: string; // "at the end"
  aside: string; // ", where the resident size was highest of 3 looks", if that is news
  time_ns: number;
  sums: { [name: string]: Json };
}

/** What a site holds. */
export interface Pin {
  site: number;
  resident: number; // its share of the pages that its blocks are on
  pinned: number; // what of that is dead
  live: number;
  blocks: number;
  lone: number; // pages that one small block of it holds alone
  alone: number; // bytes of pages that no other site has blocks on
}

type Sums = Look["sums"];

/** What a look is called, whatever others have found. */
function nameOf(p: Profile, sums: Sums): string {
  const row = Number(sums["snapshot"] ?? 0);
  if (!row) return sums["reason"] === "end" ? "at the end" : "at a snapshot";
  const name = p.text(p.pack.u32("snapshot.name")[row - 1] ?? 0);
  return `at snapshot ${row}${name ? ` ${name}` : ""}`;
}

/** As `midden report --rss` has it: the look that was made because of a peak need not be the highest of all, and that which
 * is may have been made for another reason. */
function wordsOf(p: Profile, sums: Sums, isHighest: boolean, looks: number): Pick<Look, "title" | "aside"> {
  if (sums["reason"] === "peak") return { title: `at ${isHighest ? "the" : "a"} peak of the resident size`, aside: "" };
  return { title: nameOf(p, sums), aside: isHighest && looks > 1 ? `, where the resident size was highest of ${looks} looks` : "" };
}

/** The first of those that no other has more than. */
function highestOf(all: Sums[]): Sums | undefined {
  return all.reduce<Sums | undefined>((best, sums) => (best && Number(best["rss_bytes"]) >= Number(sums["rss_bytes"]) ? best : sums), undefined);
}

export function listLooks(p: Profile): Look[] {
  const all = p.pack.header.stats?.["rss"];
  if (!Array.isArray(all) || !p.pack.has("pin.survey") || p.pack.u32("pin.survey").length + p.pack.u32("cell.survey").length === 0) return [];
  const good = (all as Sums[]).filter((sums) => sums["fault"] === undefined);
  const highest = highestOf(good);
  return good.map((sums): Look => ({ index: all.indexOf(sums), ...wordsOf(p, sums, sums === highest, good.length), time_ns: Number(sums["time_ns"]), sums }));
}

/** Whether it was taken within a range. That of a snapshot is of the snapshot's point, however long it took; what comes
 * after the last point is of the recording's end. */
export function isWithin(p: Profile, look: Look, { from, to }: Range): boolean {
  const snapshot = Number(look.sums["snapshot"] ?? 0);
  const point = snapshot ? p.pack.u32("snapshot.point")[snapshot - 1] : undefined;
  if (point !== undefined) return from <= point && point <= to;
  return look.time_ns >= p.pack.f64("point.time_ns")[from]! && look.time_ns <= endOf(p, to);
}

function endOf(p: Profile, to: number): number {
  const times = p.pack.f64("point.time_ns");
  return to === times.length - 1 ? Infinity : times[to]!;
}

/** The look with that number. If there is none: the last one; of a range the last within, or else the last before its
 * end, or else the first after it. */
export function lookOf(p: Profile, index: number, range: Range | null): Look | undefined {
  const looks = p.looks();
  const chosen = looks.find((look) => look.index === index);
  if (chosen || !range) return chosen ?? looks.at(-1);
  const last = (isWanted: (look: Look) => boolean): Look | undefined => looks.filter(isWanted).at(-1);
  return last((look) => isWithin(p, look, range)) ?? last((look) => look.time_ns <= endOf(p, range.to)) ?? looks[0];
}

/** What is added up of pins, and their columns. */
export type Sum = keyof Omit<Pin, "site">;
const COLUMNS: [Sum, string][] = [["resident", "resident_bytes"], ["pinned", "pinned_bytes"], ["live", "live_bytes"], ["blocks", "live_blocks"], ["lone", "lone_pages"], ["alone", "alone_bytes"]];

const sumsOf = (columns: Float64Array[], row: number): Record<Sum, number> => Object.fromEntries(COLUMNS.map(([name], c) => [name, columns[c]![row]!])) as Record<Sum, number>;

/** Sites of one function of the program's own, together. */
export interface Holder extends Omit<Pin, "site"> {
  frame: number; // of the site that holds most
}

/** By site: the frame of its stack that a reader can do something about. */
export function ownFrames(p: Profile): Uint32Array {
  const [own, ends] = [p.pack.u32("site.own"), p.leafFrames()];
  const known = (frame: number): boolean => frame < p.frameCount;
  return own.map((frame, site) => (known(frame) ? frame : known(ends[site]!) ? ends[site]! : 0));
}

/** The table of pins, and what their sites are called. */
interface Pins {
  surveys: Uint32Array;
  sites: Uint32Array;
  columns: Float64Array[];
  groups: Uint32Array; // by frame
  frames: Uint32Array; // by site
}

function pinsOf(p: Profile): Pins {
  return { surveys: p.pack.u32("pin.survey"), sites: p.pack.u32("pin.site"), columns: COLUMNS.map(([, name]) => p.pack.f64(`pin.${name}`)), groups: p.frameGroup, frames: p.ownFrames() };
}

/** The rows of a look, at the beginning of `rows`. */
function rowsOf({ surveys }: Pins, look: Look, rows: Uint32Array): Uint32Array {
  const found = { rows, count: 0 };
  inRuns(surveys.length, findRows, look.index, surveys, found);
  return rows.subarray(0, found.count);
}

function findRows(from: number, to: number, look: number, surveys: Uint32Array, found: { rows: Uint32Array; count: number }): void {
  for (let i = from; i < to; i++) if (surveys[i] === look) found.rows[found.count++] = i;
}

/** What the sites of a holder's function hold: the largest of them, and how many there are. */
export function listPins(p: Profile, look: Look, holder: Holder, most: number): { pins: Pin[]; count: number } {
  const pins = pinsOf(p);
  const group = p.frameGroup[holder.frame] ?? 0;
  return withArrays(p.memory, (arrays) => {
    const found = rowsOf(pins, look, arrays.u32ToFill(pins.surveys.length)).filter((row) => pins.groups[pins.frames[pins.sites[row]!]!] === group);
    const rows = largestOf(found, pins.columns[0]!);
    return { pins: Array.from(rows.subarray(0, most), (row): Pin => ({ site: pins.sites[row]!, ...sumsOf(pins.columns, row) })), count: rows.length };
  });
}

/** By function: the frame of the site that holds most, plus one, and what it has. */
interface Heads {
  frame: Uint32Array;
  most: Float64Array;
}

function findHeads(from: number, to: number, rows: Uint32Array, { sites, groups, frames, columns }: Pins, { frame, most }: Heads): void {
  const resident = columns[0]!;
  for (let i = from; i < to; i++) {
    const row = rows[i]!;
    const own = frames[sites[row]!]!;
    const group = groups[own]!;
    if (frame[group] && resident[row]! <= most[group]!) continue;
    frame[group] = own + 1;
    most[group] = resident[row]!;
  }
}

function findPlaces(from: number, to: number, rows: Uint32Array, { sites, groups, frames }: Pins, ofGroup: Uint32Array, places: Uint32Array): void {
  for (let i = from; i < to; i++) places[i] = ofGroup[groups[frames[sites[rows[i]!]!]!]!]!;
}

function addPins(from: number, to: number, rows: Uint32Array, places: Uint32Array, column: Float64Array, sums: Float64Array): void {
  for (let i = from; i < to; i++) sums[places[i]!]! += column[rows[i]!]!;
}

function sumUp(rows: Uint32Array, places: Uint32Array, column: Float64Array, count: number): Float64Array {
  const sums = new Float64Array(count);
  inRuns(rows.length, addPins, rows, places, column, sums);
  return sums;
}

/** Who keeps pages, by function: tens of thousands, of which few are ever looked at. */
export class Holders {
  private readonly frames: Uint32Array; // ascending
  private readonly sums: Float64Array[]; // by column
  private readonly byResident: Uint32Array;

  constructor(p: Profile, look: Look) {
    const pins = pinsOf(p);
    const groups = p.frameGroup;
    [this.frames, this.sums] = withArrays(p.memory, (arrays) => {
      const [ofLook, places] = [arrays.u32ToFill(pins.surveys.length), arrays.u32ToFill(pins.surveys.length)];
      const heads: Heads = { frame: arrays.u32(groups.length), most: arrays.f64(groups.length) };
      const rows = rowsOf(pins, look, ofLook);
      inRuns(rows.length, findHeads, rows, pins, heads);
      const frames = heads.frame.filter((frame) => frame > 0).map((frame) => frame - 1).sort();
      const ofGroup = arrays.u32(groups.length);
      frames.forEach((frame, place) => (ofGroup[groups[frame]!] = place));
      inRuns(rows.length, findPlaces, rows, pins, ofGroup, places);
      return [frames, pins.columns.map((column) => sumUp(rows, places, column, frames.length))];
    });
    this.byResident = largestFirst(this.sums[0]!);
  }

  /** All of them, those with most first. */
  order(by: Sum): Uint32Array {
    const column = COLUMNS.findIndex(([name]) => name === by);
    return column > 0 ? reorder(this.byResident, this.sums[column]!) : this.byResident;
  }

  frame(i: number): number {
    return this.frames[i]!;
  }

  at(i: number): Holder {
    return { frame: this.frames[i]!, ...sumsOf(this.sums, i) };
  }
}

/** A piece of the heap. */
export interface Cell {
  start: number; // address
  pages: number;
  resident: number; // pages
  held: number; // pages with live blocks
  live: number; // bytes
  site: number; // that has most of what is live; -1: nothing is
}

export function listCells(p: Profile, look: Look): Cell[] {
  const { pack } = p;
  const surveys = pack.u32("cell.survey");
  const [pages, resident, held, site] = ["pages", "resident_pages", "held_pages", "site"].map((c) => pack.u32(`cell.${c}`)) as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];
  const [start, live] = [pack.f64("cell.start"), pack.f64("cell.live_bytes")];
  const cells: Cell[] = [];
  for (let i = 0; i < surveys.length; i++)
    if (surveys[i] === look.index) cells.push({ start: start[i]!, pages: pages[i]!, resident: resident[i]!, held: held[i]!, live: live[i]!, site: site[i]! - 1 });
  return cells;
}

// leaks.ts -- what was never freed, by stack, and whether it grew all the time.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import { growingWithin, isLongEnough, placesOf } from "./growing.ts";
import { varianceOf } from "./interval.ts";
import { type Arrays, withArrays } from "./memory.ts";
import type { Profile } from "./profile.ts";
import { firstAfter, type Answer, type Figures, type Range } from "./question.ts";

export type LeakKind = "growing" | "one-off" | "suppressed";

/** One stack. */
export interface Leak {
  site: number;
  bytes: number;
  blocks: number;
  rule: string; // that suppresses it
  within: Within;
}

/** By how much there is more at the end of a range (0 of the whole recording), and how doubtful that and its bytes are
 * where blocks were sampled. */
export interface Within {
  growth: number;
  bytesVariance: number;
  growthVariance: number;
}

interface Amount extends Within {
  bytes: number;
  blocks: number;
  stacks: number;
}

/** Stacks that allocated at one place of the program, of one kind. */
export interface LeakPlace extends Amount {
  kind: LeakKind;
  frame: number; // of the place; the number of frames: it has none
  largest: Leak[];
  /** Live bytes after each quarter of the recording, or of the range; none of a moment. */
  quarters: number[];
}

const QUARTERS = 4;
const STACKS_OF_PLACE = 10;

/** What some groups of sites had live, when each quarter was over. */
interface Quarters {
  begin: number; // place of the table of changes
  numbers: Uint16Array; // by site: its place in `live`; 0: nobody asks for it
  held: Float64Array; // by site: what it had live last
  live: Float64Array;
}

function follow(from: number, to: number, { begin, numbers, held, live }: Quarters, sites: Uint32Array, bytes: Float64Array): void {
  for (let i = begin + from; i < begin + to; i++) {
    const site = sites[i]!;
    const number = numbers[site]!;
    if (number === 0) continue;
    live[number]! += bytes[i]! - held[site]!;
    held[site] = bytes[i]!;
  }
}

function addHeld(from: number, to: number, { numbers, held, live }: Quarters): void {
  for (let site = from; site < to; site++) live[numbers[site]!]! += held[site]!;
}

/** What these groups had live when each quarter of a range was over; `held`: by site, what it had at its beginning. */
function byQuarters(p: Profile, numbers: Uint16Array, count: number, { from, to }: Range, held: Float64Array): number[][] {
  const times = p.pack.f64("point.time_ns");
  const points = p.pack.u32("change.point");
  const [begin, end] = [from < 0 ? 0 : times[from]!, times[to] ?? 0];
  const q: Quarters = { begin: from < 0 ? 0 : firstAfter(points, from), numbers, held, live: new Float64Array(count + 1) };
  inRuns(p.siteCount, addHeld, q);
  const result: number[][] = Array.from({ length: count }, () => []);
  for (let point = Math.max(0, from), quarter = 1; quarter <= QUARTERS; quarter++) {
    while (point < to && times[point + 1]! <= begin + ((end - begin) * quarter) / QUARTERS) point++;
    const next = times[point]! <= begin + ((end - begin) * quarter) / QUARTERS ? firstAfter(points, point) : q.begin;
    inRuns(next - q.begin, follow, q, p.pack.u32("change.site"), p.pack.f64("change.live_bytes"));
    q.begin = next;
    for (let i = 0; i < count; i++) result[i]!.push(q.live[i + 1]!);
  }
  return result;
}

/** What tells places apart, as JSON has it: what is not known is null there, and "" or 0 in columns. */
const keyOf = (...parts: unknown[]): string => parts.map((part) => part || "").join("\0");

/** The places whose leaks grow all the time, as the findings have them. */
function growingPlaces(p: Profile): Set<string> {
  const places = new Set<string>();
  for (const f of p.pack.header.findings?.findings ?? []) {
    if (f["kind"] !== "growing-leak" || !Array.isArray(f["stack"])) continue;
    const frame = f["stack"][Number(f["own_frame"]) || 0] as { [key: string]: unknown } | undefined;
    if (frame) places.add(keyOf(frame["function"], frame["file"], frame["line"], frame["module"], frame["offset"]));
  }
  return places;
}

/** By frame: 1 if it is such a place; of those that `places` has. */
function growingFrames(p: Profile, places: Uint32Array): Uint8Array {
  const wanted = growingPlaces(p);
  const isGrowing = new Uint8Array(p.frameCount + 1);
  if (!wanted.size) return isGrowing;
  const offsets = p.pack.f64("frame.offset");
  const seen = new Uint8Array(p.frameCount);
  for (const frame of places) {
    if (frame >= p.frameCount || seen[frame]) continue;
    seen[frame] = 1;
    const name = p.text(p.frameFunction[frame]!);
    isGrowing[frame] = wanted.has(keyOf(name, p.filePath(frame), p.frameLine[frame], p.modulePath(frame), name ? "" : offsets[frame])) ? 1 : 0;
  }
  return isGrowing;
}

export interface LeakGroup extends Amount {
  placeCount: number;
  places: LeakPlace[]; // the largest
}

export type LeakGroups = Record<LeakKind, LeakGroup>;

export interface LeaksFound {
  groups: LeakGroups;
  numbered: LeakPlace[]; // all places of the groups, without their quarters (fillQuarters)
  numbers: Uint16Array; // by site: the number of its place from 1 on; 0: it is none of these
}

/** The `shown` sites (or places) with most, the largest first: of those that come one by one, only what may be
 * among them is kept and, now and then, sorted. */
class Largest {
  private kept: number[] = [];
  private least = -Infinity;
  private readonly larger = (a: number, b: number): number => this.sizes[b]! - this.sizes[a]! || this.blocks[b]! - this.blocks[a]! || a - b;

  constructor(private readonly sizes: Float64Array, private readonly blocks: Float64Array, private readonly shown: number) {}

  add(site: number): void {
    if (this.sizes[site]! < this.least) return;
    this.kept.push(site);
    if (this.kept.length > 4 * this.shown + 100) this.take();
  }

  take(): number[] {
    this.kept = this.kept.sort(this.larger).slice(0, this.shown);
    if (this.shown > 0 && this.kept.length === this.shown) this.least = this.sizes[this.kept[this.shown - 1]!]!;
    return this.kept;
  }
}

const KINDS: LeakKind[] = ["growing", "one-off", "suppressed"];
const NONE = KINDS.length;

/** By site, in `kinds`: its kind by number; NONE: nothing of it is left. `growing`: by frame, and `places` are frames. */
function judge(from: number, to: number, kinds: Uint8Array, { bytes, blocks }: Figures, rules: Uint32Array, growing: Uint8Array, places: Uint32Array): void {
  // The mean of several recordings can be some bytes of no block.
  for (let i = from; i < to; i++) kinds[i] = blocks[i] === 0 && bytes[i] === 0 ? NONE : rules[i] ? 2 : growing[places[i]!] ? 0 : 1;
}

/** What is left, by site. */
interface Left {
  figures: Figures;
  /** Of a range that is more than a moment. */
  growth: Figures | null;
  variance: Float64Array | null;
  growthVariance: Float64Array | null;
}

const withinOf = ({ growth, variance, growthVariance }: Left, site: number): Within => ({ growth: growth?.bytes[site] ?? 0, bytesVariance: variance?.[site] ?? 0, growthVariance: growthVariance?.[site] ?? 0 });

const nothing = (): Amount => ({ bytes: 0, blocks: 0, stacks: 0, growth: 0, bytesVariance: 0, growthVariance: 0 });

/** The same as Amount, by kind and place: kind * width + frame. */
class Sums {
  readonly bytes: Float64Array;
  readonly blocks: Float64Array;
  readonly growth: Float64Array;
  readonly bytesVariance: Float64Array;
  readonly growthVariance: Float64Array;
  readonly stacks: Uint32Array;

  /** What there is nothing of has no array: each takes a millisecond to be made. */
  constructor(readonly width: number, left: Left, arrays: Arrays) {
    const count = KINDS.length * width;
    const some = (values: unknown): Float64Array => arrays.f64(values ? count : 0);
    [this.bytes, this.blocks, this.stacks] = [arrays.f64(count), arrays.f64(count), arrays.u32(count)];
    [this.growth, this.bytesVariance, this.growthVariance] = [some(left.growth), some(left.variance), some(left.growthVariance)];
  }

  amount(key: number): Amount {
    return { bytes: this.bytes[key]!, blocks: this.blocks[key]!, stacks: this.stacks[key]!, growth: this.growth[key] ?? 0, bytesVariance: this.bytesVariance[key] ?? 0, growthVariance: this.growthVariance[key] ?? 0 };
  }
}

function addUp(from: number, to: number, kinds: Uint8Array, places: Uint32Array, left: Left, sums: Sums): void {
  const { bytes, blocks } = left.figures;
  const { width, bytes: sumOfBytes, blocks: sumOfBlocks, growth: sumOfGrowth, stacks } = sums;
  const growth = left.growth?.bytes;
  for (let site = from; site < to; site++) {
    const kind = kinds[site]!;
    if (kind >= NONE) continue;
    const key = kind * width + places[site]!;
    sumOfBytes[key]! += bytes[site]!;
    sumOfBlocks[key]! += blocks[site]!;
    stacks[key]!++;
    if (growth) sumOfGrowth[key]! += growth[site]!;
  }
}

/** How doubtful these are, where blocks were sampled. */
function addDoubt(from: number, to: number, kinds: Uint8Array, places: Uint32Array, width: number, variance: Float64Array, sums: Float64Array): void {
  for (let site = from; site < to; site++) if (kinds[site]! < NONE) sums[kinds[site]! * width + places[site]!]! += variance[site]!;
}

/** Numbers sites by their place, those of places that have a number, and adds them to the largest of it. */
function pick(from: number, to: number, kinds: Uint8Array, places: Uint32Array, width: number, ofPlaces: Uint16Array, numbers: Uint16Array, largest: Largest[]): void {
  for (let site = from; site < to; site++) {
    const kind = kinds[site]!;
    const number = kind < NONE ? ofPlaces[kind * width + places[site]!]! : 0;
    numbers[site] = number;
    if (number) largest[number - 1]!.add(site);
  }
}

function start(from: number, to: number, held: Float64Array, bytes: Float64Array, growth: Float64Array): void {
  for (let site = from; site < to; site++) held[site] = bytes[site]! - growth[site]!;
}

function addPlaces(from: number, to: number, first: number, sums: Sums, group: LeakGroup, largest: Largest): void {
  for (let key = first + from; key < first + to; key++) {
    if (!sums.stacks[key]) continue;
    group.bytes += sums.bytes[key]!;
    group.blocks += sums.blocks[key]!;
    group.stacks += sums.stacks[key]!;
    group.growth += sums.growth[key] ?? 0;
    group.bytesVariance += sums.bytesVariance[key] ?? 0;
    group.growthVariance += sums.growthVariance[key] ?? 0;
    group.placeCount++;
    largest.add(key);
  }
}

/** A kind's sum, and its `shown` largest places by number: what grows within a range by how much, all others by what there
 * is of them. */
function rankPlaces(kind: number, sums: Sums, hasGrowth: boolean, shown: number): { group: LeakGroup; keys: number[] } {
  const group: LeakGroup = { ...nothing(), placeCount: 0, places: [] };
  const largest = new Largest(kind === 0 && hasGrowth ? sums.growth : sums.bytes, sums.blocks, shown);
  inRuns(sums.width, addPlaces, kind * sums.width, sums, group, largest);
  return { group, keys: largest.take() };
}

/** By kind: what it comes to, and its largest `shown` places with their largest stacks. */
function groupUp(p: Profile, left: Left, kinds: Uint8Array, places: Uint32Array, shown: number): LeaksFound {
  const { bytes, blocks } = left.figures;
  const rules = p.pack.u32("site.rule");
  const width = p.frameCount + 1;
  const leak = (site: number): Leak => ({ site, bytes: bytes[site]!, blocks: blocks[site]!, rule: p.text(rules[site]!), within: withinOf(left, site) });
  return withArrays(p.memory, (own) => {
    const sums = new Sums(width, left, own);
    inRuns(p.siteCount, addUp, kinds, places, left, sums);
    if (left.variance) inRuns(p.siteCount, addDoubt, kinds, places, width, left.variance, sums.bytesVariance);
    if (left.growthVariance) inRuns(p.siteCount, addDoubt, kinds, places, width, left.growthVariance, sums.growthVariance);
    const ranked = KINDS.map((_, kind) => rankPlaces(kind, sums, left.growth !== null, shown));
    const keys = ranked.flatMap((r) => r.keys);
    const ofPlaces = own.u16(KINDS.length * width);
    keys.forEach((key, i) => (ofPlaces[key] = i + 1));
    const largest = keys.map(() => new Largest(bytes, blocks, STACKS_OF_PLACE));
    const numbers = new Uint16Array(p.siteCount);
    inRuns(p.siteCount, pick, kinds, places, width, ofPlaces, numbers, largest);
    const numbered = keys.map((key, i): LeakPlace => ({ ...sums.amount(key), kind: KINDS[Math.floor(key / width)]!, frame: key % width, largest: largest[i]!.take().map(leak), quarters: [] }));
    for (const [kind, { group }] of ranked.entries()) group.places = numbered.filter((place) => place.kind === KINDS[kind]);
    return { groups: { growing: ranked[0]!.group, "one-off": ranked[1]!.group, suppressed: ranked[2]!.group }, numbered, numbers };
  });
}

/** Finds the quarters of all places that were found: of a range, which is more than a moment, they may come later than the
 * rest. `growth` null: of the whole recording. */
export function fillQuarters(p: Profile, { numbered, numbers }: LeaksFound, range: Range | null, { bytes }: Figures, growth: Figures | null): void {
  const whole = { from: -1, to: p.pack.f64("point.time_ns").length - 1 };
  withArrays(p.memory, (own) => {
    const held = growth ? own.f64ToFill(p.siteCount) : own.f64(p.siteCount);
    if (growth) inRuns(p.siteCount, start, held, bytes, growth.bytes);
    byQuarters(p, numbers, numbered.length, range ?? whole, held).forEach((quarters, i) => (numbered[i]!.quarters = quarters));
  });
}

/** Frames at which what was allocated grows. */
function growingIn(p: Profile, range: Range | null, live: Figures, growth: Figures | null, places: Uint32Array): Uint8Array {
  if (!range) return growingFrames(p, places);
  return growth && isLongEnough(p, range) ? growingWithin(p, range, live, growth) : new Uint8Array(p.frameCount + 1);
}

/** By site: its kind by number, and its place. */
function judgeAll(p: Profile, range: Range | null, live: Figures, growth: Figures | null, arrays: Arrays): { kinds: Uint8Array; places: Uint32Array } {
  const places = placesOf(p, arrays);
  const kinds = arrays.u8ToFill(p.siteCount);
  inRuns(p.siteCount, judge, kinds, live, p.pack.u32("site.rule"), growingIn(p, range, live, growth, places), places);
  return { kinds, places };
}

/** By site: its kind; "": nothing of it is left. */
export function leakKinds(p: Profile, range: Range | null, live: Figures, growth: Figures | null): (LeakKind | "")[] {
  return withArrays(p.memory, (own) => Array.from(judgeAll(p, range, live, growth, own).kinds, (kind) => KINDS[kind] ?? ""));
}

/** What was never freed. */
export function findLeaks(p: Profile, shown: number): LeakGroups {
  const [bytes, blocks] = [p.pack.f64("site.live_bytes"), p.pack.f64("site.live_blocks")];
  const figures = { bytes, blocks, values: bytes };
  const found = withArrays(p.memory, (own) => {
    const { kinds, places } = judgeAll(p, null, figures, null, own);
    return groupUp(p, { figures, growth: null, variance: varianceOf(p, "live_bytes"), growthVariance: null }, kinds, places, shown);
  });
  fillQuarters(p, found, null, figures, null);
  return found.groups;
}

/** What was not freed at the end of a range, as if the recording had ended there. */
export interface LeaksWithin extends LeaksFound {
  /** The range is long enough to tell what grows. */
  isTold: boolean;
}

/** `live`: at the end of the range, `growth`: across it, null of a moment; neither is kept. Quarters come later. */
export function findLeaksWithin(p: Profile, range: Range, live: Answer, growth: Answer | null, shown: number): LeaksWithin {
  const found = withArrays(p.memory, (own) => {
    const { kinds, places } = judgeAll(p, range, live, growth, own);
    return groupUp(p, { figures: live, growth, variance: live.variance, growthVariance: growth?.variance ?? null }, kinds, places, shown);
  });
  return { ...found, isTold: growth !== null && isLongEnough(p, range) };
}

// question.ts -- what is asked of a profile (figure, time, which stacks), and the answer by site.
// SPDX-License-Identifier: Apache-2.0

import { lostStacks } from "../load/pack.ts";
import { inRuns } from "../runs.ts";
import { boundBlocks, boundBytes, samplePeriod, varianceOf, withoutSure } from "./interval.ts";
import { Arrays, withArrays } from "./memory.ts";
import type { Profile } from "./profile.ts";
import { isWithin, lookOf } from "./resident.ts";

export type Figure = "peak" | "leaked" | "allocated" | "calls" | "temporary" | "live" | "growth" | "resident" | "pinned";
export const FIGURES: Figure[] = ["peak", "leaked", "allocated", "calls", "temporary", "live", "growth", "resident", "pinned"];

/** Those that a profile can tell: maps have no time line, and pages are looked at only on request. */
export function figuresOf(p: Profile): Figure[] {
  const hasTime = p.pack.f64("point.time_ns").length > 0;
  return FIGURES.filter((f) => (isOfPages(f) ? p.looks().length > 0 : hasTime || (f !== "live" && f !== "growth")));
}

/** Points of the time line, both inside. */
export interface Range {
  from: number;
  to: number;
}

/** The points that stand for times: the last ones at or before them, or else the first; null: there are none. */
export function pointsOf(p: Profile, from: number, to: number): Range | null {
  const times = p.pack.f64("point.time_ns");
  const at = (ns: number): number => Math.max(0, firstAfter(times, ns) - 1);
  return times.length ? { from: at(from), to: at(to) } : null;
}

export interface Question {
  figure: Figure;
  range: Range | null; // null: the whole recording
  thread: number | null; // serial
  functions: string; // part of a function's name that must be on the stack; "": all
  module: string; // the same of a module
  look?: number; // of figures of pages: which look; -1 the last
  maps?: string; // of maps: only those of this kind; "all"
}

/** Of maps that have stacks, by number. */
export const MAP_KINDS = ["anonymous", "file", "reserved", "shared", "break"];

export interface Figures {
  bytes: Float64Array;
  blocks: Float64Array;
  /** What sizes and shares go by: bytes, or blocks for figures that count. */
  values: Float64Array;
}

/** By site; what is left out is 0. */
export interface Answer extends Figures {
  question: Question;
  /** What all of these and what is worked out of them are in; some are columns of the profile. */
  arrays: Arrays;
  /** Of `values`, where blocks were sampled (interval.ts); null: they are exact. */
  variance: Float64Array | null;
  total: number;
  totalBytes: number;
  totalBlocks: number;
  /** By site: 1 if the filters let it through; null: they let all. */
  chosen: Uint8Array | null;
  /** As it is before the filters, where there are some. */
  whole: Figures | null;
  /** In words, where the figure is not quite what was asked for. */
  note: string;
  /** In words, where a damaged file has lost what it takes: that everything is 0 then does not mean that nothing was there. */
  lost: string;
}

/** Columns of `site` and `part`: bytes and blocks of a figure that is kept for the whole recording. */
export const COLUMNS: Record<string, [string | null, string]> = {
  peak: ["at_peak_bytes", "at_peak_blocks"],
  leaked: ["live_bytes", "live_blocks"],
  allocated: ["allocated_bytes", "allocations"],
  calls: ["allocated_bytes", "allocations"],
  temporary: [null, "temporary"],
};

export function countsBlocks(figure: Figure): boolean {
  return figure === "calls" || figure === "temporary";
}

/** What shares of an answer are of: of growth, what grew and what shrank together, of which no part can be more than all. */
export function wholeOf({ question, total, values }: Answer): number {
  if (question.figure !== "growth") return total;
  let sum = 0;
  for (const value of values) sum += Math.abs(value);
  return sum;
}

/** Whether it was seen by a look at the pages of the heap (resident.ts). */
export function isOfPages(figure: Figure): boolean {
  return figure === "resident" || figure === "pinned";
}

/** Whether it is read off the time line or a look, which do not tell threads apart. */
export function isTimed(q: Question): boolean {
  return isOfPages(q.figure) || q.figure === "live" || q.figure === "growth" || (q.range !== null && q.figure === "peak");
}

/** What sites come to, bytes and blocks. */
type Pair = [bytes: Float64Array, blocks: Float64Array];

/** What each site came to by its last change; 0 where there is none. */
function valuesAt(from: number, to: number, last: Uint32Array, [bytes, blocks]: Pair, [ofBytes, ofBlocks]: Pair): void {
  for (let i = from; i < to; i++) {
    const at = last[i]!;
    if (at === 0) continue;
    bytes[i] = ofBytes[at - 1]!;
    blocks[i] = ofBlocks[at - 1]!;
  }
}

/** By site: its last changes until the end of a range and until its beginning, which is at this place of the table. */
interface Changed {
  last: Uint32Array;
  before: Uint32Array;
  begin: number;
}

/** By how much it is more than what was there before the change at `begin`; 0 where there is none since. Both figures in
 * one loop: which sites changed cannot be foretold, and to find out takes longer than to look a figure up. */
function takeAway(from: number, to: number, { last, before, begin }: Changed, [bytes, blocks]: Pair, [ofBytes, ofBlocks]: Pair): void {
  for (let i = from; i < to; i++) {
    const at = last[i]!;
    const was = before[i]!;
    if (at <= begin) continue;
    bytes[i] = was ? ofBytes[at - 1]! - ofBytes[was - 1]! : ofBytes[at - 1]!;
    blocks[i] = was ? ofBlocks[at - 1]! - ofBlocks[was - 1]! : ofBlocks[at - 1]!;
  }
}

const changesOf = (p: Profile): Pair => [p.pack.f64("change.live_bytes"), p.pack.f64("change.live_blocks")];
const pairOf = (p: Profile, arrays: Arrays): Pair => [arrays.f64(p.siteCount), arrays.f64(p.siteCount)];

/** What each site had live at a point. */
function liveAt(p: Profile, point: number, arrays: Arrays): Pair {
  const end = firstAfter(p.pack.u32("change.point"), point);
  const live = pairOf(p, arrays);
  withArrays(p.memory, (own) => inRuns(p.siteCount, valuesAt, p.lastChanges().before(end, own), live, changesOf(p)));
  return live;
}

/** What each site has more at the end of a range than at its beginning; 0 where nothing changed within. */
function growthIn(p: Profile, range: Range, arrays: Arrays): Pair {
  const points = p.pack.u32("change.point");
  const [begin, end] = [firstAfter(points, range.from), firstAfter(points, range.to)];
  const growth = pairOf(p, arrays);
  withArrays(p.memory, (own) => {
    const changed = { last: p.lastChanges().before(end, own), before: p.lastChanges().before(begin, own), begin };
    inRuns(p.siteCount, takeAway, changed, growth, changesOf(p));
  });
  return growth;
}

/** The first place of a rising row of numbers that has a larger one. */
export function firstAfter(numbers: ArrayLike<number>, number: number): number {
  let [from, to] = [0, numbers.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (numbers[middle]! <= number) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The point within a range at which most bytes were live. */
export function highestPoint(p: Profile, range: Range): number {
  const live = p.pack.f64("point.live_bytes");
  let best = range.from;
  for (let i = range.from; i <= range.to; i++) if (live[i]! > live[best]!) best = i;
  return best;
}

function ofColumns(p: Profile, q: Question, arrays: Arrays): [Float64Array, Float64Array] {
  const [bytes, blocks] = COLUMNS[q.figure]!;
  const { thread } = q;
  const column = (name: string): Float64Array => (thread === null ? p.pack.f64(`site.${name}`) : ofThread(p, name, thread, arrays));
  return [bytes ? column(bytes) : arrays.f64(p.siteCount), column(blocks)];
}

/** What a thread has: sites that are its alone, and its rows of `part`. */
interface Share {
  serial: number;
  sites: Uint32Array;
  parts: Uint32Array;
}

/** By profile, of the thread that was asked for last: a table asks for a column after the other. */
const shares = new WeakMap<Profile, Share>();

function shareOf(p: Profile, serial: number): Share {
  let share = shares.get(p);
  if (share?.serial !== serial) shares.set(p, (share = { serial, sites: rowsWith(p.pack.u32("site.thread"), serial), parts: rowsWith(p.pack.u32("part.thread"), serial) }));
  return share;
}

function rowsWith(threads: Uint32Array, serial: number): Uint32Array {
  const found = { count: 0 };
  inRuns(threads.length, countSame, threads, serial, found);
  const rows = new Uint32Array(found.count);
  found.count = 0;
  inRuns(threads.length, takeSame, threads, serial, rows, found);
  return rows;
}

function countSame(from: number, to: number, threads: Uint32Array, serial: number, found: { count: number }): void {
  let { count } = found;
  for (let i = from; i < to; i++) if (threads[i] === serial) count++;
  found.count = count;
}

function takeSame(from: number, to: number, threads: Uint32Array, serial: number, rows: Uint32Array, found: { count: number }): void {
  let { count } = found;
  for (let i = from; i < to; i++) if (threads[i] === serial) rows[count++] = i;
  found.count = count;
}

/** A thread's share of every site. */
export function ofThread(p: Profile, column: string, serial: number, arrays: Arrays): Float64Array {
  const { sites, parts } = shareOf(p, serial);
  const values = arrays.f64(p.siteCount);
  inRuns(sites.length, takeWhole, sites, p.pack.f64(`site.${column}`), values);
  inRuns(parts.length, takeParts, parts, p.pack.u32("part.site"), p.pack.f64(`part.${column}`), values);
  return values;
}

function takeWhole(from: number, to: number, sites: Uint32Array, whole: Float64Array, values: Float64Array): void {
  for (let i = from; i < to; i++) values[sites[i]!] = whole[sites[i]!]!;
}

function takeParts(from: number, to: number, parts: Uint32Array, site: Uint32Array, part: Float64Array, values: Float64Array): void {
  for (let i = from; i < to; i++) values[site[parts[i]!]!] = part[parts[i]!]!;
}

function ofTime(p: Profile, q: Question, arrays: Arrays): [Float64Array, Float64Array, string] {
  if (isOfPages(q.figure)) return ofLook(p, q, arrays);
  const last = p.pack.f64("point.time_ns").length - 1;
  const range = q.range ?? { from: 0, to: last };
  if (last < 0) return [arrays.f64(p.siteCount), arrays.f64(p.siteCount), "the profile has no time line"];
  if (q.figure === "growth" && q.range) return [...growthIn(p, range, arrays), ""];
  const point = q.figure === "peak" ? highestPoint(p, range) : range.to;
  return [...liveAt(p, point, arrays), q.figure === "peak" ? "the highest point of the range" : ""];
}

/** What each site held of the heap's pages. */
function ofLook(p: Profile, q: Question, arrays: Arrays): [Float64Array, Float64Array, string] {
  const [bytes, blocks] = [arrays.f64(p.siteCount), arrays.f64(p.siteCount)];
  const look = lookOf(p, q.look ?? -1, q.range);
  if (!look) return [bytes, blocks, "the profile does not tell what is resident"];
  const [surveys, sites] = [p.pack.u32("pin.survey"), p.pack.u32("pin.site")];
  const [held, live] = [p.pack.f64(`pin.${q.figure}_bytes`), p.pack.f64("pin.live_blocks")];
  inRuns(surveys.length, takeLook, look.index, { surveys, sites, held, live }, [bytes, blocks]);
  const isOutside = q.range && !isWithin(p, look, q.range);
  return [bytes, blocks, isOutside ? `${q.figure} is as of a look outside of the range, ${look.title}` : look.title];
}

type Pins = { surveys: Uint32Array; sites: Uint32Array; held: Float64Array; live: Float64Array };

function takeLook(from: number, to: number, look: number, { surveys, sites, held, live }: Pins, [bytes, blocks]: Pair): void {
  for (let i = from; i < to; i++) {
    if (surveys[i] !== look) continue;
    bytes[sites[i]!] = held[i]!;
    blocks[sites[i]!] = live[i]!;
  }
}

/** Which sites have these words in a function's and a module's name; null: all. */
function chooseSites(p: Profile, q: Question, arrays: Arrays): Uint8Array | null {
  const named = chooseByName(p, q, arrays);
  const kind = MAP_KINDS.indexOf(q.maps ?? "");
  if (kind < 0) return named;
  const kinds = p.pack.u32("site.kind");
  const chosen = arrays.u8(kinds.length);
  for (let i = 0; i < kinds.length; i++) if (kinds[i] === kind && (!named || named[i])) chosen[i] = 1;
  return chosen;
}

function chooseByName(p: Profile, q: Question, arrays: Arrays): Uint8Array | null {
  if (!q.functions && !q.module) return null;
  const hasFunction = q.functions ? p.sitesWith(p.search(q.functions), arrays) : null;
  if (!q.module) return hasFunction;
  const ranks = p.moduleRanks();
  const isOfModule = new Uint8Array(ranks.length);
  inRuns(ranks.length, markSame, ranks, p.modules().indexOf(q.module), isOfModule);
  const chosen = p.sitesWith(isOfModule, arrays);
  if (hasFunction) for (let i = 0; i < chosen.length; i++) chosen[i]! &= hasFunction[i]!;
  return chosen;
}

function markSame(from: number, to: number, ranks: Uint32Array, rank: number, marked: Uint8Array): void {
  for (let i = from; i < to; i++) marked[i] = ranks[i] === rank ? 1 : 0;
}

/** A copy with 0 for what is not chosen: the profile's own columns stay as they are. */
function only(values: Float64Array, chosen: Uint8Array, arrays: Arrays): Float64Array {
  const kept = arrays.f64(values.length);
  inRuns(kept.length, keep, values, chosen, kept);
  return kept;
}

function keep(from: number, to: number, values: Float64Array, chosen: Uint8Array, kept: Float64Array): void {
  for (let i = from; i < to; i++) if (chosen[i]) kept[i] = values[i]!;
}

/** By values: what they come to. Columns of the profile are asked for over and over. */
const sums = new WeakMap<Float64Array, number>();

function sumOfAll(values: Float64Array): number {
  let sum = sums.get(values);
  if (sum === undefined) sums.set(values, (sum = addUp(values, addRun)));
  return sum;
}

function addUp(values: Float64Array, add: (from: number, to: number, sum: Sum, values: Float64Array, chosen: Uint8Array | null) => void, chosen: Uint8Array | null = null): number {
  const sum = { value: 0 };
  inRuns(values.length, add, sum, values, chosen);
  return sum.value;
}

type Sum = { value: number };

function addRun(from: number, to: number, sum: Sum, values: Float64Array): void {
  let { value } = sum;
  for (let i = from; i < to; i++) value += values[i]!;
  sum.value = value;
}

function addChosen(from: number, to: number, sum: Sum, values: Float64Array, chosen: Uint8Array | null): void {
  let { value } = sum;
  for (let i = from; i < to; i++) value += chosen![i]! * values[i]!; // each is 0 or 1: no jump is to be foretold
  sum.value = value;
}

function sumOf(values: Float64Array, chosen: Uint8Array | null): number {
  return chosen ? addUp(values, addChosen, chosen) : sumOfAll(values);
}

/** What is chosen of them, made when it is first asked for: trees never do. */
class Chosen implements Figures {
  private made: { bytes?: Float64Array; blocks?: Float64Array } = {};

  constructor(private readonly whole: Figures, private readonly chosen: Uint8Array, private readonly arrays: Arrays) {}

  get bytes(): Float64Array {
    return (this.made.bytes ??= only(this.whole.bytes, this.chosen, this.arrays));
  }

  get blocks(): Float64Array {
    return (this.made.blocks ??= only(this.whole.blocks, this.chosen, this.arrays));
  }

  get values(): Float64Array {
    return this.whole.values === this.whole.bytes ? this.bytes : this.blocks;
  }
}

function addTo(values: Float64Array, more: Float64Array): Float64Array {
  for (let i = 0; i < values.length; i++) values[i]! += more[i]!;
  return values;
}

/** Of what was live at a time nothing was kept but the sums; a change is as doubtful as both its ends. */
function varianceOfAnswer(p: Profile, q: Question, { bytes, blocks }: Figures, arrays: Arrays): Float64Array | null {
  const period = samplePeriod(p);
  if (!period) return null;
  if (q.figure === "growth" && q.range) {
    const { from, to } = q.range;
    return withoutSure(p, withArrays(p.memory, (own) => boundBytes(addTo(liveAt(p, from, own)[0], liveAt(p, to, own)[0]), period, arrays)));
  }
  const [ofBytes, ofBlocks] = COLUMNS[q.figure] ?? [null, ""];
  const counts = countsBlocks(q.figure);
  const kept = isTimed(q) || q.thread !== null ? null : varianceOf(p, counts ? ofBlocks : ofBytes!);
  return kept ?? withoutSure(p, counts ? boundBlocks(blocks, bytes, period, arrays) : boundBytes(bytes, period, arrays));
}

/** Only how much there is in all. */
export function totalOf(p: Profile, q: Question): number {
  const { total, arrays } = answer(p, q);
  arrays.giveBack();
  return total;
}

/** Why it cannot be told, although the profile has a time line; "": it can. */
function lostOf(p: Profile, q: Question): string {
  return isTimed(q) && !isOfPages(q.figure) && p.pack.f64("point.time_ns").length ? lostStacks(p.pack.header) : "";
}

export function answer(p: Profile, q: Question): Answer {
  const arrays = new Arrays(p.memory);
  let note = "";
  let bytes: Float64Array;
  let blocks: Float64Array;
  if (isTimed(q)) {
    [bytes, blocks, note] = ofTime(p, q, arrays);
    if (q.thread !== null) note = isOfPages(q.figure) ? "threads are not told apart here" : "threads are not told apart over time";
  } else {
    [bytes, blocks] = ofColumns(p, q, arrays);
    if (q.range) note = `${q.figure} is kept for the whole recording only`;
    else if (q.figure === "leaked" && !q.maps && p.hasSuppressed()) note = "with what is known and harmless";
  }
  const lost = lostOf(p, q);
  if (lost) note = lost;
  const whole: Figures = { bytes, blocks, values: countsBlocks(q.figure) ? blocks : bytes };
  let variance = varianceOfAnswer(p, q, whole, arrays);
  const chosen = chooseSites(p, q, arrays);
  if (chosen) variance = variance && only(variance, chosen, arrays);
  const kept = chosen ? new Chosen(whole, chosen, arrays) : whole;
  const [totalBytes, totalBlocks] = [sumOf(bytes, chosen), sumOf(blocks, chosen)];
  return {
    question: q,
    arrays,
    get bytes() { return kept.bytes; },
    get blocks() { return kept.blocks; },
    get values() { return kept.values; },
    whole: chosen && whole,
    variance,
    total: countsBlocks(q.figure) ? totalBlocks : totalBytes,
    totalBytes,
    totalBlocks,
    chosen,
    note,
    lost,
  };
}

// growing.ts -- what grows steadily within a range: the rule that findings go by (src/model/habits_time.c), applied as if
// the recording had been of the range alone, with nothing live at its beginning.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import { type Arrays, withArrays } from "./memory.ts";
import type { Profile } from "./profile.ts";
import { firstAfter, type Figures, type Range } from "./question.ts";
import { inRange } from "./span.ts";

// All of these are what they are in habits_time.c, which has the reasons.
const POINTS_LEAST = 20;
const NS_LEAST = 1e9;
const LEAK_BYTES = 16 << 10;
const LEAK_BLOCKS = 16;
const LEAK_SHARE = 0.01;
const LEAK_STRAIGHT = 0.97;
const LEAK_BEGINS = 0.2;
const LEAK_ENDS = 0.9;

/** Whether a range shows enough to tell what grows. */
export function isLongEnough(p: Profile, { from, to }: Range): boolean {
  const times = p.pack.f64("point.time_ns");
  return to - from + 1 >= POINTS_LEAST && times[to]! - times[from]! >= NS_LEAST;
}

/** By site: the frame that stands for its place in the program; the number of frames where there is none. */
export function placesOf(p: Profile, arrays: Arrays): Uint32Array {
  const places = arrays.u32ToFill(p.siteCount);
  inRuns(p.siteCount, findPlaces, p.pack.u32("site.own"), p.leafFrames(), p.frameCount, places);
  return places;
}

function findPlaces(from: number, to: number, own: Uint32Array, leaves: Uint32Array, frameCount: number, places: Uint32Array): void {
  for (let i = from; i < to; i++) places[i] = own[i]! < frameCount ? own[i]! : leaves[i]!;
}

/** What places have more at the end of a range, and what stacks that grew have more in all. */
interface Sums {
  bytes: Float64Array;
  blocks: Float64Array;
  grown: number;
}

/** Of what no rule calls harmless. */
function addGrowth(from: number, to: number, sums: Sums, { bytes, blocks }: Figures, places: Uint32Array, rules: Uint32Array): void {
  const { bytes: sumOfBytes, blocks: sumOfBlocks } = sums;
  let { grown } = sums;
  for (let i = from; i < to; i++) {
    if (rules[i]! !== 0) continue;
    const more = bytes[i]!;
    const place = places[i]!;
    sumOfBytes[place]! += more;
    sumOfBlocks[place]! += blocks[i]!;
    grown += Math.max(0, more);
  }
  sums.grown = grown;
}

/** Frames of places that have enough more; at most a hundred, as each has a hundredth of all. */
function findCandidates({ bytes, blocks, grown }: Sums, highest: number): number[] {
  const least = Math.max(LEAK_BYTES, LEAK_SHARE * Math.max(grown, highest));
  const found: number[] = [];
  for (let frame = 0; frame < bytes.length; frame++) if (bytes[frame]! >= least && blocks[frame]! >= LEAK_BLOCKS) found.push(frame);
  return found;
}

/** By site: its candidate from 1 on (0: it is none), and what it had live last, at first that of the range's beginning. */
interface Marked {
  candidates: Uint8Array;
  held: Float64Array;
}

interface Steps extends Marked {
  begin: number; // place of the table of changes
  first: number; // point
  lines: Float64Array[];
}

function addSteps(from: number, to: number, { begin, first, candidates, held, lines }: Steps, points: Uint32Array, sites: Uint32Array, bytes: Float64Array): void {
  for (let i = begin + from; i < begin + to; i++) {
    const site = sites[i]!;
    const candidate = candidates[site]!;
    if (!candidate) continue;
    lines[candidate - 1]![points[i]! - first]! += bytes[i]! - held[site]!;
    held[site] = bytes[i]!;
  }
}

/** By candidate: how much more it has at each point of the range than at its first. */
function linesOf(p: Profile, { from, to }: Range, marked: Marked, count: number): Float64Array[] {
  const points = p.pack.u32("change.point");
  const [begin, end] = [firstAfter(points, from), firstAfter(points, to)];
  const lines = Array.from({ length: count }, () => new Float64Array(to - from + 1));
  inRuns(end - begin, addSteps, { begin, first: from, lines, ...marked }, points, p.pack.u32("change.site"), p.pack.f64("change.live_bytes"));
  for (const line of lines) for (let i = 1; i < line.length; i++) line[i]! += line[i - 1]!;
  return lines;
}

/** The square of the correlation of a line with time; 0 if it does not rise. */
function straightness(times: Float64Array, line: Float64Array): number {
  let [x, y, xx, yy, xy] = [0, 0, 0, 0, 0];
  for (let i = 0; i < line.length; i++) {
    const t = (times[i]! - times[0]!) / 1e9;
    x += t;
    y += line[i]!;
    xx += t * t;
    yy += line[i]! * line[i]!;
    xy += t * line[i]!;
  }
  const n = line.length;
  const [across, along, up] = [xy - (x * y) / n, xx - (x * x) / n, yy - (y * y) / n];
  return along > 0 && up > 0 && across > 0 ? (across * across) / (along * up) : 0;
}

/** How long it takes a line to reach a share of its last value. */
function timeOfShare(times: Float64Array, line: Float64Array, share: number): number {
  let i = 0;
  while (i + 1 < line.length && line[i]! < share * line[line.length - 1]!) i++;
  return times[i]! - times[0]!;
}

/** Nearly straight, from the first fifth of the time to its last tenth. */
export function isSteady(times: Float64Array, line: Float64Array): boolean {
  const span = times[line.length - 1]! - times[0]!;
  return straightness(times, line) >= LEAK_STRAIGHT && timeOfShare(times, line, 0.05) <= LEAK_BEGINS * span && timeOfShare(times, line, 0.98) >= LEAK_ENDS * span;
}

function markCandidates(from: number, to: number, { candidates, held }: Marked, numbers: Uint8Array, places: Uint32Array, rules: Uint32Array, live: Float64Array, growth: Float64Array): void {
  for (let i = from; i < to; i++) {
    candidates[i] = rules[i]! === 0 ? numbers[places[i]!]! : 0;
    held[i] = live[i]! - growth[i]!;
  }
}

/** By frame: 1 if what was allocated there grows within the range. `live` is what sites have at its end, `growth` by how
 * much that is more than at its beginning. Only of a range that is long enough. */
export function growingWithin(p: Profile, range: Range, live: Figures, growth: Figures): Uint8Array {
  const isGrowing = new Uint8Array(p.frameCount + 1);
  const times = p.pack.f64("point.time_ns").subarray(range.from, range.to + 1);
  const rules = p.pack.u32("site.rule");
  const highest = inRange(p, range).most - p.pack.f64("point.live_bytes")[range.from]!;
  withArrays(p.memory, (own) => {
    const places = placesOf(p, own);
    const sums: Sums = { bytes: own.f64(p.frameCount + 1), blocks: own.f64(p.frameCount + 1), grown: 0 };
    inRuns(p.siteCount, addGrowth, sums, growth, places, rules);
    const found = findCandidates(sums, highest);
    if (!found.length) return;
    const numbers = own.u8(p.frameCount + 1);
    found.forEach((frame, i) => (numbers[frame] = i + 1));
    const marked: Marked = { candidates: own.u8ToFill(p.siteCount), held: own.f64ToFill(p.siteCount) };
    inRuns(p.siteCount, markCandidates, marked, numbers, places, rules, live.bytes, growth.bytes);
    linesOf(p, range, marked, found.length).forEach((line, i) => (isGrowing[found[i]!] = isSteady(times, line) ? 1 : 0));
  });
  return isGrowing;
}

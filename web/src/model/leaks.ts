// leaks.ts -- what was never freed, by stack, and whether it grew all the time.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import { growingWithin, isLongEnough, placesOf } from "./growing.ts";
import { type Arrays, withArrays } from "./memory.ts";
import type { Profile } from "./profile.ts";
import { firstAfter, type Answer, type Figures, type Range } from "./question.ts";

export type LeakKind = "growing" | "one-off" | "suppressed";

export interface Leak {
  site: number;
  bytes: number;
  blocks: number;
  kind: LeakKind;
  rule: string; // that suppresses it
  /** Live bytes after each quarter of the recording, or of the range; none of a moment. */
  quarters: number[];
  within: Within;
}

/** What is known of a range: by how much it has more at the end, and how doubtful that and its bytes are where blocks
 * were sampled. Of the whole recording that is 0, and columns have it (interval.ts). */
export interface Within {
  growth: number;
  bytesVariance: number;
  growthVariance: number;
}

const QUARTERS = 4;

/** Some sites' live bytes, when each quarter was over. */
interface Quarters {
  begin: number; // place of the table of changes
  places: Uint16Array; // by site: its place in `live`; 0: nobody asks for it
  live: Float64Array;
}

function follow(from: number, to: number, { begin, places, live }: Quarters, sites: Uint32Array, bytes: Float64Array): void {
  for (let i = begin + from; i < begin + to; i++) live[places[sites[i]!]!] = bytes[i]!;
}

/** What these sites had live when each quarter of a range was over; `start`: at its beginning, by site. */
function byQuarters(p: Profile, wanted: number[], { from, to }: Range, arrays: Arrays, start: (site: number) => number): Map<number, number[]> {
  const times = p.pack.f64("point.time_ns");
  const points = p.pack.u32("change.point");
  const [begin, end] = [from < 0 ? 0 : times[from]!, times[to] ?? 0];
  const q: Quarters = { begin: from < 0 ? 0 : firstAfter(points, from), places: arrays.u16(p.siteCount), live: new Float64Array(wanted.length + 1) };
  wanted.forEach((site, i) => ((q.places[site] = i + 1), (q.live[i + 1] = start(site))));
  const result = new Map<number, number[]>(wanted.map((site) => [site, []]));
  for (let point = Math.max(0, from), quarter = 1; quarter <= QUARTERS; quarter++) {
    while (point < to && times[point + 1]! <= begin + ((end - begin) * quarter) / QUARTERS) point++;
    const next = times[point]! <= begin + ((end - begin) * quarter) / QUARTERS ? firstAfter(points, point) : q.begin;
    inRuns(next - q.begin, follow, q, p.pack.u32("change.site"), p.pack.f64("change.live_bytes"));
    q.begin = next;
    for (const site of wanted) result.get(site)!.push(q.live[q.places[site]!]!);
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

export interface LeakGroup extends Within {
  bytes: number;
  blocks: number;
  stacks: number;
  largest: Leak[];
}

export type LeakGroups = Record<LeakKind, LeakGroup>;

/** The `shown` sites with most, the largest first: of those that come one by one, only what may be
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

/** Adds sites to their groups, and to the largest of them. */
function addUp(from: number, to: number, kinds: Uint8Array, left: Left, groups: LeakGroup[], largest: Largest[]): void {
  const { bytes, blocks } = left.figures;
  const { growth, variance, growthVariance } = left;
  for (let site = from; site < to; site++) {
    const kind = kinds[site]!;
    if (kind >= NONE) continue;
    const group = groups[kind]!;
    group.bytes += bytes[site]!;
    group.blocks += blocks[site]!;
    group.stacks++;
    if (growth) group.growth += growth.bytes[site]!;
    if (variance) group.bytesVariance += variance[site]!;
    if (growthVariance) group.growthVariance += growthVariance[site]!;
    largest[kind]!.add(site);
  }
}

/** By kind: what it comes to, and the largest `shown` stacks: what grows within a range by how much, all others by what
 * there is of them. `range`: null the whole recording. */
function groupUp(p: Profile, left: Left, kinds: Uint8Array, range: Range | null, shown: number): LeakGroups {
  const { bytes, blocks } = left.figures;
  const rules = p.pack.u32("site.rule");
  const groups = KINDS.map((): LeakGroup => ({ bytes: 0, blocks: 0, stacks: 0, largest: [], growth: 0, bytesVariance: 0, growthVariance: 0 }));
  const largest = KINDS.map((kind) => new Largest(kind === "growing" && left.growth ? left.growth.bytes : bytes, blocks, shown));
  inRuns(p.siteCount, addUp, kinds, left, groups, largest);
  const picked = largest.map((l) => l.take());
  const whole = { from: -1, to: p.pack.f64("point.time_ns").length - 1 };
  const before = (site: number): number => (left.growth ? bytes[site]! - left.growth.bytes[site]! : 0);
  const quarters = range && !left.growth ? null : withArrays(p.memory, (own) => byQuarters(p, picked.flat(), range ?? whole, own, before));
  const leak = (site: number, kind: LeakKind): Leak => ({ site, kind, bytes: bytes[site]!, blocks: blocks[site]!, rule: p.text(rules[site]!), quarters: quarters?.get(site) ?? [], within: withinOf(left, site) });
  groups.forEach((group, k) => (group.largest = picked[k]!.map((site) => leak(site, KINDS[k]!))));
  return { growing: groups[0]!, "one-off": groups[1]!, suppressed: groups[2]! };
}

/** What was never freed. */
export function findLeaks(p: Profile, shown: number): LeakGroups {
  const [bytes, blocks] = [p.pack.f64("site.live_bytes"), p.pack.f64("site.live_blocks")];
  const figures = { bytes, blocks, values: bytes };
  return withArrays(p.memory, (own) => {
    const kinds = own.u8ToFill(p.siteCount);
    const places = placesOf(p, own);
    inRuns(p.siteCount, judge, kinds, figures, p.pack.u32("site.rule"), growingFrames(p, places), places);
    return groupUp(p, { figures, growth: null, variance: null, growthVariance: null }, kinds, null, shown);
  });
}

/** What was not freed at the end of a range, as if the recording had ended there. */
export interface LeaksWithin {
  groups: LeakGroups;
  /** The range is long enough to tell what grows. */
  isTold: boolean;
}

/** `live`: at the end of the range, `growth`: across it, null of a moment; neither is kept. */
export function findLeaksWithin(p: Profile, range: Range, live: Answer, growth: Answer | null, shown: number): LeaksWithin {
  const isTold = growth !== null && isLongEnough(p, range);
  const groups = withArrays(p.memory, (own) => {
    const growing = isTold ? growingWithin(p, range, live, growth) : new Uint8Array(p.frameCount + 1);
    const kinds = own.u8ToFill(p.siteCount);
    inRuns(p.siteCount, judge, kinds, live, p.pack.u32("site.rule"), growing, placesOf(p, own));
    return groupUp(p, { figures: live, growth, variance: live.variance, growthVariance: growth?.variance ?? null }, kinds, range, shown);
  });
  return { groups, isTold };
}

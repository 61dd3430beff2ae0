// sizes.ts -- how large blocks are and how long they live: buckets by powers of two.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import { withArrays } from "./memory.ts";
import { largestFew } from "./order.ts";
import type { Profile } from "./profile.ts";
import type { Range } from "./question.ts";
import type { Work } from "./stacks.ts";

export const BUCKETS = 65; // 0: nothing; i: 2^(i-1) <= n < 2^i

export function bucketOf(n: number): number {
  if (n < 1) return 0;
  return n < 2 ** 32 ? 32 - Math.clz32(n) : Math.min(BUCKETS - 1, 64 - Math.clz32(n / 2 ** 32));
}

/** Of the mean size of some blocks. The mean of several recordings can be some bytes of no block: they count as one. */
export function meanBucket(bytes: number, blocks: number): number {
  return bucketOf(bytes / Math.max(1, blocks));
}

/** The least and the most that fall into a bucket. */
export function bucketRange(i: number): [number, number] {
  return i === 0 ? [0, 0] : [2 ** (i - 1), 2 ** i - 1];
}

/** The buckets between the first and the last with anything in them. */
export function usedBuckets(values: (i: number) => number): [number, number] {
  let first = BUCKETS;
  let last = 0;
  for (let i = 0; i < BUCKETS; i++) if (values(i) > 0) [first, last] = [Math.min(first, i), i];
  return first > last ? [0, 0] : [first, last];
}

export interface Cell {
  size: number;
  life: number;
}

/** Stacks behind a cell: how many they are, and the few that have most. */
export interface SitesFound {
  count: number;
  few: Uint32Array;
}

interface Found {
  sites: Uint32Array;
  count: number;
}

/** Stacks that can have blocks in a cell: its sizes and lifetimes lie between what they had. The
 * most calls first. */
export function sitesInCell(p: Profile, cell: Cell, few: number): SitesFound {
  return withArrays(p.memory, (own) => {
    const found: Found = { sites: own.u32ToFill(p.siteCount), count: 0 };
    inRuns(p.siteCount, addFitting, p, cell, found);
    return { count: found.count, few: largestFew(found.sites.subarray(0, found.count), p.pack.f64("site.frees"), few) };
  });
}

const has = (low: number, high: number, bucket: number): boolean => bucketOf(low) <= bucket && bucket <= bucketOf(high);

function addFitting(from: number, to: number, { pack }: Profile, { size, life }: Cell, found: Found): void {
  const smallest = pack.f64("site.size_min");
  const largest = pack.f64("site.size_max");
  const shortest = pack.f64("site.lifetime_min_ns");
  const longest = pack.f64("site.lifetime_max_ns");
  const frees = pack.f64("site.frees");
  for (let i = from; i < to; i++)
    if (frees[i]! > 0 && has(smallest[i]!, largest[i]!, size) && has(shortest[i]!, longest[i]!, life)) found.sites[found.count++] = i;
}

const POINTS_A_STEP = 50;

/** Live bytes and blocks by point and by the mean size of each stack's live blocks: the time line is kept by stack. */
export class SizesOverTime implements Work {
  readonly points: number;
  readonly bytes: Float64Array[]; // by bucket, then by point
  readonly blocks: Float64Array[];
  private readonly now = { bytes: new Float64Array(BUCKETS), blocks: new Float64Array(BUCKETS) };
  private lastBucket: Uint8Array; // by site; these three are let go when all is done
  private lastBytes: Float64Array;
  private lastBlocks: Float64Array;
  private point = 0;
  private change = 0;

  constructor(private readonly profile: Profile) {
    this.points = profile.pack.f64("point.time_ns").length;
    [this.bytes, this.blocks] = [this.rows(), this.rows()];
    this.lastBucket = new Uint8Array(profile.siteCount);
    [this.lastBytes, this.lastBlocks] = [new Float64Array(profile.siteCount), new Float64Array(profile.siteCount)];
  }

  private rows(): Float64Array[] {
    return Array.from({ length: BUCKETS }, () => new Float64Array(this.points));
  }

  step(): boolean {
    const end = Math.min(this.points, this.point + POINTS_A_STEP);
    for (; this.point < end; this.point++) this.follow(this.point);
    if (this.point < this.points) return false;
    this.lastBucket = new Uint8Array();
    this.lastBytes = this.lastBlocks = new Float64Array();
    return true;
  }

  private follow(at: number): void {
    const { pack } = this.profile;
    const [point, site] = [pack.u32("change.point"), pack.u32("change.site")];
    const [bytes, blocks] = [pack.f64("change.live_bytes"), pack.f64("change.live_blocks")];
    const { now, lastBucket, lastBytes, lastBlocks } = this;
    let i = this.change;
    for (; i < point.length && point[i]! <= at; i++) {
      const s = site[i]!;
      now.bytes[lastBucket[s]!]! -= lastBytes[s]!;
      now.blocks[lastBucket[s]!]! -= lastBlocks[s]!;
      lastBucket[s] = meanBucket(bytes[i]!, blocks[i]!);
      lastBytes[s] = bytes[i]!;
      lastBlocks[s] = blocks[i]!;
      now.bytes[lastBucket[s]!]! += bytes[i]!;
      now.blocks[lastBucket[s]!]! += blocks[i]!;
    }
    this.change = i;
    for (let b = 0; b < BUCKETS; b++) {
      this.bytes[b]![at] = now.bytes[b]!;
      this.blocks[b]![at] = now.blocks[b]!;
    }
  }
}

export interface Live {
  bytes: number;
  blocks: number;
}

/** Live at the ends of a range, and the most bytes at one of its points. */
export interface SizeChange {
  first: Live;
  last: Live;
  mostBytes: number;
}

/** By bucket, and all together: what is highest of all is not the sum of what is highest of each. */
export function sizesIn({ bytes, blocks }: SizesOverTime, { from, to }: Range): { buckets: SizeChange[]; all: SizeChange } {
  const at = (b: number, point: number): Live => ({ bytes: bytes[b]![point] ?? 0, blocks: blocks[b]![point] ?? 0 });
  const sums = bytes.reduce((sum, row) => sum.map((v, i) => v + (row[from + i] ?? 0)), new Float64Array(to - from + 1));
  const most = (values: Float64Array): number => values.reduce((a, v) => Math.max(a, v), 0);
  const buckets = bytes.map((row, b): SizeChange => ({ first: at(b, from), last: at(b, to), mostBytes: most(row.subarray(from, to + 1)) }));
  const sum = (end: "first" | "last", what: keyof Live): number => buckets.reduce((n, bucket) => n + bucket[end][what], 0);
  const whole = (end: "first" | "last"): Live => ({ bytes: sum(end, "bytes"), blocks: sum(end, "blocks") });
  return { buckets, all: { first: whole("first"), last: whole("last"), mostBytes: most(sums) } };
}

/** What sites had live at a moment. */
interface LiveSites {
  bytes: Float64Array;
  blocks: Float64Array;
  variance: Float64Array | null;
}

/** Stacks whose live blocks had a mean size of a bucket, most bytes first, and what all of them had. */
export function sitesOfSize(p: Profile, live: LiveSites, bucket: number, few: number): SitesFound & Live & { variance: number } {
  return withArrays(p.memory, (own) => {
    const found: Found = { sites: own.u32ToFill(live.bytes.length), count: 0 };
    inRuns(live.bytes.length, addOfSize, live.bytes, live.blocks, bucket, found);
    const sites = found.sites.subarray(0, found.count);
    const sum = (values: Float64Array | null): number => (values ? sites.reduce((n, site) => n + values[site]!, 0) : 0);
    return { count: found.count, few: largestFew(sites, live.bytes, few), bytes: sum(live.bytes), blocks: sum(live.blocks), variance: sum(live.variance) };
  });
}

function addOfSize(from: number, to: number, bytes: Float64Array, blocks: Float64Array, bucket: number, found: Found): void {
  for (let i = from; i < to; i++) if ((bytes[i]! > 0 || blocks[i]! > 0) && meanBucket(bytes[i]!, blocks[i]!) === bucket) found.sites[found.count++] = i;
}

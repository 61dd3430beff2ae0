// sizes.ts -- how large blocks are and how long they live: buckets by powers of two.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import { largestOf } from "./order.ts";
import type { Profile } from "./profile.ts";
import type { Work } from "./stacks.ts";

export const BUCKETS = 65; // 0: nothing; i: 2^(i-1) <= n < 2^i

export function bucketOf(n: number): number {
  if (n < 1) return 0;
  return n < 2 ** 32 ? 32 - Math.clz32(n) : Math.min(BUCKETS - 1, 64 - Math.clz32(n / 2 ** 32));
}

/** The least and the most that fall into a bucket. */
export function bucketRange(i: number): [number, number] {
  return i === 0 ? [0, 0] : [2 ** (i - 1), 2 ** i - 1];
}

export interface Cell {
  size: number;
  life: number;
}

/** Stacks that can have blocks in a cell: its sizes and lifetimes lie between what they had. The
 * most calls first. */
export function sitesInCell(p: Profile, cell: Cell): Uint32Array {
  const found = { sites: new Uint32Array(p.siteCount), count: 0 };
  inRuns(p.siteCount, addFitting, p, cell, found);
  return largestOf(found.sites.subarray(0, found.count), p.pack.f64("site.frees"));
}

const has = (low: number, high: number, bucket: number): boolean => bucketOf(low) <= bucket && bucket <= bucketOf(high);

function addFitting(from: number, to: number, { pack }: Profile, { size, life }: Cell, found: { sites: Uint32Array; count: number }): void {
  const smallest = pack.f64("site.size_min");
  const largest = pack.f64("site.size_max");
  const shortest = pack.f64("site.lifetime_min_ns");
  const longest = pack.f64("site.lifetime_max_ns");
  const frees = pack.f64("site.frees");
  for (let i = from; i < to; i++)
    if (frees[i]! > 0 && has(smallest[i]!, largest[i]!, size) && has(shortest[i]!, longest[i]!, life)) found.sites[found.count++] = i;
}

const POINTS_A_STEP = 50;

/** Live bytes by point and by the mean size of each stack's live blocks. */
export class SizesOverTime implements Work {
  readonly points: number;
  readonly rows: Float64Array[]; // by bucket, then by point
  private readonly now = new Float64Array(BUCKETS);
  private readonly lastBucket: Uint8Array; // by site
  private readonly lastBytes: Float64Array;
  private point = 0;
  private change = 0;

  constructor(private readonly profile: Profile) {
    this.points = profile.pack.f64("point.time_ns").length;
    this.rows = Array.from({ length: BUCKETS }, () => new Float64Array(this.points));
    this.lastBucket = new Uint8Array(profile.siteCount);
    this.lastBytes = new Float64Array(profile.siteCount);
  }

  step(): boolean {
    const end = Math.min(this.points, this.point + POINTS_A_STEP);
    for (; this.point < end; this.point++) this.follow(this.point);
    return this.point === this.points;
  }

  private follow(at: number): void {
    const { pack } = this.profile;
    const [point, site] = [pack.u32("change.point"), pack.u32("change.site")];
    const [bytes, blocks] = [pack.f64("change.live_bytes"), pack.f64("change.live_blocks")];
    const { now, lastBucket, lastBytes } = this;
    let i = this.change;
    for (; i < point.length && point[i]! <= at; i++) {
      const s = site[i]!;
      now[lastBucket[s]!]! -= lastBytes[s]!;
      lastBucket[s] = blocks[i]! > 0 ? bucketOf(bytes[i]! / blocks[i]!) : 0;
      lastBytes[s] = bytes[i]!;
      now[lastBucket[s]!]! += bytes[i]!;
    }
    this.change = i;
    for (let b = 0; b < BUCKETS; b++) this.rows[b]![at] = now[b]!;
  }
}

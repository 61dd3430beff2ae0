// sizes.ts -- how large blocks are and how long they live: buckets by powers of two.
// SPDX-License-Identifier: Apache-2.0

import type { Profile } from "./profile.ts";

export const BUCKETS = 65; // 0: nothing; i: 2^(i-1) <= n < 2^i

export function bucketOf(n: number): number {
  if (n < 1) return 0;
  // The logarithm of a number just below a large power of two is rounded up to that power.
  const i = Math.floor(Math.log2(n)) + 1;
  return Math.min(BUCKETS - 1, 2 ** (i - 1) > n ? i - 1 : i);
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
export function sitesInCell(p: Profile, cell: Cell): number[] {
  const smallest = p.pack.f64("site.size_min");
  const largest = p.pack.f64("site.size_max");
  const shortest = p.pack.f64("site.lifetime_min_ns");
  const longest = p.pack.f64("site.lifetime_max_ns");
  const frees = p.pack.f64("site.frees");
  const sites: number[] = [];
  for (let i = 0; i < p.siteCount; i++)
    if (frees[i]! > 0 && bucketOf(smallest[i]!) <= cell.size && cell.size <= bucketOf(largest[i]!) &&
        bucketOf(shortest[i]!) <= cell.life && cell.life <= bucketOf(longest[i]!)) sites.push(i);
  return sites.sort((a, b) => frees[b]! - frees[a]!);
}

/** Live bytes by point and by the mean size of each stack's live blocks. */
export function sizeOverTime(p: Profile): { points: number; rows: Float64Array[] } {
  const times = p.pack.f64("point.time_ns");
  const point = p.pack.u32("change.point");
  const site = p.pack.u32("change.site");
  const bytes = p.pack.f64("change.live_bytes");
  const blocks = p.pack.f64("change.live_blocks");
  const now = new Float64Array(BUCKETS);
  const lastBucket = new Uint8Array(p.siteCount);
  const lastBytes = new Float64Array(p.siteCount);
  const rows = Array.from({ length: BUCKETS }, () => new Float64Array(times.length));
  for (let i = 0, at = 0; at < times.length; at++) {
    for (; i < point.length && point[i]! <= at; i++) {
      const s = site[i]!;
      now[lastBucket[s]!]! -= lastBytes[s]!;
      lastBucket[s] = blocks[i]! > 0 ? bucketOf(bytes[i]! / blocks[i]!) : 0;
      lastBytes[s] = bytes[i]!;
      now[lastBucket[s]!]! += bytes[i]!;
    }
    for (let b = 0; b < BUCKETS; b++) rows[b]![at] = now[b]!;
  }
  return { points: times.length, rows };
}

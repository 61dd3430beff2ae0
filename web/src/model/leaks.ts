// leaks.ts -- what was never freed, by stack, and whether it grew all the time.
// SPDX-License-Identifier: Apache-2.0

import type { Profile } from "./profile.ts";

export type LeakKind = "growing" | "one-off" | "suppressed";

export interface Leak {
  site: number;
  bytes: number;
  blocks: number;
  kind: LeakKind;
  rule: string; // that suppresses it
  /** Live bytes after each quarter of the recording. */
  quarters: number[];
}

const QUARTERS = 4;
// A leak grows if it has more at the end of each of the last quarters than at the end of the one
// before, by at least so much of what it has in the end.
const LEAST_STEP = 0.05;

/** What each site had live when each quarter was over. */
function byQuarters(p: Profile): Float64Array[] {
  const times = p.pack.f64("point.time_ns");
  const points = p.pack.u32("change.point");
  const sites = p.pack.u32("change.site");
  const bytes = p.pack.f64("change.live_bytes");
  const end = times[times.length - 1] ?? 0;
  const live = new Float64Array(p.siteCount);
  const result: Float64Array[] = [];
  for (let i = 0, quarter = 1; quarter <= QUARTERS; quarter++) {
    for (; i < points.length && times[points[i]!]! <= (end * quarter) / QUARTERS; i++) live[sites[i]!] = bytes[i]!;
    result.push(live.slice());
  }
  return result;
}

function grows(quarters: number[], bytes: number): boolean {
  for (let i = 1; i < quarters.length; i++) if (quarters[i]! - quarters[i - 1]! < LEAST_STEP * bytes) return false;
  return quarters.length > 1 && bytes > 0;
}

/** The largest first. */
export function findLeaks(p: Profile): Leak[] {
  const bytes = p.pack.f64("site.live_bytes");
  const blocks = p.pack.f64("site.live_blocks");
  const rules = p.pack.u32("site.rule");
  const quarters = byQuarters(p);
  const leaks: Leak[] = [];
  for (let site = 0; site < p.siteCount; site++) {
    if (blocks[site] === 0) continue;
    const of = quarters.map((q) => q[site]!);
    const kind = rules[site] ? "suppressed" : grows(of, bytes[site]!) ? "growing" : "one-off";
    leaks.push({ site, bytes: bytes[site]!, blocks: blocks[site]!, kind, rule: p.text(rules[site]!), quarters: of });
  }
  return leaks.sort((a, b) => b.bytes - a.bytes || b.blocks - a.blocks);
}

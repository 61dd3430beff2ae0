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

function grows(quarters: Float64Array[], site: number, bytes: number): boolean {
  for (let i = 1; i < quarters.length; i++) if (quarters[i]![site]! - quarters[i - 1]![site]! < LEAST_STEP * bytes) return false;
  return bytes > 0;
}

export interface LeakGroup {
  bytes: number;
  blocks: number;
  stacks: number;
  largest: Leak[];
}

/** By kind: what it comes to, and the largest `shown` stacks, the largest first. */
export function findLeaks(p: Profile, shown: number): Record<LeakKind, LeakGroup> {
  const bytes = p.pack.f64("site.live_bytes");
  const blocks = p.pack.f64("site.live_blocks");
  const rules = p.pack.u32("site.rule");
  const quarters = byQuarters(p);
  const none = (): LeakGroup => ({ bytes: 0, blocks: 0, stacks: 0, largest: [] });
  const groups = { growing: none(), "one-off": none(), suppressed: none() };
  const sites: Record<LeakKind, number[]> = { growing: [], "one-off": [], suppressed: [] };
  for (let site = 0; site < p.siteCount; site++) {
    if (blocks[site] === 0) continue;
    const kind = rules[site] ? "suppressed" : grows(quarters, site, bytes[site]!) ? "growing" : "one-off";
    groups[kind].bytes += bytes[site]!;
    groups[kind].blocks += blocks[site]!;
    groups[kind].stacks++;
    sites[kind].push(site);
  }
  for (const kind of Object.keys(groups) as LeakKind[])
    groups[kind].largest = sites[kind].sort((a, b) => bytes[b]! - bytes[a]! || blocks[b]! - blocks[a]!).slice(0, shown).map((site) => ({
      site, kind, bytes: bytes[site]!, blocks: blocks[site]!, rule: p.text(rules[site]!), quarters: quarters.map((q) => q[site]!),
    }));
  return groups;
}

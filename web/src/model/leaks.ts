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

/** What these sites had live when each quarter was over. */
function byQuarters(p: Profile, wanted: number[]): Map<number, number[]> {
  const times = p.pack.f64("point.time_ns");
  const points = p.pack.u32("change.point");
  const sites = p.pack.u32("change.site");
  const bytes = p.pack.f64("change.live_bytes");
  const end = times[times.length - 1] ?? 0;
  const isWanted = new Uint8Array(p.siteCount);
  for (const site of wanted) isWanted[site] = 1;
  const live = new Map<number, number>();
  const result = new Map<number, number[]>(wanted.map((site) => [site, []]));
  for (let i = 0, quarter = 1; quarter <= QUARTERS; quarter++) {
    for (; i < points.length && times[points[i]!]! <= (end * quarter) / QUARTERS; i++) if (isWanted[sites[i]!]) live.set(sites[i]!, bytes[i]!);
    for (const [site, quarters] of result) quarters.push(live.get(site) ?? 0);
  }
  return result;
}

const keyOf = (name: unknown, file: unknown, line: unknown): string => `${String(name)}\0${String(file)}\0${String(line)}`;

/** The places whose leaks grow all the time, as the findings have them. */
function growingPlaces(p: Profile): Set<string> {
  const places = new Set<string>();
  for (const f of p.pack.header.findings?.findings ?? []) {
    if (f["kind"] !== "growing-leak" || !Array.isArray(f["stack"])) continue;
    const frame = f["stack"][Number(f["own_frame"]) || 0] as { [key: string]: unknown } | undefined;
    if (frame) places.add(keyOf(frame["function"], frame["file"], frame["line"]));
  }
  return places;
}

/** By site: 1 if it belongs to such a place. */
function findGrowing(p: Profile): Uint8Array {
  const places = growingPlaces(p);
  const own = p.pack.u32("site.own");
  const isGrowing = new Map<number, number>();
  if (!places.size) return new Uint8Array(own.length);
  return Uint8Array.from(own, (frame) => {
    if (frame >= p.frameCount) return 0;
    let known = isGrowing.get(frame);
    if (known === undefined) isGrowing.set(frame, (known = places.has(keyOf(p.functionName(frame), p.filePath(frame), p.frameLine[frame])) ? 1 : 0));
    return known;
  });
}

export interface LeakGroup {
  bytes: number;
  blocks: number;
  stacks: number;
  largest: Leak[];
}

/** The `shown` sites with most, the largest first. Numbers alone are sorted much faster than sites. */
function pickLargest(sites: number[], bytes: Float64Array, blocks: Float64Array, shown: number): number[] {
  const sorted = new Float64Array(sites.length);
  for (let i = 0; i < sites.length; i++) sorted[i] = bytes[sites[i]!]!;
  sorted.sort();
  const least = sorted[Math.max(0, sorted.length - shown)] ?? 0;
  return sites.filter((site) => bytes[site]! >= least).sort((a, b) => bytes[b]! - bytes[a]! || blocks[b]! - blocks[a]!).slice(0, shown);
}

/** By kind: what it comes to, and the largest `shown` stacks, the largest first. */
export function findLeaks(p: Profile, shown: number): Record<LeakKind, LeakGroup> {
  const bytes = p.pack.f64("site.live_bytes");
  const blocks = p.pack.f64("site.live_blocks");
  const rules = p.pack.u32("site.rule");
  const growing = findGrowing(p);
  const none = (): LeakGroup => ({ bytes: 0, blocks: 0, stacks: 0, largest: [] });
  const groups = { growing: none(), "one-off": none(), suppressed: none() };
  const sites: Record<LeakKind, number[]> = { growing: [], "one-off": [], suppressed: [] };
  for (let site = 0; site < p.siteCount; site++) {
    if (blocks[site] === 0) continue;
    const kind = rules[site] ? "suppressed" : growing[site] ? "growing" : "one-off";
    groups[kind].bytes += bytes[site]!;
    groups[kind].blocks += blocks[site]!;
    groups[kind].stacks++;
    sites[kind].push(site);
  }
  const kinds = Object.keys(groups) as LeakKind[];
  const picked = kinds.map((kind) => pickLargest(sites[kind], bytes, blocks, shown));
  const quarters = byQuarters(p, picked.flat());
  kinds.forEach((kind, k) => {
    groups[kind].largest = picked[k]!.map((site) => ({
      site, kind, bytes: bytes[site]!, blocks: blocks[site]!, rule: p.text(rules[site]!), quarters: quarters.get(site)!,
    }));
  });
  return groups;
}

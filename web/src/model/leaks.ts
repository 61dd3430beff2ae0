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
  // By site: its place in `live`; 0: nobody asks for it.
  const places = new Uint32Array(p.siteCount);
  wanted.forEach((site, i) => (places[site] = i + 1));
  const live = new Float64Array(wanted.length + 1);
  const result = new Map<number, number[]>(wanted.map((site) => [site, []]));
  for (let i = 0, point = 0, quarter = 1; quarter <= QUARTERS; quarter++) {
    while (point < times.length && times[point]! <= (end * quarter) / QUARTERS) point++;
    for (; i < points.length && points[i]! < point; i++) live[places[sites[i]!]!] = bytes[i]!;
    for (const site of wanted) result.get(site)!.push(live[places[site]!]!);
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

/** By frame: 1 if it is such a place. */
function growingFrames(p: Profile): Uint8Array {
  const places = growingPlaces(p);
  const isGrowing = new Uint8Array(p.frameCount);
  if (!places.size) return isGrowing;
  const own = p.pack.u32("site.own");
  const seen = new Uint8Array(p.frameCount);
  for (let site = 0; site < own.length; site++) {
    const frame = own[site]!;
    if (frame >= p.frameCount || seen[frame]) continue;
    seen[frame] = 1;
    isGrowing[frame] = places.has(keyOf(p.functionName(frame), p.filePath(frame), p.frameLine[frame])) ? 1 : 0;
  }
  return isGrowing;
}

export interface LeakGroup {
  bytes: number;
  blocks: number;
  stacks: number;
  largest: Leak[];
}

/** The `shown` sites with most, the largest first: of those that come one by one, only what may be
 * among them is kept and, now and then, sorted. */
class Largest {
  private kept: number[] = [];
  private least = -1;
  private readonly larger = (a: number, b: number): number => this.bytes[b]! - this.bytes[a]! || this.blocks[b]! - this.blocks[a]! || a - b;

  constructor(private readonly bytes: Float64Array, private readonly blocks: Float64Array, private readonly shown: number) {}

  add(site: number): void {
    if (this.bytes[site]! < this.least) return;
    this.kept.push(site);
    if (this.kept.length > 4 * this.shown + 100) this.take();
  }

  take(): number[] {
    this.kept = this.kept.sort(this.larger).slice(0, this.shown);
    if (this.shown > 0 && this.kept.length === this.shown) this.least = this.bytes[this.kept[this.shown - 1]!]!;
    return this.kept;
  }
}

const KINDS: LeakKind[] = ["growing", "one-off", "suppressed"];

/** By site: its kind by number; 3: nothing of it is left. */
function kindsOf(p: Profile, blocks: Float64Array): Uint8Array {
  const rules = p.pack.u32("site.rule");
  const own = p.pack.u32("site.own");
  const growing = growingFrames(p);
  const kinds = new Uint8Array(p.siteCount);
  for (let site = 0; site < kinds.length; site++) kinds[site] = blocks[site] === 0 ? 3 : rules[site] ? 2 : growing[own[site]!] ? 0 : 1;
  return kinds;
}

/** By kind: what it comes to, and the largest `shown` stacks, the largest first. */
export function findLeaks(p: Profile, shown: number): Record<LeakKind, LeakGroup> {
  const bytes = p.pack.f64("site.live_bytes");
  const blocks = p.pack.f64("site.live_blocks");
  const rules = p.pack.u32("site.rule");
  const kinds = kindsOf(p, blocks);
  const groups = KINDS.map((): LeakGroup => ({ bytes: 0, blocks: 0, stacks: 0, largest: [] }));
  const largest = KINDS.map(() => new Largest(bytes, blocks, shown));
  for (let site = 0; site < kinds.length; site++) {
    const kind = kinds[site]!;
    if (kind >= KINDS.length) continue;
    const group = groups[kind]!;
    group.bytes += bytes[site]!;
    group.blocks += blocks[site]!;
    group.stacks++;
    largest[kind]!.add(site);
  }
  const picked = largest.map((l) => l.take());
  const quarters = byQuarters(p, picked.flat());
  const leak = (site: number, kind: LeakKind): Leak => ({ site, kind, bytes: bytes[site]!, blocks: blocks[site]!, rule: p.text(rules[site]!), quarters: quarters.get(site)! });
  groups.forEach((group, k) => (group.largest = picked[k]!.map((site) => leak(site, KINDS[k]!))));
  return { growing: groups[0]!, "one-off": groups[1]!, suppressed: groups[2]! };
}

// maps.ts -- what the program mapped itself, by the function that did it.
// SPDX-License-Identifier: Apache-2.0

import type { Profile } from "./profile.ts";
import type { Range } from "./question.ts";

/** The maps of one function of the program's own. */
export interface Mapper {
  frame: number;
  sites: number[];
  kinds: number[];
  peak: number; // bytes, at the peak of all maps
  left: number; // bytes, at the end
  mapped: number; // bytes
  maps: number;
}

/** `p` is the profile seen as maps. */
export function listMappers(p: Profile): Mapper[] {
  const { pack } = p;
  const [peak, left, mapped, maps] = ["at_peak_bytes", "live_bytes", "allocated_bytes", "allocations"].map((c) => pack.f64(`site.${c}`)) as [Float64Array, Float64Array, Float64Array, Float64Array];
  const kinds = pack.u32("site.kind");
  const byGroup = new Map<number, Mapper>();
  for (let site = 0; site < p.siteCount; site++) {
    const frame = p.ownFrames()[site]!;
    let mapper = byGroup.get(p.frameGroup[frame]!);
    if (!mapper) byGroup.set(p.frameGroup[frame]!, (mapper = { frame, sites: [], kinds: [], peak: 0, left: 0, mapped: 0, maps: 0 }));
    mapper.sites.push(site);
    if (!mapper.kinds.includes(kinds[site]!)) mapper.kinds.push(kinds[site]!);
    mapper.peak += peak[site]!;
    mapper.left += left[site]!;
    mapper.mapped += mapped[site]!;
    mapper.maps += maps[site]!;
  }
  return [...byGroup.values()];
}

/** All maps together at the ends of a range, and the highest within. */
export interface MappedSpan {
  first: { bytes: number; maps: number };
  last: { bytes: number; maps: number };
  most: number;
}

/** Of a profile, not of its maps: its time line has the sum of all maps; null: it has not. */
export function mappedIn({ pack }: Profile, { from, to }: Range): MappedSpan | null {
  if (!pack.has("point.mapped_bytes")) return null;
  const [bytes, counts, highest] = ["mapped_bytes", "mapped_count", "mapped_peak_bytes"].map((c) => pack.f64(`point.${c}`)) as [Float64Array, Float64Array, Float64Array];
  const at = (point: number) => ({ bytes: bytes[point]!, maps: counts[point]! });
  // What is highest since the point before is of the range only behind its first point.
  return { first: at(from), last: at(to), most: highest.subarray(from + 1, to + 1).reduce((a, b) => Math.max(a, b), bytes[from]!) };
}

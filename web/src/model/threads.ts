// threads.ts -- what threads had live over time, as far as it was recorded.
// SPDX-License-Identifier: Apache-2.0

import type { Profile } from "./profile.ts";
import type { Range } from "./question.ts";

/** Live bytes at each point, by serial. The time line is kept by stack: stacks that several threads
 * came through are under serial 0. */
export function liveByThread(p: Profile): Map<number, Float64Array> {
  const points = p.pack.f64("point.time_ns").length;
  const point = p.pack.u32("change.point");
  const site = p.pack.u32("change.site");
  const bytes = p.pack.f64("change.live_bytes");
  const only = p.pack.u32("site.thread");
  const last = new Float64Array(p.siteCount);
  const result = new Map<number, Float64Array>();
  const bySerial: Float64Array[] = []; // the same: found faster
  for (let i = 0; i < point.length; i++) {
    const s = site[i]!;
    const serial = only[s]!;
    const steps = bySerial[serial] ?? (bySerial[serial] = new Float64Array(points));
    steps[point[i]!]! += bytes[i]! - last[s]!;
    last[s] = bytes[i]!;
  }
  bySerial.forEach((steps, serial) => result.set(serial, steps));
  for (const steps of result.values()) for (let i = 1; i < points; i++) steps[i]! += steps[i - 1]!;
  return result;
}

/** What a line comes to within a range: at its ends, and the most at any point of it. */
export interface LineWithin {
  start: number;
  end: number;
  most: number;
}

export function lineWithin(line: Float64Array, { from, to }: Range): LineWithin {
  return { start: line[from]!, end: line[to]!, most: line.subarray(from, to + 1).reduce((a, b) => Math.max(a, b), 0) };
}

/** How long something that is from `start` until `end` is between two times. */
export function timeWithin([start, end]: [number, number], [from, to]: [number, number]): number {
  return Math.max(0, Math.min(end, to) - Math.max(start, from));
}

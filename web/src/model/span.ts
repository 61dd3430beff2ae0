// span.ts -- what the time line tells of a range of it.
// SPDX-License-Identifier: Apache-2.0

import type { Profile } from "./profile.ts";
import type { Range } from "./question.ts";

export interface Span {
  ns: number;
  /** Counted between its ends. */
  allocations: number;
  allocatedBytes: number;
  /** Highest live bytes, also between two points. */
  most: number;
  rss: number;
}

export function inRange(p: Profile, { from, to }: Range): Span {
  const column = (name: string): Float64Array => p.pack.f64(`point.${name}`);
  const across = (name: string): number => column(name)[to]! - column(name)[from]!;
  // What is highest since the point before is of the range only behind its first point.
  const most = (values: Float64Array, first: number, at: number): number => values.subarray(first, to + 1).reduce((a, b) => Math.max(a, b), at);
  return {
    ns: across("time_ns"),
    allocations: across("allocations"),
    allocatedBytes: across("allocated_bytes"),
    most: most(column("peak_bytes"), from + 1, column("live_bytes")[from]!),
    rss: most(column("rss_bytes"), from, 0),
  };
}

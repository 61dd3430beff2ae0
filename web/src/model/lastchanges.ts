// lastchanges.ts -- which change of each site was the last one until some time.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import type { Arrays } from "./memory.ts";
import type { Work } from "./stacks.ts";

const PARTS = 4; // of the table: at the end of each it is kept how far things are, so that one is gone through at most

function follow(from: number, to: number, begin: number, sites: Uint32Array, last: Uint32Array): void {
  for (let i = begin + from; i < begin + to; i++) last[sites[i]!] = i + 1;
}

/** Of the table of changes, which are in the order of time. */
export class LastChanges implements Work {
  private readonly kept: Uint32Array[] = []; // after one part, two, …

  /** `sites`: by change. */
  constructor(private readonly sites: Uint32Array, private readonly siteCount: number) {}

  private endOf(part: number): number {
    return Math.floor((this.sites.length * part) / PARTS);
  }

  /** After one part more; the last is not needed. */
  step(): boolean {
    const part = this.kept.length + 1;
    if (part >= PARTS) return true;
    const last = this.kept.at(-1)?.slice() ?? new Uint32Array(this.siteCount);
    this.goThrough(this.endOf(part - 1), this.endOf(part), last);
    this.kept.push(last);
    return part === PARTS - 1;
  }

  private goThrough(from: number, to: number, last: Uint32Array): void {
    inRuns(to - from, follow, from, this.sites, last);
  }

  /** By site: the last of its changes before a place of the table, plus one; 0: there is none. */
  before(end: number, arrays: Arrays): Uint32Array {
    let part = this.kept.length;
    while (part > 0 && this.endOf(part) > end) part--;
    const last = part ? arrays.u32ToFill(this.siteCount) : arrays.u32(this.siteCount);
    if (part) last.set(this.kept[part - 1]!);
    this.goThrough(this.endOf(part), end, last);
    return last;
  }
}

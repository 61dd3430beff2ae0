// stacks.ts -- a profile's stacks as they are not recorded: calls to itself folded, threads told apart.
// SPDX-License-Identifier: Apache-2.0

import type { Stacks } from "./calltree.ts";
import type { Profile } from "./profile.ts";
import { isTimed, type Answer, type Question } from "./question.ts";

/** A function that calls itself counts as called once: its calls in a row become one. The outermost
 * is kept, for that is where it was entered. */
export function foldRecursion(s: Stacks): Stacks {
  const rows = s.stackStarts.length - 1;
  const stackStarts = new Uint32Array(rows + 1);
  const frames = new Uint32Array(s.stackFrames.length);
  let at = 0;
  for (let row = 0; row < rows; row++) {
    let before = -1;
    for (let i = s.stackStarts[row]!; i < s.stackStarts[row + 1]!; i++) {
      const group = s.frameGroup[s.stackFrames[i]!]!;
      if (group !== before) frames[at++] = s.stackFrames[i]!;
      before = group;
    }
    stackStarts[row + 1] = at;
  }
  return { stackStarts, stackFrames: frames.slice(0, at), frameGroup: s.frameGroup };
}

/** Stacks with their thread as the frame that the tree begins with. Its number is that of the frames
 * there are plus the thread's row; the one after the last thread stands for several. */
export class ByThread implements Stacks {
  readonly stackStarts: Uint32Array;
  readonly stackFrames: Uint32Array;
  readonly frameGroup: Uint32Array;
  /** By row: the site that it is of, and where its share is in `part`; -1: it is the whole site. */
  readonly siteOf: Uint32Array;
  readonly partOf: Int32Array;

  constructor(readonly profile: Profile, stacks: Stacks, inverted: boolean, q: Question) {
    const { pack } = profile;
    const partSites = pack.u32("part.site");
    const partThreads = pack.u32("part.thread");
    const only = pack.u32("site.thread");
    const threadRow = new Map<number, number>();
    pack.u32("thread.serial").forEach((serial, i) => threadRow.set(serial, i));
    const frameOf = (serial: number): number => profile.frameCount + (threadRow.get(serial) ?? threadRow.size);
    const sites: number[] = [];
    const parts: number[] = [];
    const first: number[] = [];
    const add = (site: number, part: number, serial: number): void => {
      sites.push(site);
      parts.push(part);
      first.push(frameOf(serial));
    };
    // Who had how much is known for the whole recording; at a time only where one thread had all.
    const isWhole = isTimed(q);
    for (let site = 0; site < profile.siteCount; site++) if (only[site] || isWhole) add(site, -1, only[site]!);
    if (!isWhole) partSites.forEach((site, i) => add(site, i, partThreads[i]!));
    this.siteOf = Uint32Array.from(sites);
    this.partOf = Int32Array.from(parts);
    [this.stackStarts, this.stackFrames] = this.layOut(stacks, first, inverted);
    this.frameGroup = new Uint32Array(profile.frameCount + threadRow.size + 1);
    this.frameGroup.set(profile.frameGroup);
    for (let i = profile.frameCount; i < this.frameGroup.length; i++) this.frameGroup[i] = i;
  }

  private layOut(stacks: Stacks, first: number[], inverted: boolean): [Uint32Array, Uint32Array] {
    const starts = new Uint32Array(first.length + 1);
    const frames: Uint32Array[] = [];
    for (let row = 0; row < first.length; row++) {
      const site = this.siteOf[row]!;
      const stack = stacks.stackFrames.subarray(stacks.stackStarts[site]!, stacks.stackStarts[site + 1]!);
      frames.push(stack);
      starts[row + 1] = starts[row]! + stack.length + 1;
    }
    const all = new Uint32Array(starts[first.length]!);
    frames.forEach((stack, row) => {
      all[inverted ? starts[row + 1]! - 1 : starts[row]!] = first[row]!;
      all.set(stack, starts[row]! + (inverted ? 0 : 1));
    });
    return [starts, all];
  }

  /** A figure by row. */
  column(name: string): Float64Array {
    const whole = this.profile.pack.f64(`site.${name}`);
    const part = this.profile.pack.f64(`part.${name}`);
    return Float64Array.from(this.siteOf, (site, row) => (this.partOf[row]! < 0 ? whole[site]! : part[this.partOf[row]!]!));
  }

  /** An answer by site, dealt out to the rows. `columns` are those that it was read from. */
  deal(a: Answer, columns: [string | null, string]): Answer {
    const share = (by: Float64Array, column: string | null): Float64Array => {
      const part = column ? this.profile.pack.f64(`part.${column}`) : null;
      const { thread } = a.question;
      const threads = this.profile.pack.u32("part.thread");
      return Float64Array.from(this.siteOf, (site, row) => {
        const at = this.partOf[row]!;
        if (at < 0) return by[site]!;
        if (!part || (a.chosen && !a.chosen[site]) || (thread !== null && threads[at] !== thread)) return 0;
        return part[at]!;
      });
    };
    const bytes = share(a.bytes, columns[0]);
    const blocks = share(a.blocks, columns[1]);
    const chosen = a.chosen && Uint8Array.from(this.siteOf, (site) => a.chosen![site]!);
    return { ...a, bytes, blocks, values: a.values === a.blocks ? blocks : bytes, chosen };
  }
}

// reversed.ts -- sites in the order of their stacks, read from the allocating function outwards: those
// that have their first frames in common follow each other. It holds for every figure.
// SPDX-License-Identifier: Apache-2.0
//
// Sites are dealt out by their first frame, each part by the next, and so on until one is left. What
// goes on from the same node of the stacks' tree has all the rest in common.

import { depthsOf, type GroupBy, type Stacks, type Work } from "./stacks.ts";
import { Sums } from "./sums.ts";

const ROWS_A_STEP = 50000;
export const BLOCK = 64; // rows

/** By place of an order: how many frames a row has, and has in common with the row before. */
export interface Common {
  lengths: Uint16Array;
  shared: Uint16Array;
  /** By BLOCK rows: the least of `shared`. */
  least: Uint16Array;
}

export function leastByBlock(shared: Uint16Array): Uint16Array {
  const least = new Uint16Array(Math.ceil(shared.length / BLOCK)).fill(0xffff);
  for (let i = 0; i < shared.length; i++) if (shared[i]! < least[i >>> 6]!) least[i >>> 6] = shared[i]!;
  return least;
}

interface Run {
  from: number;
  to: number;
  depth: number;
}

export class Reversed implements Common, Work {
  readonly order: Uint32Array;
  readonly lengths: Uint16Array;
  readonly shared: Uint16Array;
  least: Uint16Array = new Uint16Array(0);
  private next: Uint32Array; // beside `order`: the node that the row's stack goes on with
  private keys: Uint32Array;
  private spare: Uint32Array;
  private places: Uint32Array; // by frame; all 0 between calls
  private found: Uint32Array; // frames of a run's next level
  private readonly waiting: Run[] = [];

  constructor(readonly stacks: Stacks, readonly by: GroupBy, readonly fold: boolean) {
    const count = stacks.leaves.length;
    const depths = depthsOf(stacks, fold);
    this.order = new Uint32Array(count);
    this.lengths = new Uint16Array(count);
    this.shared = new Uint16Array(count);
    this.next = stacks.leaves.slice();
    [this.keys, this.spare, this.found] = [new Uint32Array(count), new Uint32Array(count), new Uint32Array(count)];
    this.places = new Uint32Array(stacks.frameGroup.length);
    for (let site = 0; site < count; site++) {
      this.order[site] = site;
      this.lengths[site] = depths[stacks.leaves[site]!]!;
    }
    if (count) this.waiting.push({ from: 0, to: count, depth: 0 });
  }

  step(): boolean {
    for (let left = ROWS_A_STEP, run = this.waiting.pop(); run; run = left > 0 ? this.waiting.pop() : undefined) {
      left -= run.to - run.from;
      this.part(run);
    }
    if (!this.waiting.length && this.next.length) this.finish();
    return !this.next.length;
  }

  private finish(): void {
    const bySite = this.lengths.slice();
    for (let i = 0; i < this.order.length; i++) this.lengths[i] = bySite[this.order[i]!]!;
    this.least = leastByBlock(this.shared);
    // What it was made with is not needed any more.
    this.next = this.keys = this.spare = this.places = this.found = new Uint32Array(0);
  }

  private added: Sums | null = null;

  /** Along `order`, for all trees without filters; of the kind that is asked for most the sums are kept. */
  sums(): Sums {
    if (this.by !== "function" || this.fold) return new Sums(this.order, false);
    return (this.added ??= new Sums(this.order, true));
  }

  /** Deals a run out by the frames that its rows go on with. */
  private part({ from, to, depth }: Run): void {
    const { next, shared, order, lengths } = this;
    for (let i = from + 1; i < to && next[i] === next[from]; i++)
      if (i === to - 1) {
        for (let k = from + 1; k < to; k++) shared[k] = lengths[order[k]!]!;
        return;
      }
    this.readKeys(from, to);
    const count = this.countKeys(from, to);
    if (count === 1 && this.places[this.found[0]!] === to - from) {
      this.places[this.found[0]!] = 0;
      this.waiting.push({ from, to, depth: depth + 1 });
    } else this.deal(from, to, depth, count);
  }

  /** The frame that each row goes on with, plus one; 0: its stack is over. */
  private readKeys(from: number, to: number): void {
    const { parents, frames, frameGroup } = this.stacks;
    const { next, keys, fold } = this;
    const byFunction = this.by === "function";
    for (let i = from; i < to; i++) {
      let at = next[i]!;
      keys[i] = 0;
      if (at === 0) continue;
      const group = frameGroup[frames[at]!]!;
      // Of calls to itself the outermost is kept, for that is where it was entered.
      if (fold) while (parents[at] !== 0 && frameGroup[frames[parents[at]!]!] === group) at = parents[at]!;
      keys[i] = 1 + (byFunction ? group : frames[at]!);
      next[i] = parents[at]!;
    }
  }

  /** Counts the rows by what they go on with; which frames these are is in `found`. */
  private countKeys(from: number, to: number): number {
    const { keys, places, found } = this;
    let count = 0;
    for (let i = from; i < to; i++) {
      const key = keys[i]!;
      if (key === 0) continue;
      if (places[key - 1] === 0) found[count++] = key - 1;
      places[key - 1]!++;
    }
    return count;
  }

  /** Puts the rows of each frame side by side, those that are over first. */
  private deal(from: number, to: number, depth: number, count: number): void {
    const { keys, places, found, shared, waiting } = this;
    let at = from;
    for (let i = from; i < to; i++) if (keys[i] === 0) at++;
    for (let i = from + 1; i < at; i++) shared[i] = depth;
    for (let k = 0; k < count; k++) {
      const frame = found[k]!;
      const rows = places[frame]!;
      places[frame] = at;
      if (at > from) shared[at] = depth;
      if (rows > 1) waiting.push({ from: at, to: at + rows, depth: depth + 1 });
      at += rows;
    }
    // Where a row goes to, in place of its key; then both columns are moved.
    for (let i = from, over = from; i < to; i++) keys[i] = keys[i] === 0 ? over++ : places[keys[i]! - 1]!++;
    this.move(this.order, from, to);
    this.move(this.next, from, to);
    for (let k = 0; k < count; k++) places[found[k]!] = 0;
  }

  private move(column: Uint32Array, from: number, to: number): void {
    const { keys, spare } = this;
    for (let i = from; i < to; i++) spare[keys[i]!] = column[i]!;
    for (let i = from; i < to; i++) column[i] = spare[i]!;
  }
}

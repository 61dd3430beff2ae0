// sums.ts -- running sums along an order of rows: what any run of rows comes to is then one subtraction.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import type { Arrays } from "./memory.ts";

// Each of these goes on from what is in its last place; in the first place is 0.

/** What comes before each place, and all at the end. */
function runningSums(from: number, to: number, values: Float64Array, order: Uint32Array, sums: Float64Array): void {
  let sum = sums[from]!;
  for (let i = from; i < to; i++) sums[i + 1] = sum += values[order[i]!]!;
}

/** The same with nothing for rows from `end` on: out of those of all, which is far faster than to look every value up. */
function firstSums(from: number, to: number, all: Float64Array, end: number, order: Uint32Array, sums: Float64Array): void {
  let sum = sums[from]!;
  for (let i = from; i < to; i++) sums[i + 1] = sum += (order[i]! < end ? 1 : 0) * (all[i + 1]! - all[i]!);
}

/** The same of what was added and what was taken away, together; in the same way. */
function runningSizes(from: number, to: number, sums: Float64Array, sizes: Float64Array): void {
  let size = sizes[from]!;
  for (let i = from; i < to; i++) sizes[i + 1] = size += Math.abs(sums[i + 1]! - sums[i]!);
}

/** The sums of what is chosen, in the same way. */
function chosenSums(from: number, to: number, all: Float64Array, counts: Uint32Array, sums: Float64Array): void {
  let sum = sums[from]!;
  for (let i = from; i < to; i++) {
    sums[i + 1] = sum += (counts[i + 1]! - counts[i]!) * (all[i + 1]! - all[i]!); // 0 or 1 of it: no jump is to be foretold
  }
}

/** The row before which something begins, and the one before which it ends. */
export type Run = [from: number, to: number];

type Adding = { sum: number; from: number; order: Uint32Array; counts: Uint32Array | null };

/** What rows from `from` on come to. */
function addRows(first: number, last: number, adding: Adding, values: Float64Array): void {
  const { from, order } = adding;
  let { sum } = adding;
  for (let i = from + first; i < from + last; i++) sum += values[order[i]!]!;
  adding.sum = sum;
}

/** The same of what is chosen. */
function addChosenRows(first: number, last: number, adding: Adding, values: Float64Array): void {
  const { from, order } = adding;
  const counts = adding.counts!;
  let { sum } = adding;
  for (let i = from + first; i < from + last; i++) sum += (counts[i + 1]! - counts[i]!) * values[order[i]!]!;
  adding.sum = sum;
}

/** The same out of running sums of all. */
function addChosenOf(first: number, last: number, adding: Adding, all: Float64Array): void {
  const { from } = adding;
  const counts = adding.counts!;
  let { sum } = adding;
  for (let i = from + first; i < from + last; i++) sum += (counts[i + 1]! - counts[i]!) * (all[i + 1]! - all[i]!);
  adding.sum = sum;
}

/** Where runs begin and end, in order; those that lie within another have their rows in common. */
class Cuts {
  readonly at: Uint32Array;
  private readonly places: Map<number, number>;
  private readonly open: Int32Array; // by cut: how many runs begin there, less those that end

  constructor(runs: Run[]) {
    this.at = Uint32Array.from(new Set(runs.flat())).sort();
    this.places = new Map([...this.at].map((row, place) => [row, place]));
    this.open = new Int32Array(this.at.length);
    for (const [from, to] of runs) {
      this.open[this.places.get(from)!]!++;
      this.open[this.places.get(to)!]!--;
    }
  }

  /** What each run comes to; `add` is asked for rows of some run alone, and for each of them once. */
  sums(runs: Run[], add: (from: number, to: number) => number): Float64Array {
    const { at, open, places } = this;
    const before = new Float64Array(at.length);
    for (let i = 1, within = 0; i < at.length; i++) {
      within += open[i - 1]!;
      before[i] = before[i - 1]! + (within > 0 ? add(at[i - 1]!, at[i]!) : 0);
    }
    return Float64Array.from(runs, ([from, to]) => before[places.get(to)!]! - before[places.get(from)!]!);
  }
}

export class Sums {
  private readonly known = new WeakMap<Float64Array, Float64Array>();
  private readonly sizes = new WeakMap<Float64Array, Float64Array>();
  private readonly first = new WeakMap<Float64Array, Float64Array>();
  private all: Sums | null = null;
  private counts: Uint32Array | null = null;

  /** `isKept`: for all trees; else they go with the answer that their tree is of. */
  constructor(readonly order: Uint32Array, private readonly isKept: boolean) {}

  /** Of the chosen ones of these rows. */
  ofChosen(counts: Uint32Array): Sums {
    const sums = new Sums(this.order, false);
    [sums.all, sums.counts] = [this, counts];
    return sums;
  }

  /** What is kept for all trees is made of what the profile has; all else is made of an answer. */
  private room(values: Float64Array, arrays?: Arrays): Float64Array {
    const count = this.order.length + 1;
    const room = arrays && (!this.isKept || arrays.has(values)) ? arrays.f64ToFill(count) : new Float64Array(count);
    room[0] = 0;
    return room;
  }

  /** Of values by row. Remembered as long as somebody has the values; `arrays` are those of the answer that the tree is of. */
  of(values: Float64Array, arrays?: Arrays): Float64Array {
    let sums = this.known.get(values);
    if (!sums) {
      sums = this.room(values, arrays);
      if (this.all) inRuns(this.order.length, chosenSums, this.all.of(values, arrays), this.counts!, sums);
      else inRuns(this.order.length, runningSums, values, this.order, sums);
      this.known.set(values, sums);
    }
    return sums;
  }

  /** What some runs of rows come to: what is not known is added up of their rows, and nothing is kept. */
  ofRuns(values: Float64Array, runs: Run[]): Float64Array {
    const known = this.known.get(values);
    if (known) return Float64Array.from(runs, ([from, to]) => known[to]! - known[from]!);
    const { order, counts } = this;
    const all = this.all?.known.get(values);
    const add = all ? addChosenOf : counts ? addChosenRows : addRows;
    return new Cuts(runs).sums(runs, (from, to) => {
      const adding = { sum: 0, from, order, counts };
      inRuns(to - from, add, adding, all ?? values);
      return adding.sum;
    });
  }

  /** The same with nothing for rows from `end` on, which is always the same. */
  ofFirst(values: Float64Array, end: number, arrays?: Arrays): Float64Array {
    let sums = this.first.get(values);
    if (!sums) {
      sums = this.room(values, arrays);
      inRuns(this.order.length, firstSums, this.of(values, arrays), end, this.order, sums);
      this.first.set(values, sums);
    }
    return sums;
  }

  /** The same of what was added and what was taken away, together. */
  ofSizes(values: Float64Array, arrays?: Arrays): Float64Array {
    let sizes = this.sizes.get(values);
    if (!sizes) {
      sizes = this.room(values, arrays);
      if (this.all) inRuns(this.order.length, chosenSums, this.all.ofSizes(values, arrays), this.counts!, sizes);
      else inRuns(this.order.length, runningSizes, this.of(values, arrays), sizes);
      this.sizes.set(values, sizes);
    }
    return sizes;
  }
}

/** How many of the first rows are chosen, by place. */
export function countChosen(order: Uint32Array, chosen: Uint8Array, arrays: Arrays): Uint32Array {
  const counts = arrays.u32ToFill(order.length + 1);
  counts[0] = 0;
  inRuns(order.length, countRun, order, chosen, counts);
  return counts;
}

function countRun(from: number, to: number, order: Uint32Array, chosen: Uint8Array, counts: Uint32Array): void {
  let count = counts[from]!;
  for (let i = from; i < to; i++) counts[i + 1] = count += chosen[order[i]!]!;
}

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

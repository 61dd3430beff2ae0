// sums.ts -- running sums along an order of rows: what any run of rows comes to is then one subtraction.
// SPDX-License-Identifier: Apache-2.0

import type { Arrays } from "./memory.ts";

/** What comes before each place, and all at the end. */
function runningSums(values: Float64Array, order: Uint32Array, sums: Float64Array): Float64Array {
  let sum = (sums[0] = 0);
  for (let i = 0; i < order.length; i++) sums[i + 1] = sum += values[order[i]!]!;
  return sums;
}

/** The same with nothing for rows from `end` on: out of those of all, which is far faster than to look every value up. */
function firstSums(all: Float64Array, end: number, order: Uint32Array, sums: Float64Array): Float64Array {
  let sum = (sums[0] = 0);
  for (let i = 0; i < order.length; i++) sums[i + 1] = sum += (order[i]! < end ? 1 : 0) * (all[i + 1]! - all[i]!);
  return sums;
}

/** The same of what was added and what was taken away, together; in the same way. */
function runningSizes(sums: Float64Array, sizes: Float64Array): Float64Array {
  let size = (sizes[0] = 0);
  for (let i = 1; i < sums.length; i++) sizes[i] = size += Math.abs(sums[i]! - sums[i - 1]!);
  return sizes;
}

/** The sums of what is chosen, in the same way. */
function chosenSums(all: Float64Array, counts: Uint32Array, sums: Float64Array): Float64Array {
  let sum = (sums[0] = 0);
  for (let i = 1; i < all.length; i++) {
    sums[i] = sum += (counts[i]! - counts[i - 1]!) * (all[i]! - all[i - 1]!); // 0 or 1 of it: no jump is to be foretold
  }
  return sums;
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
    return arrays && (!this.isKept || arrays.has(values)) ? arrays.f64ToFill(count) : new Float64Array(count);
  }

  /** Of values by row. Remembered as long as somebody has the values; `arrays` are those of the answer that the tree is of. */
  of(values: Float64Array, arrays?: Arrays): Float64Array {
    let sums = this.known.get(values);
    if (!sums) {
      const room = this.room(values, arrays);
      sums = this.all ? chosenSums(this.all.of(values, arrays), this.counts!, room) : runningSums(values, this.order, room);
      this.known.set(values, sums);
    }
    return sums;
  }

  /** The same with nothing for rows from `end` on, which is always the same. */
  ofFirst(values: Float64Array, end: number, arrays?: Arrays): Float64Array {
    let sums = this.first.get(values);
    if (!sums) this.first.set(values, (sums = firstSums(this.of(values, arrays), end, this.order, this.room(values, arrays))));
    return sums;
  }

  /** The same of what was added and what was taken away, together. */
  ofSizes(values: Float64Array, arrays?: Arrays): Float64Array {
    let sizes = this.sizes.get(values);
    if (!sizes) {
      const room = this.room(values, arrays);
      sizes = this.all ? chosenSums(this.all.ofSizes(values, arrays), this.counts!, room) : runningSizes(this.of(values, arrays), room);
      this.sizes.set(values, sizes);
    }
    return sizes;
  }
}

/** How many of the first rows are chosen, by place. */
export function countChosen(order: Uint32Array, chosen: Uint8Array, arrays: Arrays): Uint32Array {
  const counts = arrays.u32(order.length + 1);
  for (let i = 0, count = 0; i < order.length; i++) counts[i + 1] = count += chosen[order[i]!]!;
  return counts;
}

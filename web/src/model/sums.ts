// sums.ts -- running sums along an order of rows: what any run of rows comes to is then one subtraction.
// SPDX-License-Identifier: Apache-2.0

/** What comes before each place, and all at the end. `sizes`: where to put the same of what was added and what was
 * taken away, together. */
function runningSums(values: Float64Array, order: Uint32Array, sizes: Float64Array | null): Float64Array {
  const sums = new Float64Array(order.length + 1);
  let sum = 0;
  let size = 0;
  for (let i = 0; i < order.length; i++) {
    const value = values[order[i]!]!;
    sums[i + 1] = sum += value;
    if (sizes) sizes[i + 1] = size += value < 0 ? -value : value;
  }
  return sums;
}

/** The same of what is chosen, out of the sums of all: far faster than to look every value up. */
function chosenSums(all: Float64Array, counts: Uint32Array): Float64Array {
  const sums = new Float64Array(all.length);
  let sum = 0;
  for (let i = 1; i < all.length; i++) {
    if (counts[i] !== counts[i - 1]) sum += all[i]! - all[i - 1]!;
    sums[i] = sum;
  }
  return sums;
}

export class Sums {
  private readonly known = new WeakMap<Float64Array, Float64Array>();
  private readonly sizes = new WeakMap<Float64Array, Float64Array>();

  /** `all` and `counts`: the sums of all rows, of which these are of the chosen ones. */
  constructor(readonly order: Uint32Array, private readonly all: Sums | null = null, private readonly counts: Uint32Array | null = null) {}

  /** Of values by row. Remembered as long as somebody has the values. */
  of(values: Float64Array): Float64Array {
    let sums = this.known.get(values);
    if (!sums) this.known.set(values, (sums = this.all ? chosenSums(this.all.of(values), this.counts!) : runningSums(values, this.order, null)));
    return sums;
  }

  /** The same of what was added and what was taken away, together; what is not chosen is 0 in these. */
  ofSizes(values: Float64Array): Float64Array {
    let sizes = this.sizes.get(values);
    if (!sizes) {
      sizes = new Float64Array(this.order.length + 1);
      const sums = runningSums(values, this.order, sizes); // which is asked for next
      if (!this.all) this.known.set(values, sums);
      this.sizes.set(values, sizes);
    }
    return sizes;
  }
}

/** How many of the first rows are chosen, by place. */
export function countChosen(order: Uint32Array, chosen: Uint8Array): Uint32Array {
  const counts = new Uint32Array(order.length + 1);
  for (let i = 0, count = 0; i < order.length; i++) counts[i + 1] = count += chosen[order[i]!]!;
  return counts;
}

// order.ts -- numbers put in order by their digits: of many that takes a tenth of what comparing takes.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";

const FEW = 500;
const DIGITS = 1 << 16;

/** What sorting works with. It is kept: pages sort tens of thousands of rows at every click. */
class Bench {
  readonly keys: Float64Array;
  /** The bits of keys in two halves, as whole numbers that are the smaller the larger the key is. */
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  order: Uint32Array;
  other: Uint32Array;

  constructor(readonly room: number) {
    this.keys = new Float64Array(room);
    [this.low, this.high, this.order, this.other] = [new Uint32Array(room), new Uint32Array(room), new Uint32Array(room), new Uint32Array(room)];
  }

  readBits(count: number): void {
    inRuns(count, readBits, this, new Uint32Array(this.keys.buffer));
  }

  /** By one digit of each; equal ones stay as they were. */
  sortByDigit(count: number, bits: Uint32Array, shift: number): void {
    starts.fill(0);
    inRuns(count, countDigits, bits, shift);
    if (starts[((bits[0]! >>> shift) & (DIGITS - 1)) + 1] === count) return;
    for (let digit = 0; digit < DIGITS; digit++) starts[digit + 1]! += starts[digit]!;
    const { order, other } = this;
    inRuns(count, deal, bits, shift, order, other);
    [this.order, this.other] = [other, order];
  }
}

const starts = new Uint32Array(DIGITS + 1);

function readBits(from: number, to: number, { keys, low, high }: Bench, bits: Uint32Array): void {
  for (let i = from; i < to; i++) {
    keys[i]! += 0; // there is one 0 alone
    const least = bits[2 * i]!;
    const most = bits[2 * i + 1]!;
    const isNegative = most >>> 31; // these are in that order already
    low[i] = isNegative ? least : ~least;
    high[i] = isNegative ? most : ~most & 0x7fffffff;
  }
}

function countDigits(from: number, to: number, bits: Uint32Array, shift: number): void {
  for (let i = from; i < to; i++) starts[((bits[i]! >>> shift) & (DIGITS - 1)) + 1]!++;
}

function deal(from: number, to: number, bits: Uint32Array, shift: number, order: Uint32Array, other: Uint32Array): void {
  for (let i = from; i < to; i++) other[starts[(bits[order[i]!]! >>> shift) & (DIGITS - 1)]!++] = order[i]!;
}

let bench = new Bench(FEW);

function benchFor(count: number): Bench {
  if (bench.room < count) bench = new Bench(Math.max(count, 2 * bench.room));
  return bench;
}

function number(from: number, to: number, order: Uint32Array): void {
  for (let i = from; i < to; i++) order[i] = i;
}

/** Puts the first keys on the bench in order: where each stands, until the next call. */
function sortKeys(b: Bench, count: number): Uint32Array {
  const order = b.order.subarray(0, count);
  inRuns(count, number, order);
  const { keys } = b;
  if (count <= FEW) return order.sort((x, y) => keys[y]! - keys[x]! || x - y);
  b.readBits(count);
  for (const bits of [b.low, b.high]) for (const shift of [0, 16]) b.sortByDigit(count, bits, shift);
  return b.order.subarray(0, count);
}

/** Where each number stands, the largest first; equal ones stay as they are. */
export function largestFirst(keys: Float64Array): Uint32Array {
  const b = benchFor(keys.length);
  b.keys.set(keys);
  return sortKeys(b, keys.length).slice();
}

/** Some numbers by what each has of a figure, more or less than 0: the largest first; equal ones stay as they are. */
export function largestOf(numbers: Uint32Array, figure: Float64Array): Uint32Array {
  const b = benchFor(numbers.length);
  inRuns(numbers.length, readSizes, numbers, figure, b.keys);
  const order = sortKeys(b, numbers.length);
  const sorted = new Uint32Array(order.length);
  inRuns(order.length, put, numbers, order, sorted);
  return sorted;
}

/** As `largestOf`, the first few of them: to put all in order would take longer. */
export function largestFew(numbers: Uint32Array, figure: Float64Array, few: number): Uint32Array {
  const best = { numbers: new Uint32Array(Math.min(few, numbers.length) + 1), count: 0 };
  inRuns(numbers.length, takeLargest, numbers, figure, best);
  return best.numbers.slice(0, best.count);
}

/** Puts each that is among the largest in its place; the last one falls out. */
function takeLargest(from: number, to: number, numbers: Uint32Array, figure: Float64Array, best: { numbers: Uint32Array; count: number }): void {
  const kept = best.numbers;
  const most = kept.length - 1; // the place behind is for the one that falls out
  let { count } = best;
  let least = count < most ? -1 : sizeOf(figure, kept[most - 1]!);
  for (let i = from; i < to; i++) {
    const size = sizeOf(figure, numbers[i]!);
    if (size <= least) continue;
    let place = count;
    for (; place > 0 && sizeOf(figure, kept[place - 1]!) < size; place--) kept[place] = kept[place - 1]!;
    kept[place] = numbers[i]!;
    if (count < most) count++;
    if (count === most) least = sizeOf(figure, kept[most - 1]!);
  }
  best.count = count;
}

function sizeOf(figure: Float64Array, number: number): number {
  return Math.abs(figure[number]!);
}

/** What each number has of a figure, more or less than 0. */
export function readSizes(from: number, to: number, numbers: Uint32Array, figure: Float64Array, keys: Float64Array): void {
  for (let i = from; i < to; i++) keys[i] = Math.abs(figure[numbers[i]!]!);
}

function put(from: number, to: number, numbers: Uint32Array, order: Uint32Array, sorted: Uint32Array): void {
  for (let i = from; i < to; i++) sorted[i] = numbers[order[i]!]!;
}

/** Numbers in an order (null: 0, 1, 2, …) by a key of each, the largest first; equal ones stay as they are. */
export function reorder(order: Uint32Array | null, keys: Float64Array): Uint32Array {
  if (!order) return largestFirst(keys);
  const b = benchFor(order.length);
  inRuns(order.length, readKeys, order, keys, b.keys);
  const sorted = new Uint32Array(order.length);
  inRuns(order.length, put, order, sortKeys(b, order.length), sorted);
  return sorted;
}

function readKeys(from: number, to: number, order: Uint32Array, of: Float64Array, keys: Float64Array): void {
  for (let i = from; i < to; i++) keys[i] = of[order[i]!]!;
}

/** Things by a number of theirs, the largest first; equal ones stay as they are. */
export function orderBy<T>(things: T[], key: (thing: T) => number): T[] {
  const b = benchFor(things.length);
  const { keys } = b;
  for (let i = 0; i < things.length; i++) keys[i] = key(things[i]!);
  const order = sortKeys(b, things.length);
  const sorted = new Array<T>(order.length);
  for (let i = 0; i < order.length; i++) sorted[i] = things[order[i]!]!;
  return sorted;
}

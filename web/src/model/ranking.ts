// ranking.ts -- numbers in the order of what they have, of which only those are put in order that are looked at: a table
// shows thirty of tens of thousands, the first or the last.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import { reorder } from "./order.ts";

/** Writes a key for each number, from 0 on. */
export type ReadKeys = (keys: Float64Array) => void;

const LEAST = 64; // more than a page shows
const MOST = 1024; // of more all are put in order, by their digits

/** Keys are read for as long as numbers are chosen by them: the memory is everyone's. */
const benches = [new Float64Array(0), new Float64Array(0)];

function readAll(read: ReadKeys[], count: number): Float64Array[] {
  return read.map((one, i) => {
    if (benches[i]!.length < count) benches[i] = new Float64Array(Math.max(count, 2 * benches[i]!.length));
    const keys = benches[i]!.subarray(0, count);
    one(keys);
    return keys;
  });
}

/** Those that come first, or with `sign` -1 last, of all numbers that it is given, in rising order. There is room for
 * twice as many as are wanted; when it is full, half of them go. */
class Choice {
  private readonly kept: Uint32Array;
  private count = 0;
  private worst = -1; // of those wanted; -1: there have not been as many
  least = -Infinity; // its key

  constructor(readonly keys: Float64Array, private readonly ranks: Ranks, readonly sign: 1 | -1, private readonly wanted: number) {
    this.kept = new Uint32Array(2 * wanted);
  }

  /** Of one whose key is no less than `least`. */
  take(number: number): void {
    const { worst, wanted, sign, ranks } = this;
    if (worst >= 0 && sign * ranks.compare(number, worst) > 0) return;
    this.kept[this.count++] = number;
    if (this.count === 2 * wanted) this.cut();
  }

  private cut(): void {
    this.sort();
    this.count = Math.min(this.count, this.wanted);
    this.worst = this.kept[this.count - 1]!;
    this.least = this.sign * this.keys[this.worst]!;
  }

  private sort(): void {
    const { sign, ranks } = this;
    this.kept.subarray(0, this.count).sort((a, b) => sign * ranks.compare(a, b));
  }

  /** In order, the one that comes first or last before the others. */
  finish(): Uint32Array {
    this.sort();
    return this.kept.slice(0, Math.min(this.count, this.wanted));
  }
}

function choose(from: number, to: number, choice: Choice): void {
  const { keys, sign } = choice;
  for (let i = from; i < to; i++) if (sign * keys[i]! >= choice.least) choice.take(i);
}

/** Who comes before whom. */
class Ranks {
  private readonly first: Float64Array;
  private readonly second: Float64Array;

  constructor(readonly keys: Float64Array[], private readonly last: Uint32Array) {
    this.first = keys[0]!;
    this.second = keys.at(-1)!;
  }

  compare(a: number, b: number): number {
    const { first, second, last } = this;
    return first[b]! - first[a]! || second[b]! - second[a]! || last[a]! - last[b]! || a - b;
  }
}

function countBefore(from: number, to: number, ranks: Ranks, number: number, found: { count: number }): void {
  const keys = ranks.keys[0]!;
  const key = keys[number]!;
  let { count } = found;
  for (let i = from; i < to; i++) if (keys[i]! >= key && ranks.compare(i, number) < 0) count++;
  found.count = count;
}

function negate(from: number, to: number, numbers: Uint32Array, keys: Float64Array): void {
  for (let i = from; i < to; i++) keys[i] = -numbers[i]!;
}

/** The numbers from 0 up to `length` by one or two keys, the largest first; equal ones by `last`, the smallest first. */
export class Ranking {
  private firsts: Uint32Array = new Uint32Array(0);
  private lasts: Uint32Array = new Uint32Array(0); // the last of all is the first of these
  private all: Uint32Array | null = null;

  /** The keys are read again when more is looked at: they must stay the same. */
  constructor(readonly length: number, private readonly read: ReadKeys[], private readonly last: Uint32Array) {}

  /** The number at a place. */
  at(place: number): number | undefined {
    const back = this.length - 1 - place;
    if (place < 0 || back < 0) return undefined;
    if (place < this.firsts.length) return this.firsts[place];
    if (back < this.lasts.length) return this.lasts[back];
    if (!this.all && place < MOST) this.firsts = this.choose(1, place);
    else if (!this.all && back < MOST) this.lasts = this.choose(-1, back);
    else return (this.all ??= this.sortAll())[place];
    return this.at(place);
  }

  private ranks(): Ranks {
    return new Ranks(readAll(this.read, this.length), this.last);
  }

  /** Up to a place at least; with each call twice as many. */
  private choose(sign: 1 | -1, place: number): Uint32Array {
    const ranks = this.ranks();
    const choice = new Choice(ranks.keys[0]!, ranks, sign, Math.min(this.length, Math.max(LEAST, 2 ** Math.ceil(Math.log2(place + 1)))));
    inRuns(this.length, choose, choice);
    return choice.finish();
  }

  /** By what counts least first: equal ones stay as they are. */
  private sortAll(): Uint32Array {
    const lasts = new Float64Array(this.length);
    inRuns(this.length, negate, this.last, lasts);
    return [...readAll(this.read, this.length).reverse()].reduce(reorder, reorder(null, lasts));
  }

  /** Where a number stands; -1: it is none of these. */
  placeOf(number: number): number {
    if (number >= this.length) return -1;
    if (this.all) return this.all.indexOf(number);
    const place = this.firsts.indexOf(number);
    if (place >= 0) return place;
    const found = { count: 0 };
    inRuns(this.length, countBefore, this.ranks(), number, found);
    return found.count;
  }

  /** The first numbers, in order. */
  slice(count: number): number[] {
    return Array.from({ length: Math.min(count, this.length) }, (_, place) => this.at(place)!);
  }
}

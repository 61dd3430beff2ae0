// nameorder.ts -- names put in order, in pieces: of tens of thousands of long ones that takes a while.
// SPDX-License-Identifier: Apache-2.0

import type { Work } from "./stacks.ts";

const NAMES_A_STEP = 1000;

function merge(a: string[], b: string[]): string[] {
  const all: string[] = [];
  let i = 0;
  let k = 0;
  while (i < a.length && k < b.length) all.push(a[i]! <= b[k]! ? a[i++]! : b[k++]!);
  while (i < a.length) all.push(a[i++]!);
  while (k < b.length) all.push(b[k++]!);
  return all;
}

export class NameOrder implements Work {
  /** Beside `names`: its place among them; the same names have the same. */
  places: Uint32Array | null = null;
  private taken = 0;
  private readonly waiting: string[];
  private runs: string[][] = []; // each in order

  /** Empty ones are left out. */
  constructor(private names: string[]) {
    this.waiting = names.filter(Boolean);
  }

  step(): boolean {
    if (this.places) return true;
    if (this.taken < this.waiting.length) {
      this.runs.push(this.waiting.slice(this.taken, this.taken + NAMES_A_STEP).sort());
      this.taken += NAMES_A_STEP;
    } else if (this.runs.length > 1) this.runs.push(merge(this.runs.shift()!, this.runs.shift()!));
    else this.places = this.place(new Map((this.runs[0] ?? []).map((name, i) => [name, i])));
    return this.places !== null;
  }

  private place(places: Map<string, number>): Uint32Array {
    const found = Uint32Array.from(this.names, (name) => places.get(name) ?? 0);
    // What it was made with is not needed any more.
    this.names = this.runs = [];
    this.waiting.length = 0;
    return found;
  }
}

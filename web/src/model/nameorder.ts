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
  /** By name: its place. */
  places: Map<string, number> | null = null;
  private taken = 0;
  private readonly runs: string[][] = []; // each in order

  constructor(private readonly names: string[]) {}

  step(): boolean {
    if (this.places) return true;
    if (this.taken < this.names.length) {
      this.runs.push(this.names.slice(this.taken, this.taken + NAMES_A_STEP).sort());
      this.taken += NAMES_A_STEP;
    } else if (this.runs.length > 1) this.runs.push(merge(this.runs.shift()!, this.runs.shift()!));
    else this.places = new Map((this.runs[0] ?? []).map((name, i) => [name, i]));
    return this.places !== null;
  }
}

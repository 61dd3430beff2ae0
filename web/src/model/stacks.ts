// stacks.ts -- stacks as a tree, as profiles have them, and what can be read off it in one pass.
// SPDX-License-Identifier: Apache-2.0
//
// Most of what stacks have they have in common: the tree has a tenth of the frames that they have one
// by one. All here goes by node number: parents come before their children, and row 0 is the root.

import { addTo, inRuns, inRunsBack } from "../runs.ts";
import type { Arrays } from "./memory.ts";

export interface Stacks {
  parents: Uint32Array; // by node
  frames: Uint32Array; // by node; the root has none
  leaves: Uint32Array; // by site: the node that its stack ends in
  frameGroup: Uint32Array; // by frame: the first frame of the same function
}

export type GroupBy = "function" | "line";

/** Work that is done in pieces, so that a page in use does not stand still. */
export interface Work {
  /** One piece, a few milliseconds of it; true: that was the last. */
  step(): boolean;
}

export function finish(work: Work): void {
  while (!work.step());
}

/** The tree from above: `first` child of a node, and the `next` child of the same parent; 0: none. */
export class Links {
  readonly first: Uint32Array;
  readonly next: Uint32Array;

  constructor(parents: Uint32Array) {
    this.first = new Uint32Array(parents.length);
    this.next = new Uint32Array(parents.length);
    for (let i = parents.length - 1; i > 0; i--) {
      const parent = parents[i]!;
      this.next[i] = this.first[parent]!;
      this.first[parent] = i;
    }
  }
}

/** The part of the tree that leads to any of these. */
export function onlyAbove(leaves: Uint32Array, parents: Uint32Array, frames: Uint32Array): [leaves: Uint32Array, parents: Uint32Array, frames: Uint32Array] {
  const numbers = new Uint32Array(parents.length); // first 1 for those that are kept, then their new number
  for (let i = 0; i < leaves.length; i++) numbers[leaves[i]!] = 1;
  for (let i = parents.length - 1; i > 0; i--) if (numbers[i]) numbers[parents[i]!] = 1;
  numbers[0] = 0;
  let count = 1;
  for (let i = 1; i < parents.length; i++) if (numbers[i]) numbers[i] = count++;
  const above: [Uint32Array, Uint32Array, Uint32Array] = [new Uint32Array(leaves.length), new Uint32Array(count), new Uint32Array(count)];
  for (let i = 0; i < leaves.length; i++) above[0][i] = numbers[leaves[i]!]!;
  for (let i = 1; i < parents.length; i++) {
    if (!numbers[i]) continue;
    above[1][numbers[i]!] = numbers[parents[i]!]!;
    above[2][numbers[i]!] = frames[i]!;
  }
  return above;
}

/** By node: what goes through it, in `through`, which is all 0. */
export function valuesThrough(s: Stacks, values: Float64Array, through: Float64Array): Float64Array {
  inRuns(s.leaves.length, addTo, s.leaves, values, through);
  inRunsBack(through.length, addToParents, s.parents, through);
  return through;
}

function addToParents(from: number, to: number, parents: Uint32Array, through: Float64Array): void {
  const last = Math.max(from, 1); // the root has none
  for (let i = to - 1; i >= last; i--) through[parents[i]!]! += through[i]!;
}

/** By node: 1 if one of these frames is on the way to it. */
export function nodesBelow(s: Stacks, isWanted: Uint8Array, arrays: Arrays): Uint8Array {
  const has = arrays.u8ToFill(s.parents.length);
  has[0] = 0;
  inRuns(has.length, lookBelow, s.parents, s.frames, isWanted, has);
  return has;
}

function lookBelow(from: number, to: number, parents: Uint32Array, frames: Uint32Array, isWanted: Uint8Array, has: Uint8Array): void {
  for (let i = Math.max(from, 1); i < to; i++) has[i] = has[parents[i]!]! | isWanted[frames[i]!]!;
}

/** By node: how many frames its stack has; with `fold`, calls to itself count as one. */
export function depthsOf(s: Stacks, fold: boolean): Uint32Array {
  const { parents, frames, frameGroup } = s;
  const depths = new Uint32Array(parents.length);
  for (let i = 1; i < depths.length; i++) {
    const parent = parents[i]!;
    const isFolded = fold && parent > 0 && frameGroup[frames[i]!] === frameGroup[frames[parent]!];
    depths[i] = depths[parent]! + (isFolded ? 0 : 1);
  }
  return depths;
}

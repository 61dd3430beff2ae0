// callers.ts -- one function: what goes through it, who calls it, what it calls.
// SPDX-License-Identifier: Apache-2.0

import { addTo, inRuns } from "../runs.ts";
import { withArrays, type Arrays } from "./memory.ts";
import type { Answer } from "./question.ts";
import { orderBy, readSizes } from "./order.ts";
import { OF_FUNCTION } from "./outermost.ts";
import type { Profile } from "./profile.ts";
import { Ranking } from "./ranking.ts";
import { valuesThrough } from "./stacks.ts";

export interface Neighbour {
  group: number; // -1: none, it is the end of the stack
  value: number;
}

export interface Callers {
  total: number; // of stacks that it is on, each once
  self: number; // of stacks that it ends
  callers: Neighbour[];
  callees: Neighbour[];
}

/** Sums by function. They are few of many: a list of those that have any is kept beside. */
class Neighbours {
  private readonly sums: Float64Array; // by function, plus one
  private readonly seen: Uint8Array;
  private readonly groups: number[] = [];

  constructor(functions: number, arrays: Arrays) {
    [this.sums, this.seen] = [arrays.f64(functions + 1), arrays.u8(functions + 1)];
  }

  add(group: number, value: number): void {
    if (!this.seen[group + 1]) this.groups.push(group);
    this.seen[group + 1] = 1;
    this.sums[group + 1]! += value;
  }

  sorted(): Neighbour[] {
    const list = this.groups.map((group) => ({ group, value: this.sums[group + 1]! })).filter(({ value }) => value !== 0);
    return orderBy(list, (n) => Math.abs(n.value));
  }
}

/** Each stack counts once, by the innermost (callees) and outermost (callers) place of the function. */
export function findCallers(p: Profile, a: Answer, group: number): Callers {
  return withArrays(p.memory, (own) => {
    const [callers, callees] = [new Neighbours(p.frameCount, own), new Neighbours(p.frameCount, own)];
    const total = addNeighbours(p, p.through(a.values), group, callers, callees);
    return { total, self: sumOfEnds(p, a, group), callers: callers.sorted(), callees: callees.sorted() };
  });
}

/** Returns what goes through the function itself. */
function addNeighbours(p: Profile, values: Float64Array, group: number, callers: Neighbours, callees: Neighbours): number {
  const bits = p.outermostBits();
  const { first, next } = p.links();
  const { parents, frames, frameGroup } = p;
  const groupOf = (node: number): number => (node ? frameGroup[frames[node]!]! : -1);
  let total = 0;
  for (const node of p.nodesOfFunction(group)) {
    for (let child = first[node]!; child; child = next[child]!) callees.add(groupOf(child), values[child]!);
    if (bits[node]! & OF_FUNCTION) {
      total += values[node]!;
      callers.add(groupOf(parents[node]!), values[node]!);
      continue;
    }
    // What comes back to the function is counted there, not where it was left.
    let left = node;
    while (groupOf(parents[left]!) !== group) left = parents[left]!;
    callees.add(groupOf(left), -values[node]!);
  }
  return total;
}

function sumOfEnds(p: Profile, a: Answer, group: number): number {
  const { ofSite } = p.functions();
  const sum = { self: 0 };
  inRuns(ofSite.length, addEnds, sum, ofSite, group, a.values);
  return sum.self;
}

function addEnds(from: number, to: number, sum: { self: number }, ofSite: Uint32Array, group: number, values: Float64Array): void {
  let { self } = sum;
  for (let site = from; site < to; site++) if (ofSite[site] === group) self += values[site]!;
  sum.self = self;
}

/** Figures by function. They are the answer's, and go with it. */
export interface Functions {
  groups: Uint32Array; // those that have anything, by their numbers
  total: Float64Array; // by group, as all that follows
  self: Float64Array;
  /** How doubtful both are; null: not at all. */
  totalVariance: Float64Array | null;
  selfVariance: Float64Array | null;
}

/** By function: what goes through it, and what it has itself. */
function sumByFunction(p: Profile, values: Float64Array, through: Float64Array, arrays: Arrays): [Float64Array, Float64Array] {
  // One more: of those who are of no function.
  const [total, self] = [arrays.f64(p.frameCount + 1), arrays.f64(p.frameCount + 1)];
  const { ofNode, ofSite } = p.functions();
  inRuns(through.length, addTo, ofNode, through, total); // the root is of none
  inRuns(ofSite.length, addTo, ofSite, values, self);
  return [total.subarray(0, -1), self.subarray(0, -1)];
}

/** Every function with what goes through it (each stack once) and what it allocates itself. */
export function allFunctions(p: Profile, a: Answer): Functions {
  const [total, self] = sumByFunction(p, a.values, p.through(a.values), a.arrays);
  const [totalVariance, selfVariance] = a.variance ? withArrays(p.memory, (own) => sumByFunction(p, a.variance!, valuesThrough(p, a.variance!, own.f64(p.parents.length)), a.arrays)) : [null, null];
  return { groups: thoseWithSome(total, self), total, self, totalVariance, selfVariance };
}

function thoseWithSome(total: Float64Array, self: Float64Array): Uint32Array {
  const groups = new Uint32Array(total.length);
  const found = { count: 0 };
  inRuns(groups.length, chooseRun, total, self, groups, found);
  return groups.subarray(0, found.count);
}

function chooseRun(from: number, to: number, total: Float64Array, self: Float64Array, groups: Uint32Array, found: { count: number }): void {
  let { count } = found;
  for (let g = from; g < to; g++) if (total[g] !== 0 || self[g] !== 0) groups[count++] = g;
  found.count = count;
}

/** Some functions: those with most of one first; of several with as much, those with most of the other. Places are those
 * of `groups`. */
export function rankFunctions(f: Functions, groups: Uint32Array, by: "self" | "total"): Ranking {
  const [figure, other] = by === "self" ? [f.self, f.total] : [f.total, f.self];
  return new Ranking(groups.length, [figure, other].map((of) => (keys) => inRuns(groups.length, readSizes, groups, of, keys)), groups);
}

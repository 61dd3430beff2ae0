// callers.ts -- one function: what goes through it, who calls it, what it calls.
// SPDX-License-Identifier: Apache-2.0

import { withArrays, type Arrays } from "./memory.ts";
import type { Answer } from "./question.ts";
import { largestOf, orderBy } from "./order.ts";
import { OF_FUNCTION } from "./outermost.ts";
import type { Profile } from "./profile.ts";
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

function sorted(sums: Map<number, number>): Neighbour[] {
  const list = [...sums].filter(([, value]) => value !== 0).map(([group, value]) => ({ group, value }));
  return orderBy(list, (n) => Math.abs(n.value));
}

/** Each stack counts once, by the innermost (callees) and outermost (callers) place of the function. */
export function findCallers(p: Profile, a: Answer, group: number): Callers {
  const callers = new Map<number, number>();
  const callees = new Map<number, number>();
  const result: Callers = { total: 0, self: 0, callers: [], callees: [] };
  const values = p.through(a.values);
  const bits = p.outermostBits();
  const { first, next } = p.links();
  const { parents, frames, frameGroup } = p;
  const groupOf = (node: number): number => (node ? frameGroup[frames[node]!]! : -1);
  const add = (to: Map<number, number>, neighbour: number, value: number): void => void to.set(neighbour, (to.get(neighbour) ?? 0) + value);
  for (const node of p.nodesOfFunction(group)) {
    for (let child = first[node]!; child; child = next[child]!) add(callees, groupOf(child), values[child]!);
    if (bits[node]! & OF_FUNCTION) {
      result.total += values[node]!;
      add(callers, groupOf(parents[node]!), values[node]!);
      continue;
    }
    // What comes back to the function is counted there, not where it was left.
    let left = node;
    while (groupOf(parents[left]!) !== group) left = parents[left]!;
    add(callees, groupOf(left), -values[node]!);
  }
  const ends = p.leafFrames();
  for (let site = 0; site < ends.length; site++) if (frameGroup[ends[site]!] === group) result.self += a.values[site]!;
  result.callers = sorted(callers);
  result.callees = sorted(callees);
  return result;
}

/** Figures by function. They are the answer's, and go with it. */
export interface Functions {
  groups: Uint32Array; // those that have anything, in order
  total: Float64Array; // by group, as all that follows
  self: Float64Array;
  /** How doubtful both are; null: not at all. */
  totalVariance: Float64Array | null;
  selfVariance: Float64Array | null;
}

/** By function: what goes through it, and what it has itself. */
function sumByFunction(p: Profile, values: Float64Array, through: Float64Array, arrays: Arrays): [Float64Array, Float64Array] {
  const [total, self] = [arrays.f64(p.frameCount), arrays.f64(p.frameCount)];
  const { frames, frameGroup } = p;
  const bits = p.outermostBits();
  const ends = p.leafFrames();
  for (let node = 1; node < through.length; node++) if (bits[node]! & OF_FUNCTION) total[frameGroup[frames[node]!]!]! += through[node]!;
  for (let site = 0; site < ends.length; site++) if (ends[site]! < p.frameCount) self[frameGroup[ends[site]!]!]! += values[site]!;
  return [total, self];
}

/** Every function with what goes through it (each stack once) and what it allocates itself. */
export function allFunctions(p: Profile, a: Answer): Functions {
  const [total, self] = sumByFunction(p, a.values, p.through(a.values), a.arrays);
  const [totalVariance, selfVariance] = a.variance ? withArrays(p.memory, (own) => sumByFunction(p, a.variance!, valuesThrough(p, a.variance!, own.f64(p.parents.length)), a.arrays)) : [null, null];
  const groups = new Uint32Array(p.frameCount);
  let count = 0;
  for (let g = 0; g < groups.length; g++) if (total[g] !== 0 || self[g] !== 0) groups[count++] = g;
  const functions = { groups: groups.subarray(0, count), total, self, totalVariance, selfVariance };
  return { ...functions, groups: sortFunctions(functions, "self") };
}

/** Those with most of one first; of several with as much, those with most of the other. */
export function sortFunctions(f: Functions, by: "self" | "total"): Uint32Array {
  return largestOf(largestOf(f.groups, by === "self" ? f.total : f.self), f[by]);
}

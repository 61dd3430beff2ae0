// callers.ts -- one function: what goes through it, who calls it, what it calls.
// SPDX-License-Identifier: Apache-2.0

import type { Answer } from "./question.ts";
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
  return list.sort((x, y) => Math.abs(y.value) - Math.abs(x.value));
}

/** Each stack counts once, by the innermost (callees) and outermost (callers) place of the function. */
export function findCallers(p: Profile, a: Answer, group: number): Callers {
  const callers = new Map<number, number>();
  const callees = new Map<number, number>();
  const result: Callers = { total: 0, self: 0, callers: [], callees: [] };
  const values = p.through(a.values);
  const bits = p.outermostBits();
  const { parents, frames, frameGroup } = p;
  const add = (to: Map<number, number>, neighbour: number, value: number): void => void to.set(neighbour, (to.get(neighbour) ?? 0) + value);
  const isOf = new Uint8Array(frameGroup.length);
  for (let frame = 0; frame < isOf.length; frame++) isOf[frame] = frameGroup[frame] === group ? 1 : 0;
  // By node: that by which the nearest place of the function above was left; 0: there is none.
  const left = new Uint32Array(parents.length);
  for (let node = 1; node < parents.length; node++) {
    const parent = parents[node]!;
    const isBelow = parent !== 0 && isOf[frames[parent]!] === 1;
    left[node] = isBelow ? node : left[parent]!;
    if (isBelow) add(callees, frameGroup[frames[node]!]!, values[node]!);
    if (!isOf[frames[node]!]) continue;
    // What comes back to the function further in is counted there.
    if (left[node]) add(callees, frameGroup[frames[left[node]!]!]!, -values[node]!);
    if (!(bits[node]! & OF_FUNCTION)) continue;
    result.total += values[node]!;
    add(callers, parent ? frameGroup[frames[parent]!]! : -1, values[node]!);
  }
  for (let site = 0; site < p.siteCount; site++) if (p.leaves[site] && frameGroup[frames[p.leaves[site]!]!] === group) result.self += a.values[site]!;
  result.callers = sorted(callers);
  result.callees = sorted(callees);
  return result;
}

export interface FunctionRow {
  group: number;
  total: number;
  self: number;
  /** How doubtful both are. */
  totalVariance: number;
  selfVariance: number;
}

/** By function: what goes through it, and what it has itself. */
function sumByFunction(p: Profile, values: Float64Array, through: Float64Array): [Float64Array, Float64Array] {
  const total = new Float64Array(p.frameCount);
  const self = new Float64Array(p.frameCount);
  const { frames, frameGroup, leaves } = p;
  const bits = p.outermostBits();
  for (let node = 1; node < through.length; node++) if (bits[node]! & OF_FUNCTION) total[frameGroup[frames[node]!]!]! += through[node]!;
  for (let site = 0; site < leaves.length; site++) if (leaves[site]) self[frameGroup[frames[leaves[site]!]!]!]! += values[site]!;
  return [total, self];
}

/** Every function with what goes through it (each stack once) and what it allocates itself. */
export function allFunctions(p: Profile, a: Answer): FunctionRow[] {
  const [total, self] = sumByFunction(p, a.values, p.through(a.values));
  const [totalVariance, selfVariance] = a.variance ? sumByFunction(p, a.variance, valuesThrough(p, a.variance)) : [null, null];
  const rows: FunctionRow[] = [];
  for (let g = 0; g < p.frameCount; g++)
    if (total[g] !== 0 || self[g] !== 0)
      rows.push({ group: g, total: total[g]!, self: self[g]!, totalVariance: totalVariance?.[g] ?? 0, selfVariance: selfVariance?.[g] ?? 0 });
  return rows.sort((x, y) => Math.abs(y.self) - Math.abs(x.self) || Math.abs(y.total) - Math.abs(x.total));
}

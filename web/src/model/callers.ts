// callers.ts -- one function: what goes through it, who calls it, what it calls.
// SPDX-License-Identifier: Apache-2.0

import type { Answer } from "./question.ts";
import type { Profile } from "./profile.ts";

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

/** Each stack counts once, by the innermost (callees) and outermost (callers) place of the function. */
export function findCallers(p: Profile, a: Answer, group: number): Callers {
  const callers = new Map<number, number>();
  const callees = new Map<number, number>();
  const result: Callers = { total: 0, self: 0, callers: [], callees: [] };
  const add = (to: Map<number, number>, at: number, first: number, end: number, value: number): void => {
    const neighbour = at >= first && at < end ? p.frameGroup[p.stackFrames[at]!]! : -1;
    to.set(neighbour, (to.get(neighbour) ?? 0) + value);
  };
  for (let site = 0; site < p.siteCount; site++) {
    const value = a.values[site]!;
    if (value === 0) continue;
    const first = p.stackStarts[site]!;
    const end = p.stackStarts[site + 1]!;
    let outermost = -1;
    let innermost = -1;
    for (let i = first; i < end; i++)
      if (p.frameGroup[p.stackFrames[i]!] === group) {
        if (outermost < 0) outermost = i;
        innermost = i;
      }
    if (outermost < 0) continue;
    result.total += value;
    if (innermost === end - 1) result.self += value;
    add(callers, outermost - 1, first, end, value);
    if (innermost !== end - 1) add(callees, innermost + 1, first, end, value);
  }
  const sorted = (m: Map<number, number>): Neighbour[] =>
    [...m].map(([g, value]) => ({ group: g, value })).sort((x, y) => Math.abs(y.value) - Math.abs(x.value));
  result.callers = sorted(callers);
  result.callees = sorted(callees);
  return result;
}

export interface FunctionRow {
  group: number;
  total: number;
  self: number;
}

/** Every function with what goes through it (each stack once) and what it allocates itself. */
export function allFunctions(p: Profile, a: Answer): FunctionRow[] {
  const total = new Float64Array(p.frameCount);
  const self = new Float64Array(p.frameCount);
  const { stackStarts, stackFrames, frameGroup } = p;
  const { values } = a;
  const seen = new Int32Array(p.frameCount).fill(-1);
  for (let site = 0; site < values.length; site++) {
    const value = values[site]!;
    if (value === 0) continue;
    const first = stackStarts[site]!;
    const end = stackStarts[site + 1]!;
    for (let i = first; i < end; i++) {
      const g = frameGroup[stackFrames[i]!]!;
      if (seen[g] === site) continue;
      seen[g] = site;
      total[g]! += value;
    }
    if (end > first) self[frameGroup[stackFrames[end - 1]!]!]! += value;
  }
  const rows: FunctionRow[] = [];
  for (let g = 0; g < p.frameCount; g++) if (total[g] !== 0) rows.push({ group: g, total: total[g]!, self: self[g]! });
  return rows.sort((x, y) => Math.abs(y.self) - Math.abs(x.self) || Math.abs(y.total) - Math.abs(x.total));
}

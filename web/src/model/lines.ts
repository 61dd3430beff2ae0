// lines.ts -- what a figure comes to by source file and line.
// SPDX-License-Identifier: Apache-2.0

import { addTo, inRuns } from "../runs.ts";
import type { Answer } from "./question.ts";
import { OF_LINE } from "./outermost.ts";
import type { Profile } from "./profile.ts";

export interface LineFigures {
  self: number; // of stacks that end in this line
  total: number; // of stacks that go through it, each once
  frame: number; // one that is there
}

/** By line number, for one file (a text's number). Line 0: where the line is not known. */
export function linesOf(p: Profile, a: Answer, file: number): Map<number, LineFigures> {
  const lines = new Map<number, LineFigures>();
  addTotals(p, a, file, lines);
  addOwn(p, a, file, lines);
  return lines;
}

function addTotals(p: Profile, a: Answer, file: number, lines: Map<number, LineFigures>): void {
  inRuns(p.nodesOfFile(file).length, addTotalsOf, p, p.nodesOfFile(file), p.through(a.values), lines);
}

function addTotalsOf(from: number, to: number, p: Profile, nodes: Uint32Array, values: Float64Array, lines: Map<number, LineFigures>): void {
  const { frames, frameLine } = p;
  const bits = p.outermostBits();
  for (let i = from; i < to; i++) {
    const node = nodes[i]!;
    if (!(bits[node]! & OF_LINE) || values[node] === 0) continue;
    const frame = frames[node]!;
    const line = lines.get(frameLine[frame]!);
    if (line) line.total += values[node]!;
    else lines.set(frameLine[frame]!, { self: 0, total: values[node]!, frame });
  }
}

function addOwn(p: Profile, a: Answer, file: number, lines: Map<number, LineFigures>): void {
  inRuns(p.siteCount, addOwnOf, p, a.values, file, lines);
}

function addOwnOf(from: number, to: number, p: Profile, values: Float64Array, file: number, lines: Map<number, LineFigures>): void {
  const { frameLine } = p;
  const ends = p.leafFrames();
  const { ofSite } = p.files();
  for (let site = from; site < to; site++) {
    if (ofSite[site] !== file || values[site] === 0) continue;
    const frame = ends[site]!;
    let line = lines.get(frameLine[frame]!);
    if (!line) lines.set(frameLine[frame]!, (line = { self: 0, total: 0, frame })); // what it calls takes away as much
    line.self += values[site]!;
  }
}

/** How doubtful the figures of a file's lines are: variances in their place. Null: they are exact. */
export function doubtsOf(p: Profile, a: Answer, file: number): Map<number, LineFigures> | null {
  return a.variance && linesOf(p, { ...a, values: a.variance }, file);
}

export interface FileFigures {
  file: number;
  self: number;
  total: number;
}

/** Every source file, the one that allocates most itself first. */
export function allFiles(p: Profile, a: Answer): FileFigures[] {
  const most = p.frameFile.reduce((x, y) => Math.max(x, y), 0);
  const [self, total] = [new Float64Array(most + 1), new Float64Array(most + 1)];
  const through = p.through(a.values);
  const { ofNode, ofSite } = p.files();
  inRuns(through.length, addTo, ofNode, through, total);
  inRuns(ofSite.length, addTo, ofSite, a.values, self);
  const files: FileFigures[] = [];
  for (let file = 1; file <= most; file++) if (total[file] !== 0 || self[file] !== 0) files.push({ file, self: self[file]!, total: total[file]! });
  return files.sort((x, y) => Math.abs(y.self) - Math.abs(x.self) || Math.abs(y.total) - Math.abs(x.total));
}

export interface HotFrame {
  frame: number;
  value: number;
}

/** By an answer's values: several pages ask. */
const known = new WeakMap<Float64Array, HotFrame[]>();
const MOST = 20;

/** The lines of the program's own code that most comes from, those with most first, 20 at most. A stack
 * counts for the line nearest to the allocation. */
export function hottestFrames(p: Profile, a: Answer): HotFrame[] {
  let hot = known.get(a.values);
  if (!hot) known.set(a.values, (hot = findHottest(p, a, MOST)));
  return hot;
}

function addSizes(from: number, to: number, own: Uint32Array, values: Float64Array, sums: Float64Array): void {
  for (let site = from; site < to; site++) if (own[site]! < sums.length) sums[own[site]!]! += Math.abs(values[site]!);
}

function findHottest(p: Profile, a: Answer, count: number): HotFrame[] {
  const own = p.pack.u32("site.own");
  const sums = new Float64Array(p.frameCount);
  inRuns(own.length, addSizes, own, a.values, sums);
  const hot: HotFrame[] = [];
  for (let frame = 0; frame < sums.length; frame++) {
    const value = sums[frame]!;
    if (!value || (hot.length === count && hot[count - 1]!.value >= value)) continue;
    const at = hot.findIndex((other) => other.value < value);
    hot.splice(at < 0 ? hot.length : at, 0, { frame, value });
    if (hot.length > count) hot.pop();
  }
  return hot;
}

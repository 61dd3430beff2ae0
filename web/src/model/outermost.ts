// outermost.ts -- which nodes of the stacks' tree are the outermost ones of their function, file or
// line: what goes through these is what goes through the function, each stack once.
// SPDX-License-Identifier: Apache-2.0

import type { Links, Stacks, Work } from "./stacks.ts";

export const OF_FUNCTION = 1;
export const OF_FILE = 2;
export const OF_LINE = 4;

const NODES_A_STEP = 100000;

/** A number for each line of each file. */
function numberLines(files: Uint32Array, lines: Uint32Array): Uint32Array {
  const known = new Map<number, Map<number, number>>();
  let count = 0;
  return files.map((file, frame) => {
    let ofFile = known.get(file);
    if (!ofFile) known.set(file, (ofFile = new Map()));
    let id = ofFile.get(lines[frame]!);
    if (id === undefined) ofFile.set(lines[frame]!, (id = count++));
    return id;
  });
}

/** Goes through the tree once, down and up, and counts what is open above. */
export class Outermost implements Work {
  /** By node: OF_… bits. */
  readonly bits: Uint8Array;
  private readonly ids: Uint32Array[]; // by frame: its function, file, line
  private readonly open: Uint32Array[]; // by id: how many nodes above have it
  private node: number;

  constructor(private readonly stacks: Stacks, private readonly links: Links, files: Uint32Array, lines: Uint32Array) {
    this.bits = new Uint8Array(stacks.parents.length);
    this.ids = [stacks.frameGroup, files, numberLines(files, lines)];
    this.open = this.ids.map((ids) => new Uint32Array(ids.reduce((a, b) => Math.max(a, b), 0) + 1));
    this.node = links.first[0] ?? 0;
  }

  step(): boolean {
    const { first, next } = this.links;
    const { frames, parents } = this.stacks;
    const [groups, files, lines] = this.ids as [Uint32Array, Uint32Array, Uint32Array];
    const [openGroups, openFiles, openLines] = this.open as [Uint32Array, Uint32Array, Uint32Array];
    let { node } = this;
    for (let left = NODES_A_STEP; node && left > 0; left--) {
      let frame = frames[node]!;
      let bits = 0;
      if (openGroups[groups[frame]!]!++ === 0) bits |= OF_FUNCTION;
      if (openFiles[files[frame]!]!++ === 0) bits |= OF_FILE;
      if (openLines[lines[frame]!]!++ === 0) bits |= OF_LINE;
      this.bits[node] = bits;
      if (first[node]) {
        node = first[node]!;
        continue;
      }
      let beside = 0;
      while (node && !beside) {
        frame = frames[node]!;
        openGroups[groups[frame]!]!--;
        openFiles[files[frame]!]!--;
        openLines[lines[frame]!]!--;
        beside = next[node]!;
        node = parents[node]!;
      }
      node = beside;
    }
    this.node = node;
    return node === 0;
  }
}

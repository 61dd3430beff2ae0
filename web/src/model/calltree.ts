// calltree.ts -- stacks added up into a tree, from the root or from the allocating function, made
// only as far as it is looked at.
// SPDX-License-Identifier: Apache-2.0
//
// A node owns a run of `order`, the sites whose stacks go through it. Opening it sorts the run by
// the next frame; each child then owns a part of the run. So the cost of a level is that of the
// sites in the nodes that were opened, however large the whole tree would be.

import type { Answer } from "./question.ts";

/** Stacks, root first, and which frames are of one function: a profile's, two profiles', or those of
 * stacks.ts. What the tree calls a site is a row of them. */
export interface Stacks {
  stackStarts: Uint32Array;
  stackFrames: Uint32Array;
  frameGroup: Uint32Array;
}

export type GroupBy = "function" | "line";

export interface TreeNode {
  parent: TreeNode | null;
  /** A frame; with by "function", the first frame of the function. -1 for the root. */
  frame: number;
  depth: number; // the root's is 0
  value: number;
  /** What was added and what was taken away, together: more than `value` where something shrank. */
  size: number;
  bytes: number;
  blocks: number;
  /** Of the stacks that end here. */
  self: number;
  from: number;
  to: number;
  children: TreeNode[] | null; // null: not opened yet
}

const ENDED = 0xffffffff;

export class CallTree {
  readonly root: TreeNode;
  private readonly order: Uint32Array;
  private readonly keys: Uint32Array; // beside `order`: the frame that a site goes on with
  private readonly spare: Uint32Array;
  private readonly places: Uint32Array; // by frame; all 0 between calls

  constructor(
    readonly profile: Stacks,
    readonly answer: Answer,
    readonly inverted: boolean,
    readonly by: GroupBy,
  ) {
    // Those with nothing of this figure too: tables show the others beside it.
    const sites = Uint32Array.from(answer.values, (_, i) => i);
    this.order = answer.chosen ? sites.filter((site) => answer.chosen![site]) : sites;
    this.keys = new Uint32Array(this.order.length);
    this.spare = new Uint32Array(this.order.length);
    this.places = new Uint32Array(profile.frameGroup.length);
    this.root = this.makeNode(null, -1, 0, 0, this.order.length);
  }

  private makeNode(parent: TreeNode | null, frame: number, depth: number, from: number, to: number): TreeNode {
    const { values, bytes, blocks } = this.answer;
    const { order } = this;
    const { stackStarts } = this.profile;
    let value = 0;
    let size = 0;
    let byteSum = 0;
    let blockSum = 0;
    let self = 0;
    for (let i = from; i < to; i++) {
      const site = order[i]!;
      value += values[site]!;
      size += Math.abs(values[site]!);
      byteSum += bytes[site]!;
      blockSum += blocks[site]!;
      if (stackStarts[site + 1]! - stackStarts[site]! === depth) self += values[site]!;
    }
    return { parent, frame, depth, value, size, bytes: byteSum, blocks: blockSum, self, from, to, children: null };
  }

  /** Puts the frame of each site of the node at its depth, from the side that the tree begins with,
   * into `keys`; UINT32_MAX where the stack has ended. */
  private readKeys(node: TreeNode): void {
    const { stackStarts, stackFrames, frameGroup } = this.profile;
    const { order, keys, inverted } = this;
    const byFunction = this.by === "function";
    for (let i = node.from; i < node.to; i++) {
      const site = order[i]!;
      const first = stackStarts[site]!;
      const end = stackStarts[site + 1]!;
      if (node.depth >= end - first) {
        keys[i] = ENDED;
        continue;
      }
      const frame = stackFrames[inverted ? end - 1 - node.depth : first + node.depth]!;
      keys[i] = byFunction ? frameGroup[frame]! : frame;
    }
  }

  /** The children of a node, the largest first. Sites are dealt out by counting: no comparisons, and
   * nothing is allocated but the children. */
  open(node: TreeNode): TreeNode[] {
    if (node.children) return node.children;
    const { order, keys, spare, places } = this;
    this.readKeys(node);
    const frames: number[] = [];
    for (let i = node.from; i < node.to; i++) {
      const key = keys[i]!;
      if (key === ENDED) continue;
      if (places[key] === 0) frames.push(key);
      places[key]!++;
    }
    let at = node.from;
    const children: TreeNode[] = [];
    const ends: number[] = [];
    for (const frame of frames) {
      const count = places[frame]!;
      places[frame] = at;
      at += count;
      ends.push(at);
    }
    let ended = at;
    for (let i = node.from; i < node.to; i++) {
      const key = keys[i]!;
      spare[key === ENDED ? ended++ : places[key]!++] = order[i]!;
    }
    order.set(spare.subarray(node.from, node.to), node.from);
    let from = node.from;
    frames.forEach((frame, i) => {
      children.push(this.makeNode(node, frame, node.depth + 1, from, ends[i]!));
      from = ends[i]!;
      places[frame] = 0;
    });
    children.sort((x, y) => y.size - x.size || x.frame - y.frame);
    node.children = children;
    return children;
  }

  /** Sites that go through a node. */
  sites(node: TreeNode): Uint32Array {
    return this.order.subarray(node.from, node.to);
  }

  /** Frames from the root of the tree to the node. */
  path(node: TreeNode): number[] {
    const frames: number[] = [];
    for (let n: TreeNode | null = node; n && n.frame >= 0; n = n.parent) frames.unshift(n.frame);
    return frames;
  }

  /** The node at the end of a path; null if there is none (any more). */
  find(path: number[]): TreeNode | null {
    let node: TreeNode | undefined = this.root;
    for (const frame of path) {
      node = this.open(node).find((child) => child.frame === frame);
      if (!node) return null;
    }
    return node;
  }
}

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
  from: number;
  to: number;
  children: TreeNode[] | null; // null: not opened yet
}

export interface NodeSums {
  bytes: number;
  blocks: number;
  /** Of the stacks that end here. */
  self: number;
}

const ENDED = 0xffffffff;

function newNode(parent: TreeNode | null, frame: number, value: number, size: number, from: number, to: number): TreeNode {
  return { parent, frame, depth: parent ? parent.depth + 1 : 0, value, size, from, to, children: null };
}

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
    const { chosen } = answer;
    const sites = new Uint32Array(answer.values.length);
    let count = 0;
    for (let i = 0; i < sites.length; i++) if (!chosen || chosen[i]) sites[count++] = i;
    this.order = sites.subarray(0, count);
    this.keys = new Uint32Array(this.order.length);
    this.spare = new Uint32Array(this.order.length);
    this.places = new Uint32Array(profile.frameGroup.length);
    this.root = this.makeNode(null, -1, 0, this.order.length);
  }

  private makeNode(parent: TreeNode | null, frame: number, from: number, to: number): TreeNode {
    const { values } = this.answer;
    const { order } = this;
    let value = 0;
    let size = 0;
    for (let i = from; i < to; i++) {
      const v = values[order[i]!]!;
      value += v;
      size += Math.abs(v);
    }
    return newNode(parent, frame, value, size, from, to);
  }

  private readonly sums = new WeakMap<TreeNode, NodeSums>();

  /** What tables show of a node. Worked out when asked for: a flame graph opens thousands of nodes. */
  sum(node: TreeNode): NodeSums {
    let sums = this.sums.get(node);
    if (sums) return sums;
    const { values, bytes, blocks } = this.answer;
    const { stackStarts } = this.profile;
    sums = { bytes: 0, blocks: 0, self: 0 };
    for (let i = node.from; i < node.to; i++) {
      const site = this.order[i]!;
      sums.bytes += bytes[site]!;
      sums.blocks += blocks[site]!;
      if (stackStarts[site + 1]! - stackStarts[site]! === node.depth) sums.self += values[site]!;
    }
    this.sums.set(node, sums);
    return sums;
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
    this.readKeys(node);
    const frames = this.countKeys(node);
    // Most calls lead to one place: then there is nothing to deal out, nor to add up.
    const only = frames.length === 1 && this.places[frames[0]!] === node.to - node.from ? frames[0]! : -1;
    if (only >= 0) {
      this.places[only] = 0;
      node.children = [newNode(node, only, node.value, node.size, node.from, node.to)];
    } else node.children = this.deal(node, frames).sort((x, y) => y.size - x.size || x.frame - y.frame);
    return node.children;
  }

  /** Counts the sites by what they go on with, into `places`; which frames these are. */
  private countKeys(node: TreeNode): number[] {
    const { keys, places } = this;
    const frames: number[] = [];
    for (let i = node.from; i < node.to; i++) {
      const key = keys[i]!;
      if (key === ENDED) continue;
      if (places[key] === 0) frames.push(key);
      places[key]!++;
    }
    return frames;
  }

  /** Puts the sites of each child side by side, those that have ended last. */
  private deal(node: TreeNode, frames: number[]): TreeNode[] {
    const { order, keys, spare, places } = this;
    const ends: number[] = [];
    let at = node.from;
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
    return frames.map((frame, i) => {
      const child = this.makeNode(node, frame, from, ends[i]!);
      from = ends[i]!;
      places[frame] = 0;
      return child;
    });
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

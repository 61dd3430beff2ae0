// calltree.ts -- stacks added up into a tree, from the root or from the allocating function, made
// only as far as it is looked at.
// SPDX-License-Identifier: Apache-2.0
//
// A node owns a run of `order`, the sites whose stacks go through it. Opening it sorts the run by
// the next frame; each child then owns a part of the run. So the cost of a level is that of the
// sites in the nodes that were opened, however large the whole tree would be.

import type { Answer } from "./question.ts";

/** Stacks, root first, and which frames are of one function: a profile's, or two profiles'. */
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
  bytes: number;
  blocks: number;
  /** Of the stacks that end here. */
  self: number;
  from: number;
  to: number;
  children: TreeNode[] | null; // null: not opened yet
}

export class CallTree {
  readonly root: TreeNode;
  private readonly order: Uint32Array;

  constructor(
    readonly profile: Stacks,
    readonly answer: Answer,
    readonly inverted: boolean,
    readonly by: GroupBy,
  ) {
    // Those with nothing of this figure too: tables show the others beside it.
    const sites = Uint32Array.from(answer.values, (_, i) => i);
    this.order = answer.chosen ? sites.filter((site) => answer.chosen![site]) : sites;
    this.root = this.makeNode(null, -1, 0, 0, this.order.length);
  }

  private makeNode(parent: TreeNode | null, frame: number, depth: number, from: number, to: number): TreeNode {
    const node = { parent, frame, depth, value: 0, bytes: 0, blocks: 0, self: 0, from, to, children: null };
    const { values, bytes, blocks } = this.answer;
    for (let i = from; i < to; i++) {
      const site = this.order[i]!;
      node.value += values[site]!;
      node.bytes += bytes[site]!;
      node.blocks += blocks[site]!;
      if (this.depthOf(site) === depth) node.self += values[site]!;
    }
    return node;
  }

  private depthOf(site: number): number {
    return this.profile.stackStarts[site + 1]! - this.profile.stackStarts[site]!;
  }

  /** The frame of a site at a depth, counted from the side that the tree begins with; -1: none. */
  private frameAt(site: number, depth: number): number {
    const { stackStarts, stackFrames, frameGroup } = this.profile;
    const at = this.inverted ? stackStarts[site + 1]! - 1 - depth : stackStarts[site]! + depth;
    if (at < stackStarts[site]! || at >= stackStarts[site + 1]!) return -1;
    const frame = stackFrames[at]!;
    return this.by === "function" ? frameGroup[frame]! : frame;
  }

  /** The children of a node, the largest first. */
  open(node: TreeNode): TreeNode[] {
    if (node.children) return node.children;
    const byFrame = new Map<number, number[]>();
    for (let i = node.from; i < node.to; i++) {
      const site = this.order[i]!;
      const frame = this.frameAt(site, node.depth);
      const known = byFrame.get(frame);
      if (known) known.push(site);
      else byFrame.set(frame, [site]);
    }
    let at = node.from;
    const children: TreeNode[] = [];
    for (const [frame, sites] of byFrame) {
      this.order.set(sites, at);
      if (frame >= 0) children.push(this.makeNode(node, frame, node.depth + 1, at, at + sites.length));
      at += sites.length;
    }
    children.sort((a, b) => Math.abs(b.value) - Math.abs(a.value) || a.frame - b.frame);
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

// shape.ts -- the tree of calls as it is drawn from the root: what the stacks' tree has in several
// places, because lines or addresses differ, comes together. It holds for every figure.
// SPDX-License-Identifier: Apache-2.0
//
// Nodes are numbered level by level, so that a node's children follow each other. Sites are put in an
// order in which those below any node follow each other too: the sum over a node is then the
// difference of two running sums.

import type { GroupBy, Links, Stacks, Work } from "./stacks.ts";
import { Sums } from "./sums.ts";

const NONE = -1;
const NODES_A_STEP = 50000;

export class Shape implements Work {
  /** By node; the root has no frame. */
  frames: Uint32Array;
  /** Children of node i: starts[i] up to, not including, starts[i + 1]. */
  starts: Uint32Array;
  /** Sites below node i, in `order`: from[i] up to, not including, to[i]; its own come first. */
  from = new Uint32Array(0);
  to = new Uint32Array(0);
  order = new Uint32Array(0);
  private nodeOf: Uint32Array; // by node of the stacks
  // The nodes of the stacks that come together in one here, as lists.
  private members: Int32Array;
  private following: Int32Array;
  // By frame: the child of the node at hand that it has, if `seen` is that node.
  private seen: Int32Array;
  private child: Uint32Array;
  private at = 0;
  private count = 1;
  private own = new Uint32Array(0); // by node: sites that end in it
  private all = new Uint32Array(0); // by node: sites below it
  private readonly stages = [() => this.gatherSome(), () => this.countSites(), () => this.addSites(), () => this.placeSites(), () => this.orderSites()];

  constructor(readonly stacks: Stacks, private links: Links | null, readonly by: GroupBy, readonly fold: boolean) {
    const nodes = stacks.parents.length;
    this.frames = new Uint32Array(nodes);
    this.starts = new Uint32Array(nodes + 1);
    this.nodeOf = new Uint32Array(nodes);
    this.members = new Int32Array(nodes).fill(NONE);
    this.following = new Int32Array(nodes).fill(NONE);
    this.seen = new Int32Array(stacks.frameGroup.length).fill(NONE);
    this.child = new Uint32Array(stacks.frameGroup.length);
    this.members[0] = 0;
  }

  step(): boolean {
    if (this.stages[0]?.()) this.stages.shift();
    return this.stages.length === 0;
  }

  private added: Sums | null = null;

  /** Along `order`, for all trees without filters. */
  sums(): Sums {
    if (this.by !== "function" || this.fold) return new Sums(this.order, false);
    return (this.added ??= new Sums(this.order, true));
  }

  private gatherSome(): boolean {
    const end = Math.min(this.at + NODES_A_STEP, this.stacks.parents.length);
    for (; this.at < this.count && this.at < end; this.at++) this.gather(this.at);
    if (this.at < this.count) return false;
    this.frames = this.frames.slice(0, this.count);
    this.starts = this.starts.slice(0, this.count + 1);
    this.starts[this.count] = this.count;
    return true;
  }

  /** Finds the children of a node: those of all its members, by function. */
  private gather(node: number): void {
    const { members, following, seen, child, nodeOf } = this;
    const { first, next } = this.links!;
    const { frames, frameGroup } = this.stacks;
    const byFunction = this.by === "function";
    this.starts[node] = this.count;
    for (let member = members[node]!; member !== NONE; member = members[node]!) {
      members[node] = following[member]!;
      const own = this.fold && member > 0 ? frameGroup[frames[member]!]! : NONE;
      for (let inner = first[member]!; inner; inner = next[inner]!) {
        const frame = frames[inner]!;
        const group = frameGroup[frame]!;
        if (group === own) {
          // It calls itself: its own calls are the node's.
          nodeOf[inner] = node;
          following[inner] = members[node]!;
          members[node] = inner;
          continue;
        }
        const key = byFunction ? group : frame;
        if (seen[key] !== node) {
          seen[key] = node;
          child[key] = this.count;
          this.frames[this.count++] = key;
        }
        const found = child[key]!;
        nodeOf[inner] = found;
        following[inner] = members[found]!;
        members[found] = inner;
      }
    }
  }

  private countSites(): boolean {
    const { nodeOf } = this;
    const { leaves } = this.stacks;
    this.own = new Uint32Array(this.count);
    for (let site = 0; site < leaves.length; site++) this.own[nodeOf[leaves[site]!]!]!++;
    return true;
  }

  private addSites(): boolean {
    const { starts } = this;
    const all = (this.all = this.own.slice());
    for (let node = this.count - 1; node >= 0; node--)
      for (let inner = starts[node]!; inner < starts[node + 1]!; inner++) all[node]! += all[inner]!;
    return true;
  }

  private placeSites(): boolean {
    const { starts, all, own } = this;
    const from = (this.from = new Uint32Array(this.count));
    const to = (this.to = new Uint32Array(this.count));
    for (let node = 0; node < this.count; node++) {
      to[node] = from[node]! + all[node]!;
      let at = from[node]! + own[node]!;
      for (let inner = starts[node]!; inner < starts[node + 1]!; inner++) {
        from[inner] = at;
        at += all[inner]!;
      }
    }
    return true;
  }

  private orderSites(): boolean {
    const { nodeOf } = this;
    const { leaves } = this.stacks;
    const place = this.from.slice();
    this.order = new Uint32Array(leaves.length);
    for (let site = 0; site < leaves.length; site++) this.order[place[nodeOf[leaves[site]!]!]!++] = site;
    // What it was made with is not needed any more.
    this.links = null;
    this.own = this.all = this.nodeOf = this.child = new Uint32Array(0);
    this.members = this.following = this.seen = new Int32Array(0);
    return true;
  }
}

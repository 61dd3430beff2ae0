// bottomup.ts -- the tree of calls from the allocating function.
// SPDX-License-Identifier: Apache-2.0
//
// A node owns a run of `order`, the rows whose stacks go through it. Opening it deals the run out by
// the next frame; each child then owns a part of the run. So the cost of a level is that of the rows
// in the nodes that were opened, however large the whole tree would be. Nodes are made for those
// children alone that are large enough to be looked at.

import type { ByThread } from "./bythread.ts";
import { CallTree, chosenRows, countUp, sortNodes, type TreeNode } from "./calltree.ts";
import type { Answer } from "./question.ts";
import { depthsOf, type GroupBy, type Stacks } from "./stacks.ts";

const ENDED = 0xffffffff;

/** The children of a node before there are nodes for them. */
interface Parts {
  frames: number[];
  ends: Uint32Array; // of their runs, which follow each other
  values: Float64Array;
  sizes: Float64Array;
}

export interface Wanted {
  by: GroupBy;
  fold: boolean;
  threads: ByThread | null;
}

export class BottomUp extends CallTree {
  readonly root: TreeNode;
  private readonly fold: boolean;
  private readonly order: Uint32Array;
  private readonly next: Uint32Array; // beside `order`: the node that the row's stack goes on with
  private readonly keys: Uint32Array; // the same: its frame
  private readonly spare: Uint32Array;
  private readonly places: Uint32Array; // by frame; all 0 between calls
  private depths: Uint32Array | null = null;

  constructor(private readonly stacks: Stacks, answer: Answer, wanted: Wanted = { by: "function", fold: false, threads: null }) {
    super(answer, true, wanted.by, wanted.threads);
    this.fold = wanted.fold;
    // Those with nothing of this figure too: tables show the others beside it.
    this.order = chosenRows(answer, countUp(answer.values.length));
    const siteOf = wanted.threads?.siteOf;
    const { leaves } = stacks;
    this.next = new Uint32Array(this.order.length);
    for (let i = 0; i < this.next.length; i++) this.next[i] = leaves[siteOf ? siteOf[this.order[i]!]! : this.order[i]!]!;
    this.keys = new Uint32Array(this.order.length);
    this.spare = new Uint32Array(this.order.length);
    this.places = new Uint32Array(stacks.frameGroup.length + (wanted.threads?.threadCount ?? 0));
    const whole = this.addUp([-1], Uint32Array.of(this.order.length), 0);
    this.root = this.makeNode(null, whole, 0, 0);
  }

  private makeNode(parent: TreeNode | null, parts: Parts, i: number, from: number): TreeNode {
    return {
      parent, frame: parts.frames[i]!, depth: parent ? parent.depth + 1 : 0, value: parts.values[i]!, size: parts.sizes[i]!,
      from, to: parts.ends[i]!, at: 0, children: null, least: 0,
    };
  }

  /** Puts the frame that each row of the node goes on with into `keys`, and goes on. */
  private readKeys(node: TreeNode): void {
    const { parents, frames, frameGroup } = this.stacks;
    const { next, keys, fold } = this;
    const byFunction = this.by === "function";
    for (let i = node.from; i < node.to; i++) {
      let at = next[i]!;
      if (at === 0) {
        keys[i] = ENDED;
        continue;
      }
      const group = frameGroup[frames[at]!]!;
      // Of calls to itself the outermost is kept, for that is where it was entered.
      if (fold) while (parents[at] !== 0 && frameGroup[frames[parents[at]!]!] === group) at = parents[at]!;
      keys[i] = byFunction ? group : frames[at]!;
      next[i] = parents[at]!;
    }
  }

  private readThreads(): void {
    const { first } = this.threads!;
    for (let i = 0; i < this.order.length; i++) this.keys[i] = first[this.order[i]!]!;
  }

  open(node: TreeNode, least = 0): TreeNode[] {
    if (node.children && least >= node.least) return node.children;
    const parts = this.part(node);
    const made = node.children && new Map(node.children.map((child) => [child.frame, child]));
    const nodes: TreeNode[] = [];
    let from = node.from;
    parts.frames.forEach((frame, i) => {
      if (parts.sizes[i]! >= least) nodes.push(made?.get(frame) ?? this.makeNode(node, parts, i, from));
      from = parts.ends[i]!;
    });
    node.children = sortNodes(nodes);
    node.least = least;
    return nodes;
  }

  private readonly parted = new WeakMap<TreeNode, Parts>();

  /** Rows are dealt out by counting, once: no comparisons, and few things are allocated. */
  private part(node: TreeNode): Parts {
    let parts = this.parted.get(node);
    if (parts) return parts;
    if (this.threads && node.depth === 0) this.readThreads();
    else this.readKeys(node);
    const frames = this.countKeys(node);
    // Most calls lead to one place: then there is nothing to deal out, nor to add up.
    if (frames.length === 1 && this.places[frames[0]!] === node.to - node.from) {
      this.places[frames[0]!] = 0;
      parts = { frames, ends: Uint32Array.of(node.to), values: Float64Array.of(node.value), sizes: Float64Array.of(node.size) };
    } else parts = this.addUp(frames, this.deal(node, frames), node.from);
    this.parted.set(node, parts);
    return parts;
  }

  private addUp(frames: number[], ends: Uint32Array, from: number): Parts {
    const { values: by } = this.answer;
    const { order } = this;
    const parts: Parts = { frames, ends, values: new Float64Array(ends.length), sizes: new Float64Array(ends.length) };
    for (let part = 0, i = from; part < ends.length; part++) {
      let value = 0;
      let size = 0;
      for (; i < ends[part]!; i++) {
        const v = by[order[i]!]!;
        value += v;
        size += Math.abs(v);
      }
      parts.values[part] = value;
      parts.sizes[part] = size;
    }
    return parts;
  }

  /** Counts the rows by what they go on with, into `places`; which frames these are. */
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

  /** Puts the rows of each child side by side, those that have ended last; where each ends. */
  private deal(node: TreeNode, frames: number[]): Uint32Array {
    const { keys, places } = this;
    const ends = new Uint32Array(frames.length);
    let at = node.from;
    frames.forEach((frame, i) => {
      const count = places[frame]!;
      places[frame] = at;
      at += count;
      ends[i] = at;
    });
    // Where a row goes to, in place of its key; then both columns are moved.
    for (let i = node.from; i < node.to; i++) {
      const key = keys[i]!;
      keys[i] = key === ENDED ? at++ : places[key]!++;
    }
    this.move(this.order, node);
    this.move(this.next, node);
    for (const frame of frames) places[frame] = 0;
    return ends;
  }

  private move(column: Uint32Array, node: TreeNode): void {
    const { keys, spare } = this;
    for (let i = node.from; i < node.to; i++) spare[keys[i]!] = column[i]!;
    column.set(spare.subarray(node.from, node.to), node.from);
  }

  rows(node: TreeNode): Uint32Array {
    return this.order.subarray(node.from, node.to);
  }

  total(node: TreeNode, values: Float64Array): number {
    const { order } = this;
    let sum = 0;
    for (let i = node.from; i < node.to; i++) sum += values[order[i]!]!;
    return sum;
  }

  protected own(node: TreeNode, values: Float64Array): number {
    const depths = (this.depths ??= depthsOf(this.stacks, this.fold));
    const siteOf = this.threads?.siteOf;
    const depth = node.depth - (this.threads ? 1 : 0);
    let sum = 0;
    for (let i = node.from; i < node.to; i++) {
      const row = this.order[i]!;
      if (depths[this.stacks.leaves[siteOf ? siteOf[row]! : row]!] === depth) sum += values[row]!;
    }
    return sum;
  }
}

// calltree.ts -- stacks added up into a tree that is made only as far as it is looked at; from the
// root in topdown.ts, from the allocating function in bottomup.ts.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import type { ByThread } from "./bythread.ts";
import { Level, type Children } from "./level.ts";
import { orderBy } from "./order.ts";
import type { Answer, Figures } from "./question.ts";
import type { ReadKeys } from "./ranking.ts";
import type { GroupBy } from "./stacks.ts";
import type { Run, Sums } from "./sums.ts";

export interface TreeNode {
  parent: TreeNode | null;
  /** A frame; with by "function", the first frame of the function. -1 for the root. */
  frame: number;
  depth: number; // the root's is 0
  value: number;
  /** What was added and what was taken away, together: more than `value` where something shrank. */
  size: number;
  from: number; // the rows below it, in the order of the tree
  to: number;
  at: number; // topdown.ts: the node of the shape
  children: TreeNode[] | null; // null: not opened yet
  least: number; // smaller children may be missing
}

export interface NodeSums {
  bytes: number;
  blocks: number;
  /** Of the stacks that end here. */
  self: number;
  /** Of other figures. */
  others: number[];
}

const isLarger = (x: TreeNode, y: TreeNode): number => y.size - x.size || x.frame - y.frame;
const FEW = 12;
const MANY = 20000;

/** The largest first. Most nodes have few children, which are put in place faster than sorted. */
export function sortNodes(nodes: TreeNode[]): TreeNode[] {
  if (nodes.length > FEW) return sortMany(nodes);
  for (let i = 1; i < nodes.length; i++) {
    const node = nodes[i]!;
    let at = i;
    for (; at > 0 && isLarger(nodes[at - 1]!, node) > 0; at--) nodes[at] = nodes[at - 1]!;
    nodes[at] = node;
  }
  return nodes;
}

/** Runs of one size are put in order by the numbers of frames. Most are short; those with nothing can be many. */
function sortMany(nodes: TreeNode[]): TreeNode[] {
  const sorted = orderBy(nodes, (node) => node.size);
  for (let from = 0, to = 0; from < sorted.length; from = to) {
    while (to < sorted.length && sorted[to]!.size === sorted[from]!.size) to++;
    if (to - from < 2) continue;
    const same = sorted.slice(from, to);
    const run = same.length > FEW ? orderBy(same, (node) => -node.frame) : sortNodes(same);
    for (let i = 0; i < run.length; i++) sorted[from + i] = run[i]!;
  }
  return sorted;
}

/** The rows of an answer as a tree. A row is a site, or with `threads` a thread's share of one. */
export abstract class CallTree {
  abstract readonly root: TreeNode;
  /** Along the rows of the tree. */
  protected abstract readonly sums: Sums;
  /** Running sums of what boxes are sized by. */
  protected abstract readonly sizes: Float64Array;
  private readonly levels = new WeakMap<TreeNode, Level>();

  protected constructor(readonly answer: Answer, readonly inverted: boolean, readonly by: GroupBy, readonly threads: ByThread | null) {}

  /** The children of a node, the largest first. Those smaller than `least` may be left out, for
   * those who cannot show them anyway. */
  abstract open(node: TreeNode, least?: number): TreeNode[];

  protected abstract makeNode(parent: TreeNode | null, frame: number, at: number, from: number, to: number): TreeNode;
  protected abstract readChildren(node: TreeNode): Children;

  /** All children, as columns; of a tree without threads. Its nodes are others than those of `open`. */
  level(node: TreeNode): Level {
    let level = this.levels.get(node);
    if (!level) {
      const children = this.readChildren(node);
      const { frame, at, from, to } = children;
      level = new Level(children, readerOf(children, this.sizes), (c) => this.makeNode(node, frame[c]!, at[c]!, from[c]!, to[c]!));
      this.levels.set(node, level);
    }
    return level;
  }

  /** Room for columns of children, or more. Those of the root are the many: their memory is that of the answer, in few
   * sizes, so that others can use it. */
  protected roomFor(count: number): Uint32Array {
    return count > MANY ? this.answer.arrays.u32ToFill(2 ** Math.ceil(Math.log2(count))) : new Uint32Array(count);
  }

  /** By child: what its rows come to. */
  amountsOf({ children }: Level, values: Float64Array): ReadKeys {
    return readerOf(children, this.sumsOf(values));
  }

  /** The size of what ends in it; `parent` is the node that the level is of. */
  ownSizesOf({ children }: Level, values: Float64Array, parent: TreeNode): ReadKeys {
    const sums = this.sumsOf(values);
    const depth = parent.depth + 1;
    const endOf = (c: number): number => this.ownEnd(children.at[c]!, children.from[c]!, children.to[c]!, depth);
    return (keys) => inRuns(children.count, readOwnSizes, children, sums, endOf, keys);
  }

  /** Rows that go through a node; filters may have made nothing of some. */
  abstract rows(node: TreeNode): Uint32Array;

  /** How many rows that is, without those. */
  abstract count(node: TreeNode): number;

  /** Where the rows that end in a node itself are over; they come first. */
  protected abstract ownEnd(at: number, from: number, to: number, depth: number): number;

  /** Of the answer, for `total` and its like. */
  figures(): Figures {
    return this.answer;
  }

  /** Running sums along the tree's rows. */
  protected sumsOf(values: Float64Array): Float64Array {
    return this.sums.of(values, this.answer.arrays);
  }

  /** What the rows of a node come to; `values` are by row. */
  total(node: TreeNode, values: Float64Array): number {
    const sums = this.sumsOf(values);
    return sums[node.to]! - sums[node.from]!;
  }

  /** What the first rows of nodes come to, those before `end`; of an answer without filters. */
  adderOfFirst(end: number): (node: TreeNode) => number {
    const sums = this.sums.ofFirst(this.answer.values, end, this.answer.arrays);
    return (node) => sums[node.to]! - sums[node.from]!;
  }

  /** What tables show of nodes, with other figures by row beside. */
  tell(nodes: TreeNode[], others: Float64Array[]): NodeSums[] {
    const { values, bytes, blocks } = this.figures();
    const runs = nodes.map(({ from, to }): Run => [from, to]);
    const own = nodes.map(({ at, from, to, depth }): Run => [from, this.ownEnd(at, from, to, depth)]);
    const [ofBytes, ofBlocks, self, ...more] = [this.sums.ofRuns(bytes, runs), this.sums.ofRuns(blocks, runs), this.sums.ofRuns(values, own), ...others.map((column) => this.sums.ofRuns(column, runs))];
    return nodes.map((_, i) => ({ bytes: ofBytes[i]!, blocks: ofBlocks[i]!, self: self[i]!, others: more.map((sums) => sums![i]!) }));
  }

  sum(node: TreeNode): NodeSums {
    return this.tell([node], [])[0]!;
  }

  /** The first level where threads are told apart; `order` has their rows one thread after the other. */
  protected openThreads(order: Uint32Array, make: (thread: number, from: number, to: number) => TreeNode): TreeNode[] {
    const first = this.threads!.first;
    const nodes: TreeNode[] = [];
    for (let from = 0, to = 0; from < order.length; from = to) {
      const thread = first[order[from]!]!;
      to = endOfThread(first, order, from);
      nodes.push(make(thread, from, to));
    }
    return nodes;
  }

  /** Frames from the root of the tree to the node. */
  path(node: TreeNode): number[] {
    const frames: number[] = [];
    for (let n: TreeNode | null = node; n && n.frame >= 0; n = n.parent) frames.unshift(n.frame);
    return frames;
  }

  /** As `find`, of the nodes of levels. */
  seek(path: number[]): TreeNode | null {
    let node: TreeNode | null = this.root;
    for (const frame of path) if (node) node = this.level(node).find(frame);
    return node;
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

function readerOf(children: Children, sums: Float64Array): ReadKeys {
  return (keys) => inRuns(children.count, readAmounts, children, sums, keys);
}

function readAmounts(first: number, last: number, { from, to }: Children, sums: Float64Array, keys: Float64Array): void {
  for (let c = first; c < last; c++) keys[c] = sums[to[c]!]! - sums[from[c]!]!;
}

function readOwnSizes(first: number, last: number, { from }: Children, sums: Float64Array, endOf: (child: number) => number, keys: Float64Array): void {
  for (let c = first; c < last; c++) keys[c] = Math.abs(sums[endOf(c)]! - sums[from[c]!]!);
}

/** Where the rows of a thread are over; threads follow each other by their numbers. */
function endOfThread(first: Uint32Array, order: Uint32Array, from: number): number {
  const thread = first[order[from]!]!;
  let to = order.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (first[order[middle]!]! <= thread) from = middle + 1;
    else to = middle;
  }
  return to;
}

/** 0, 1, 2, … */
export function countUp(count: number): Uint32Array {
  const numbers = new Uint32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = i;
  return numbers;
}

const placed = new WeakMap<Uint32Array, Uint32Array>();

/** By row: its place in an order of all. Remembered as long as somebody has the order. */
export function placesIn(order: Uint32Array): Uint32Array {
  let places = placed.get(order);
  if (!places) {
    placed.set(order, (places = new Uint32Array(order.length)));
    inRuns(order.length, place, order, places);
  }
  return places;
}

function place(from: number, to: number, order: Uint32Array, places: Uint32Array): void {
  for (let i = from; i < to; i++) places[order[i]!] = i;
}

/** Rows that the answer's filters let through, in their order. */
export function chosenRows(answer: Answer, order: Uint32Array): Uint32Array {
  const { chosen } = answer;
  if (!chosen) return order;
  const rows = answer.arrays.u32ToFill(order.length);
  const found = { count: 0 };
  inRuns(order.length, choose, order, chosen, rows, found);
  return rows.subarray(0, found.count);
}

function choose(from: number, to: number, order: Uint32Array, chosen: Uint8Array, rows: Uint32Array, found: { count: number }): void {
  let { count } = found;
  for (let i = from; i < to; i++) if (chosen[order[i]!]) rows[count++] = order[i]!;
  found.count = count;
}

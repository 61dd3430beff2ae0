// bottomup.ts -- the tree of calls from the allocating function. A node is a run of the rows in the
// order of reversed.ts; its children begin where a row has fewer frames in common with the one before.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import type { ByThread } from "./bythread.ts";
import { CallTree, chosenRows, placesIn, sortNodes, type TreeNode } from "./calltree.ts";
import type { Children } from "./level.ts";
import type { Arrays } from "./memory.ts";
import type { Answer, Figures } from "./question.ts";
import { BLOCK, leastByBlock, type Common, type Reversed } from "./reversed.ts";
import { Sums } from "./sums.ts";

/** The least that rows from one place of an order to another, which comes after it, have in common. */
function leastBetween(c: Common, from: number, to: number): number {
  let least = 0xffff;
  for (let i = from + 1; i <= to; i++) {
    if (i % BLOCK === 0 && i + BLOCK <= to) {
      least = Math.min(least, c.least[i / BLOCK]!);
      i += BLOCK - 1;
    } else if (c.shared[i]! < least) least = c.shared[i]!;
  }
  return least;
}

/** By order of rows: thread's rows stay in theirs for every figure. */
const known = new WeakMap<Uint32Array, Common>();

/** What rows have in common when they are not those of `reversed` one after the other. `arrays`: where to put it, if it
 * is for one answer alone. */
export function findCommon(reversed: Reversed, order: Uint32Array, siteOf: Uint32Array | null, arrays?: Arrays): Common {
  const found = known.get(order);
  if (found) return found;
  const places = placesIn(reversed.order);
  const lengths = arrays?.u16(order.length) ?? new Uint16Array(order.length);
  const shared = arrays?.u16(order.length) ?? new Uint16Array(order.length);
  inRuns(order.length, compareRun, reversed, (row: number) => places[siteOf ? siteOf[row]! : row]!, order, { lengths, shared });
  const common = { lengths, shared, least: leastByBlock(shared) };
  known.set(order, common);
  return common;
}

function compareRun(from: number, to: number, reversed: Reversed, placeOf: (row: number) => number, order: Uint32Array, { lengths, shared }: Omit<Common, "least">): void {
  for (let i = from, before = from ? placeOf(order[from - 1]!) : -1; i < to; i++) {
    const place = placeOf(order[i]!);
    lengths[i] = reversed.lengths[place]!;
    // The next thread begins anew.
    shared[i] = i === 0 || place <= before ? 0 : place === before + 1 ? reversed.shared[place]! : leastBetween(reversed, before, place);
    before = place;
  }
}

/** Rows from `first` on: children begin where they have no more than so many frames in common with the one before. */
type Begins = { shared: Uint16Array; first: number; depth: number; count: number };

function countBegins(start: number, end: number, begins: Begins): void {
  const { shared, first, depth } = begins;
  let { count } = begins;
  for (let i = first + start; i < first + end; i++) if (shared[i]! <= depth || i === first) count++;
  begins.count = count;
}

/** Each begins where the one before ends. */
function findBegins(start: number, end: number, begins: Begins, from: Uint32Array, to: Uint32Array): void {
  const { shared, first, depth } = begins;
  let { count } = begins;
  for (let i = first + start; i < first + end; i++) {
    if (shared[i]! > depth && i !== first) continue;
    if (count) to[count - 1] = i;
    from[count++] = i;
  }
  begins.count = count;
}

function readFrames(start: number, end: number, from: Uint32Array, frame: Uint32Array, frameAt: (i: number) => number): void {
  for (let c = start; c < end; c++) frame[c] = frameAt(from[c]!);
}

export class BottomUp extends CallTree {
  readonly root: TreeNode;
  protected readonly sums: Sums;
  private readonly order: Uint32Array; // rows: thread by thread, each as `reversed` has their sites
  private readonly common: Common; // beside `order`
  private readonly values: Float64Array; // running sums, as `sizes`
  protected readonly sizes: Float64Array;

  constructor(private readonly reversed: Reversed, answer: Answer, threads: ByThread | null = null) {
    super(answer, true, reversed.by, threads);
    // Those with nothing of this figure too: tables show the others beside it.
    this.order = chosenRows(answer, threads ? threads.inOrder(reversed.order) : reversed.order);
    const isWhole = this.order === reversed.order;
    this.common = isWhole ? reversed : findCommon(reversed, this.order, threads?.siteOf ?? null, answer.chosen ? answer.arrays : undefined);
    this.sums = isWhole ? reversed.sums() : new Sums(this.order, false);
    const { values } = this.figures();
    this.values = this.sumsOf(values);
    this.sizes = answer.question.figure === "growth" ? this.sums.ofSizes(values, answer.arrays) : this.values; // nothing else is ever negative
    this.root = this.makeNode(null, -1, 0, 0, this.order.length);
  }

  /** The rows are those that are chosen. */
  override figures(): Figures {
    return this.answer.whole ?? this.answer;
  }

  private siteAt(i: number): number {
    const { threads } = this;
    return threads ? threads.siteOf[this.order[i]!]! : this.order[i]!;
  }

  protected makeNode(parent: TreeNode | null, frame: number, _at: number, from: number, to: number): TreeNode {
    const { values, sizes } = this;
    return { parent, frame, depth: parent ? parent.depth + 1 : 0, value: values[to]! - values[from]!, size: sizes[to]! - sizes[from]!, from, to, at: 0, children: null, least: 0 };
  }

  open(node: TreeNode, least = 0): TreeNode[] {
    if (node.children && least >= node.least) return node.children;
    const children = this.threads && node.depth === 0 ? this.openThreads(this.order, (thread, from, to) => this.makeNode(this.root, thread, 0, from, to)) : this.openCalls(node, least);
    node.children = sortNodes(children);
    node.least = least;
    return node.children;
  }

  /** How many frames the rows of a node that is so deep have in common. */
  private depthIn(depth: number): number {
    return depth - (this.threads ? 1 : 0);
  }

  private openCalls(node: TreeNode, least: number): TreeNode[] {
    const { sizes } = this;
    const depth = this.depthIn(node.depth);
    const made = node.children && new Map(node.children.map((child) => [child.from, child]));
    const nodes: TreeNode[] = [];
    for (let from = this.ownEnd(0, node.from, node.to, node.depth), to = 0; from < node.to; from = to) {
      to = this.endOf(depth, from, node.to);
      if (sizes[to]! - sizes[from]! >= least) nodes.push(made?.get(from) ?? this.makeNode(node, this.frameAt(from, depth), 0, from, to));
    }
    return nodes;
  }

  protected readChildren(node: TreeNode): Children {
    const depth = this.depthIn(node.depth);
    const first = this.ownEnd(0, node.from, node.to, node.depth);
    const { shared } = this.common;
    const rows = node.to - first;
    const begins = { shared, first, depth, count: 0 };
    inRuns(rows, countBegins, begins);
    const { count } = begins;
    const [frame, from, to] = [this.roomFor(count), this.roomFor(count), this.roomFor(count)];
    begins.count = 0;
    inRuns(rows, findBegins, begins, from, to);
    if (count) to[count - 1] = node.to;
    inRuns(count, readFrames, from, frame, (i: number) => this.frameAt(i, depth));
    return { count, frame, at: from, from, to };
  }

  /** The next row that has no more than so many frames in common with the one before. */
  private endOf(depth: number, from: number, to: number): number {
    const { shared, least } = this.common;
    let i = from + 1;
    while (i < to && shared[i]! > depth) {
      if (i % BLOCK === 0) while (i + BLOCK < to && least[i / BLOCK]! > depth) i += BLOCK;
      if (shared[i]! > depth) i++;
    }
    return i;
  }

  /** The frame of a row's stack with so many inside of it. */
  private frameAt(i: number, depth: number): number {
    const { stacks, fold, by } = this.reversed;
    const { parents, frames, frameGroup } = stacks;
    let node = stacks.leaves[this.siteAt(i)]!;
    for (let left = depth; ; left--) {
      if (fold) while (parents[node] && frameGroup[frames[parents[node]!]!] === frameGroup[frames[node]!]) node = parents[node]!;
      if (left === 0) break;
      node = parents[node]!;
    }
    return by === "function" ? frameGroup[frames[node]!]! : frames[node]!;
  }

  rows(node: TreeNode): Uint32Array {
    return this.order.subarray(node.from, node.to);
  }

  count(node: TreeNode): number {
    return node.to - node.from;
  }

  protected ownEnd(_at: number, from: number, to: number, depth: number): number {
    if (this.threads && depth === 0) return from;
    const { lengths } = this.common;
    const frames = this.depthIn(depth);
    let end = from;
    while (end < to && lengths[end] === frames) end++;
    return end;
  }
}

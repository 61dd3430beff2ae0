// topdown.ts -- the tree of calls from the root. What belongs together is known from the shape: a
// figure costs one pass over the sites, and a node costs as much as it has children.
// SPDX-License-Identifier: Apache-2.0

import type { ByThread } from "./bythread.ts";
import { CallTree, chosenRows, placesIn, sortNodes, type TreeNode } from "./calltree.ts";
import type { Children } from "./level.ts";
import type { Arrays } from "./memory.ts";
import type { Answer, Figures } from "./question.ts";
import type { Shape } from "./shape.ts";
import { countChosen, Sums } from "./sums.ts";

/** By order of rows: threads' rows stay in theirs for every figure. */
const known = new WeakMap<Uint32Array, Uint32Array>();

/** Where the sites of these rows are in the shape's order. `arrays`: as in bottomup.ts. */
export function findPlaces(shape: Shape, rows: Uint32Array, siteOf: Uint32Array, arrays?: Arrays): Uint32Array {
  const made = known.get(rows);
  if (made) return made;
  const places = placesIn(shape.order);
  const found = arrays?.u32(rows.length) ?? new Uint32Array(rows.length);
  for (let i = 0; i < found.length; i++) found[i] = places[siteOf[rows[i]!]!]!;
  known.set(rows, found);
  return found;
}

export class TopDown extends CallTree {
  readonly root: TreeNode;
  protected readonly sums: Sums;
  private readonly order: Uint32Array; // rows: thread by thread, each as the shape has their sites
  /** Beside `order`: the place of the row's site in the shape's order; null: its own place. */
  private readonly places: Uint32Array | null;
  /** By place: how many rows before it the filters let through; null: all, or `order` has no others. */
  private readonly counts: Uint32Array | null;
  private readonly values: Float64Array; // running sums, as `sizes`
  protected readonly sizes: Float64Array;

  constructor(private readonly shape: Shape, answer: Answer, threads: ByThread | null = null) {
    super(answer, false, shape.by, threads);
    this.order = threads ? chosenRows(answer, threads.inOrder(shape.order)) : shape.order;
    this.places = threads && findPlaces(shape, this.order, threads.siteOf, answer.chosen ? answer.arrays : undefined);
    this.counts = !threads && answer.chosen ? countChosen(this.order, answer.chosen, answer.arrays) : null;
    this.sums = threads ? new Sums(this.order, false) : this.counts ? shape.sums().ofChosen(this.counts) : shape.sums();
    const { values } = this.figures();
    this.values = this.sumsOf(values);
    this.sizes = answer.question.figure === "growth" ? this.sums.ofSizes(values, answer.arrays) : this.values; // nothing else is ever negative
    this.root = this.makeNode(null, -1, 0, 0, this.order.length);
  }

  protected makeNode(parent: TreeNode | null, frame: number, at: number, from: number, to: number): TreeNode {
    const { values, sizes } = this;
    return { parent, frame, depth: parent ? parent.depth + 1 : 0, value: values[to]! - values[from]!, size: sizes[to]! - sizes[from]!, from, to, at, children: null, least: 0 };
  }

  /** The sums know what is chosen, and have been made of all before. */
  override figures(): Figures {
    return (this.counts && this.answer.whole) || this.answer;
  }

  open(node: TreeNode, least = 0): TreeNode[] {
    if (node.children && least >= node.least) return node.children;
    const children = this.threads && node.depth === 0 ? this.openThreads(this.order, (thread, from, to) => this.makeNode(this.root, thread, 0, from, to)) : this.openCalls(node, least);
    node.children = sortNodes(children);
    node.least = least;
    return node.children;
  }

  private openCalls(node: TreeNode, least: number): TreeNode[] {
    const { starts, frames, from, to } = this.shape;
    const { sizes, counts, places } = this;
    const made = node.children && new Map(node.children.map((child) => [child.at, child]));
    const nodes: TreeNode[] = [];
    let start = node.from;
    let end = start;
    for (let child = starts[node.at]!; child < starts[node.at + 1]!; child++) {
      start = places ? this.findPlace(places, from[child]!, end, node.to) : from[child]!;
      end = places ? this.findPlace(places, to[child]!, start, node.to) : to[child]!;
      if (sizes[end]! - sizes[start]! < least || (counts ? counts[end] === counts[start] : end === start)) continue;
      nodes.push(made?.get(child) ?? this.makeNode(node, frames[child]!, child, start, end));
    }
    return nodes;
  }

  protected readChildren(node: TreeNode): Children {
    const { starts, frames, from: froms, to: tos } = this.shape;
    const { counts } = this;
    const [first, end] = [starts[node.at]!, starts[node.at + 1]!];
    const [frame, at, from, to] = [this.roomFor(end - first), this.roomFor(end - first), this.roomFor(end - first), this.roomFor(end - first)];
    let count = 0;
    for (let child = first; child < end; child++) {
      const [start, stop] = [froms[child]!, tos[child]!];
      if (counts ? counts[stop] === counts[start] : stop === start) continue;
      [frame[count], at[count], from[count], to[count]] = [frames[child]!, child, start, stop];
      count++;
    }
    return { count, frame, at, from, to };
  }

  /** The first row between two whose site is at this place of the shape's order, or after it. */
  private findPlace(places: Uint32Array, place: number, from: number, to: number): number {
    if (from === to || places[from]! >= place) return from; // most often: the one before ended here
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (places[middle]! < place) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  rows(node: TreeNode): Uint32Array {
    return this.order.subarray(node.from, node.to);
  }

  count(node: TreeNode): number {
    return this.counts ? this.counts[node.to]! - this.counts[node.from]! : node.to - node.from;
  }

  protected ownEnd(at: number, from: number, to: number, depth: number): number {
    if (this.threads && depth === 0) return from;
    const { starts, from: froms } = this.shape;
    const hasChildren = starts[at]! < starts[at + 1]!;
    if (!hasChildren) return to;
    const first = froms[starts[at]!]!;
    return this.places ? this.findPlace(this.places, first, from, to) : first;
  }
}

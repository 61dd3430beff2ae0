// topdown.ts -- the tree of calls from the root. What belongs together is known from the shape: a
// figure costs one pass over the sites, and a node costs as much as it has children.
// SPDX-License-Identifier: Apache-2.0

import type { ByThread } from "./bythread.ts";
import { CallTree, chosenRows, sortNodes, type TreeNode } from "./calltree.ts";
import type { Answer } from "./question.ts";
import type { Shape } from "./shape.ts";

/** Running sums: what comes before each place, and all at the end. */
function runningSums(values: Float64Array, order: Uint32Array, absolute: boolean): Float64Array {
  const sums = new Float64Array(order.length + 1);
  let sum = 0;
  for (let i = 0; i < order.length; i++) {
    const value = values[order[i]!]!;
    sum += absolute ? Math.abs(value) : value;
    sums[i + 1] = sum;
  }
  return sums;
}

function hasNegative(values: Float64Array): boolean {
  for (let i = 0; i < values.length; i++) if (values[i]! < 0) return true;
  return false;
}

export class TopDown extends CallTree {
  readonly root: TreeNode;
  private readonly order: Uint32Array; // rows: thread by thread, each as the shape has their sites
  /** Beside `order`: the place of the row's site in the shape's order; null: its own place. */
  private readonly places: Uint32Array | null;
  private readonly values: Float64Array; // running sums, as `sizes`
  private readonly sizes: Float64Array;
  private readonly running = new Map<Float64Array, Float64Array>();

  constructor(private readonly shape: Shape, answer: Answer, threads: ByThread | null = null) {
    super(answer, false, shape.by, threads);
    this.order = chosenRows(answer, threads ? threads.inOrder(shape.order) : shape.order);
    this.places = this.order === shape.order ? null : this.findPlaces();
    this.values = this.runningOf(answer.values);
    this.sizes = hasNegative(answer.values) ? runningSums(answer.values, this.order, true) : this.values;
    this.root = this.makeNode(null, -1, 0, 0, this.order.length);
  }

  private findPlaces(): Uint32Array {
    const { order } = this.shape;
    const siteOf = this.threads?.siteOf;
    const places = new Uint32Array(order.length);
    for (let i = 0; i < order.length; i++) places[order[i]!] = i;
    const found = new Uint32Array(this.order.length);
    for (let i = 0; i < found.length; i++) found[i] = places[siteOf ? siteOf[this.order[i]!]! : this.order[i]!]!;
    return found;
  }

  private runningOf(values: Float64Array): Float64Array {
    let sums = this.running.get(values);
    if (!sums) this.running.set(values, (sums = runningSums(values, this.order, false)));
    return sums;
  }

  private makeNode(parent: TreeNode | null, frame: number, at: number, from: number, to: number): TreeNode {
    const { values, sizes } = this;
    return { parent, frame, depth: parent ? parent.depth + 1 : 0, value: values[to]! - values[from]!, size: sizes[to]! - sizes[from]!, from, to, at, children: null, least: 0 };
  }

  open(node: TreeNode, least = 0): TreeNode[] {
    if (node.children && least >= node.least) return node.children;
    const children = this.threads && node.depth === 0 ? this.openThreads() : this.openCalls(node, least);
    node.children = sortNodes(children);
    node.least = least;
    return children;
  }

  private openThreads(): TreeNode[] {
    const first = this.threads!.first;
    const { order } = this;
    const nodes: TreeNode[] = [];
    for (let from = 0, to = 0; from < order.length; from = to) {
      const thread = first[order[from]!]!;
      while (to < order.length && first[order[to]!] === thread) to++;
      nodes.push(this.makeNode(this.root, thread, 0, from, to));
    }
    return nodes;
  }

  private openCalls(node: TreeNode, least: number): TreeNode[] {
    const { starts, frames, from, to } = this.shape;
    const { sizes } = this;
    const made = node.children && new Map(node.children.map((child) => [child.at, child]));
    const nodes: TreeNode[] = [];
    let start = node.from;
    for (let child = starts[node.at]!; child < starts[node.at + 1]!; child++) {
      start = this.findPlace(from[child]!, start, node.to);
      const end = this.findPlace(to[child]!, start, node.to);
      if (end > start && sizes[end]! - sizes[start]! >= least) nodes.push(made?.get(child) ?? this.makeNode(node, frames[child]!, child, start, end));
    }
    return nodes;
  }

  /** The first row between two whose site is at this place of the shape's order, or after it. */
  private findPlace(place: number, from: number, to: number): number {
    const { places } = this;
    if (!places) return place;
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

  total(node: TreeNode, values: Float64Array): number {
    const sums = this.runningOf(values);
    return sums[node.to]! - sums[node.from]!;
  }

  override adder(values: Float64Array): (node: TreeNode) => number {
    const sums = this.runningOf(values);
    return (node) => sums[node.to]! - sums[node.from]!;
  }

  protected own(node: TreeNode, values: Float64Array): number {
    if (this.threads && node.depth === 0) return 0;
    const { starts, from } = this.shape;
    const hasChildren = starts[node.at]! < starts[node.at + 1]!;
    const end = hasChildren ? this.findPlace(from[starts[node.at]!]!, node.from, node.to) : node.to;
    const sums = this.runningOf(values);
    return sums[end]! - sums[node.from]!;
  }
}

// level.ts -- the children of a tree's node, as columns: there can be tens of thousands, of which a table shows thirty.
// Nodes are made of those that are looked at.
// SPDX-License-Identifier: Apache-2.0

import type { TreeNode } from "./calltree.ts";
import { orderNumbers } from "./order.ts";

/** By child. */
export interface Children {
  count: number;
  frame: Uint32Array;
  at: Uint32Array; // as TreeNode has it
  from: Uint32Array;
  to: Uint32Array;
}

export type ChildKey = (child: number) => number;

export class Level {
  /** Children, the largest first. */
  readonly order: Uint32Array;
  private readonly made = new Map<number, TreeNode>();

  constructor(readonly children: Children, readonly size: ChildKey, private readonly make: (child: number) => TreeNode) {
    this.order = largestFirst(children, size);
  }

  node(child: number): TreeNode {
    let node = this.made.get(child);
    if (!node) this.made.set(child, (node = this.make(child)));
    return node;
  }

  /** The child that a node was made of. */
  childOf(node: TreeNode): number {
    for (const [child, made] of this.made) if (made === node) return child;
    return -1;
  }

  /** The children of which nodes were made. */
  *known(): Generator<[number, TreeNode]> {
    yield* this.made;
  }

  find(frame: number): TreeNode | null {
    const child = this.children.frame.subarray(0, this.children.count).indexOf(frame);
    return child < 0 ? null : this.node(child);
  }

  /** Those with most of something first; equal ones stay in the order of their sizes. */
  sorted(key: ChildKey): Uint32Array {
    const { order } = this;
    return orderNumbers(order.length, (i) => key(order[i]!)).map((i) => order[i]!);
  }
}

const FEW = 12;

/** Of those of one size the one with the lowest frame comes first. */
function largestFirst({ count, frame }: Children, size: ChildKey): Uint32Array {
  const order = orderNumbers(count, size);
  for (let from = 0, to = 0; from < count; from = to) {
    const least = size(order[from]!);
    while (to < count && size(order[to]!) === least) to++;
    if (to - from > FEW) {
      const run = order.slice(from, to);
      order.set(orderNumbers(run.length, (i) => -frame[run[i]!]!).map((i) => run[i]!), from);
    } else putInPlace(order, from, to, frame);
  }
  return order;
}

function putInPlace(order: Uint32Array, from: number, to: number, frame: Uint32Array): void {
  for (let i = from + 1; i < to; i++) {
    const child = order[i]!;
    let at = i;
    for (; at > from && frame[order[at - 1]!]! > frame[child]!; at--) order[at] = order[at - 1]!;
    order[at] = child;
  }
}

/** Rows of a table, one below the other: children of one level that follow each other. */
interface Span {
  level: Level;
  order: Uint32Array;
  from: number; // places of `order`
  to: number;
  first: number; // row
}

/** The rows of a tree of which some nodes are open. */
export class OpenRows {
  count = 0;
  private readonly spans: Span[] = [];

  /** `levelOf` must be the same for a node every time. */
  constructor(private readonly levelOf: (node: TreeNode) => Level, private readonly isOpen: (node: TreeNode) => boolean, private readonly sort: (level: Level, node: TreeNode) => Uint32Array, root: TreeNode) {
    this.add(root);
  }

  private add(node: TreeNode): void {
    const level = this.levelOf(node);
    const order = this.sort(level, node);
    const open = [...level.known()].filter(([, child]) => this.isOpen(child)).map(([child, inner]) => ({ place: order.indexOf(child), inner }));
    let from = 0;
    for (const { place, inner } of open.sort((a, b) => a.place - b.place)) {
      this.addSpan(level, order, from, (from = place + 1));
      this.add(inner);
    }
    this.addSpan(level, order, from, order.length);
  }

  private addSpan(level: Level, order: Uint32Array, from: number, to: number): void {
    if (from === to) return;
    this.spans.push({ level, order, from, to, first: this.count });
    this.count += to - from;
  }

  at(row: number): TreeNode | undefined {
    let [low, high] = [0, this.spans.length];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.spans[middle]!.first <= row) low = middle;
      else high = middle;
    }
    const span = this.spans[low];
    const child = span?.order[span.from + row - span.first];
    return row < 0 || row >= this.count || child === undefined ? undefined : span!.level.node(child);
  }

  /** -1: it is in none. */
  indexOf(node: TreeNode): number {
    const level = node.parent && this.levelOf(node.parent);
    const child = level ? level.childOf(node) : -1;
    for (const span of child < 0 ? [] : this.spans) {
      if (span.level !== level) continue;
      const place = span.order.indexOf(child);
      if (place >= span.from && place < span.to) return span.first + place - span.from;
    }
    return -1;
  }
}

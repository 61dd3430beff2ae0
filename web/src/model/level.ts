// level.ts -- the children of a tree's node, as columns: there can be tens of thousands, of which a table shows thirty.
// Nodes are made of those that are looked at.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import type { TreeNode } from "./calltree.ts";
import { Ranking, type ReadKeys } from "./ranking.ts";

/** By child. */
export interface Children {
  count: number;
  frame: Uint32Array;
  at: Uint32Array; // as TreeNode has it
  from: Uint32Array;
  to: Uint32Array;
}

export class Level {
  /** Children, the largest first; of one size the one with the lowest frame. */
  readonly order: Ranking;
  private readonly made = new Map<number, TreeNode>();
  private readonly rankings = new Map<string, Ranking>();

  constructor(readonly children: Children, readonly readSizes: ReadKeys, private readonly make: (child: number) => TreeNode) {
    this.order = new Ranking(children.count, [readSizes], children.frame);
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

  /** Those with most of something first; equal ones stay in the order of their sizes. Remembered by what it is called. */
  sorted(name: string, read: () => ReadKeys): Ranking {
    let ranking = this.rankings.get(name);
    if (!ranking) this.rankings.set(name, (ranking = new Ranking(this.children.count, [read(), this.readSizes], this.children.frame)));
    return ranking;
  }

  /** By the places of frames' names; what has nothing of the figure comes last. */
  placesOf(names: Uint32Array): ReadKeys {
    const { count, frame } = this.children;
    return (keys) => {
      this.readSizes(keys);
      inRuns(count, readPlaces, frame, names, keys);
    };
  }
}

/** The keys are the sizes. */
function readPlaces(from: number, to: number, frame: Uint32Array, names: Uint32Array, keys: Float64Array): void {
  for (let c = from; c < to; c++) keys[c] = (keys[c] === 0 ? -(2 ** 32) : 0) - names[frame[c]!]!;
}

/** Rows of a table, one below the other: children of one level that follow each other. */
interface Span {
  level: Level;
  order: Ranking;
  from: number; // places of `order`
  to: number;
  first: number; // row
}

/** The rows of a tree of which some nodes are open. */
export class OpenRows {
  count = 0;
  private readonly spans: Span[] = [];

  /** `levelOf` must be the same for a node every time. */
  constructor(private readonly levelOf: (node: TreeNode) => Level, private readonly isOpen: (node: TreeNode) => boolean, private readonly sort: (level: Level, node: TreeNode) => Ranking, root: TreeNode) {
    this.add(root);
  }

  private add(node: TreeNode): void {
    const level = this.levelOf(node);
    const order = this.sort(level, node);
    const open = [...level.known()].filter(([, child]) => this.isOpen(child)).map(([child, inner]) => ({ place: order.placeOf(child), inner }));
    let from = 0;
    for (const { place, inner } of open.sort((a, b) => a.place - b.place)) {
      this.addSpan(level, order, from, (from = place + 1));
      this.add(inner);
    }
    this.addSpan(level, order, from, order.length);
  }

  private addSpan(level: Level, order: Ranking, from: number, to: number): void {
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
    if (!span || row < 0 || row >= this.count) return undefined;
    return span.level.node(span.order.at(span.from + row - span.first)!);
  }

  /** -1: it is in none. */
  indexOf(node: TreeNode): number {
    const level = node.parent && this.levelOf(node.parent);
    const child = level ? level.childOf(node) : -1;
    for (const span of child < 0 ? [] : this.spans) {
      if (span.level !== level) continue;
      const place = span.order.placeOf(child);
      if (place >= span.from && place < span.to) return span.first + place - span.from;
    }
    return -1;
  }
}

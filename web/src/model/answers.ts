// answers.ts -- the last questions' answers and the trees that were made of them, and when their memory is free.
// SPDX-License-Identifier: Apache-2.0

import { BottomUp } from "./bottomup.ts";
import type { CallTree } from "./calltree.ts";
import type { Profile } from "./profile.ts";
import { answer, COLUMNS, isTimed, type Answer, type Question } from "./question.ts";
import type { GroupBy } from "./stacks.ts";
import { TopDown } from "./topdown.ts";

export interface TreeOptions {
  inverted: boolean;
  by: GroupBy;
  fold: boolean; // calls to itself count as one
  byThread: boolean;
}

/** An answer and its trees. They look at its arrays, and so are forgotten with it. */
class Asked {
  readonly answer: Answer;
  private readonly trees = new Map<string, CallTree>();
  private dealt: Answer | null = null; // to threads

  constructor(private readonly p: Profile, q: Question) {
    this.answer = answer(p, q);
  }

  tree(options: TreeOptions): CallTree {
    const key = JSON.stringify(options);
    let tree = this.trees.get(key);
    if (!tree) this.trees.set(key, (tree = this.makeTree(options)));
    return tree;
  }

  /** They are made of tens of thousands of things, which a browser has to look through when it collects garbage. */
  forgetTrees(): void {
    this.trees.clear();
  }

  private makeTree({ inverted, by, fold, byThread }: TreeOptions): CallTree {
    const { p, answer } = this;
    const q = answer.question;
    const threads = byThread ? p.byThread(isTimed(q)) : null;
    const a = threads ? (this.dealt ??= threads.deal(answer, COLUMNS[q.figure] ?? [null, "allocations"])) : answer;
    return inverted ? new BottomUp(p.reversed(by, fold), a, threads) : new TopDown(p.shape(by, fold), a, threads);
  }
}

/** The page in sight looks at what it asked for last, and none asks for more than two at a time; one that was left asks
 * again when it comes back. So nobody looks at any but the last two when the next is asked for. */
const IN_USE = 2;
const MOST = 8;
const MOST_WITH_TREES = 4; // with the next
const MOST_BYTES = 16 << 20; // before the next is made: what was asked for of the whole recording takes none

export class Answers {
  private readonly known = new Map<string, Asked>(); // the one that was asked for last is the last

  constructor(private readonly mostBytes = MOST_BYTES) {}

  private ask(p: Profile, q: Question): Asked {
    const key = JSON.stringify(q);
    const found = this.known.get(key);
    if (found) this.known.delete(key);
    else this.forgetSome();
    const asked = found ?? new Asked(p, q);
    this.known.set(key, asked);
    return asked;
  }

  /** The oldest ones, as far as there are too many, or they take too much. */
  private forgetSome(): void {
    const old = [...this.known].slice(0, -IN_USE);
    let bytes = 0;
    for (const [, { answer }] of this.known) bytes += answer.arrays.bytes;
    for (const [key, { answer }] of old) {
      const own = answer.arrays.bytes;
      if (this.known.size < MOST && (bytes <= this.mostBytes || !own)) continue;
      this.forget(key);
      bytes -= own;
    }
    for (const asked of [...this.known.values()].slice(0, 1 - MOST_WITH_TREES)) asked.forgetTrees();
  }

  private forget(key: string): void {
    this.known.get(key)!.answer.arrays.giveBack();
    this.known.delete(key);
  }

  /** Only if nobody looks at any of them. */
  forgetAll(): void {
    for (const key of [...this.known.keys()]) this.forget(key);
  }

  of(p: Profile, q: Question): Answer {
    return this.ask(p, q).answer;
  }

  tree(p: Profile, q: Question, options: TreeOptions): CallTree {
    return this.ask(p, q).tree(options);
  }

  /** Of a profile that is gone: its memory goes with it. */
  clear(): void {
    this.known.clear();
  }
}

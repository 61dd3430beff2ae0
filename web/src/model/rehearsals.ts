// rehearsals.ts -- questions asked ahead, the answers of which are forgotten. What has run is compiled, and on a busy
// machine that is half of what the first question of a kind takes; and the memory that they took is there for the next.
// SPDX-License-Identifier: Apache-2.0

import { Answers, type TreeOptions } from "./answers.ts";
import { BottomUp } from "./bottomup.ts";
import { allFunctions, findCallers, rankFunctions } from "./callers.ts";
import type { CallTree, TreeNode } from "./calltree.ts";
import { FIGURE_COLUMNS, figureColumn } from "./figures.ts";
import { findLeaksWithin } from "./leaks.ts";
import { allFiles, hottestFrames, linesOf } from "./lines.ts";
import type { Profile } from "./profile.ts";
import type { Question, Range } from "./question.ts";
import { Holders } from "./resident.ts";
import { amountWith } from "./search.ts";
import { bucketOf, meanBucket, sitesInCell, sitesOfSize, type Cell } from "./sizes.ts";
import type { Work } from "./stacks.ts";
import { TopDown } from "./topdown.ts";
import type { Compared, Union } from "./union.ts";

const TIMES = 3; // a loop that has run once is compiled while it runs, and not yet when it is next called
const FLAME: TreeOptions = { inverted: false, by: "function", fold: false, byThread: false };
const SEARCHED = "a"; // that many names have
const WORD = 4; // letters
const ROWS = 30;
const ALL: Question = { figure: "peak", range: null, thread: null, functions: "", module: "" };

export function rehearsals(p: Profile): Work[] {
  const answers = new Answers();
  const parts = [...partsOf(p)].map((part) => () => {
    part(answers);
    answers.forgetAll();
  });
  return repeat(parts);
}

/** Trees of each kind, to be drawn: from the root and from its largest part; with a search that finds something, too. */
export function drawings(p: Profile, draw: (tree: CallTree, root: TreeNode, search: string) => void): Work[] {
  const answers = new Answers();
  const parts = [...treesOf(p)].flatMap(([question, options]) => {
    const make = (): CallTree => answers.tree(p, question, options); // the same until it is forgotten
    return [
      () => void make(),
      () => draw(make(), make().root, SEARCHED),
      () => draw(make(), make().open(make().root)[0] ?? make().root, ""),
      () => answers.forgetAll(),
    ];
  });
  return repeat(parts);
}

function* treesOf(p: Profile): Generator<[Question, TreeOptions]> {
  const last = p.pack.f64("point.time_ns").length - 1;
  const range = middleOf(last);
  const some: Question = { ...ALL, functions: SEARCHED };
  const hasThreads = p.pack.u32("thread.serial").length > 1;
  yield [ALL, FLAME];
  yield [some, { ...FLAME, by: "line" }];
  if (last > 1) yield [{ ...ALL, figure: "growth", range }, { ...FLAME, fold: true }];
  if (hasThreads) yield [ALL, { ...FLAME, byThread: true }];
  yield [ALL, { ...FLAME, inverted: true, by: "line" }];
  yield [some, { ...FLAME, inverted: true, fold: true }];
  if (hasThreads) yield [ALL, { ...FLAME, inverted: true, byThread: true }];
}

/** The same of two profiles that are compared. */
export function comparisons(union: () => Union): Work[] {
  const ask = (q: Question, use: (u: Union, data: Compared) => void) => () => {
    const data = union().answer(q);
    use(union(), data);
    data.both.arrays.giveBack();
  };
  const calls: Question = { ...ALL, figure: "calls" };
  const growth = (): Question => ({ ...ALL, figure: "growth", range: middleOf(union().now.pack.f64("point.time_ns").length - 1) });
  return repeat([
    ask(calls, (u, data) => void u.changes(data)),
    ask(calls, (u, { both }) => open(new TopDown(u.shape(), both))),
    ask(calls, (u, { both }) => open(new BottomUp(u.reversed(), both))),
    () => ask(growth(), (u, data) => void u.changes(data))(),
  ]);
}

const open = (tree: CallTree): void => void tree.open(tree.root);

function repeat(parts: (() => void)[]): Work[] {
  return Array.from({ length: TIMES }, () => parts).flat().map((part) => ({ step: () => (part(), true) }));
}

/** One of each kind that makes arrays of its own. */
function* partsOf(p: Profile): Generator<(answers: Answers) => void> {
  const last = p.pack.f64("point.time_ns").length - 1;
  const range = middleOf(last);
  const threads = p.pack.u32("thread.serial");
  const innermost = wordIn(p, p.leafFrames()[p.siteCount >> 1] ?? 0); // of some stacks
  const busiest = mostOften(p.frames, p.frameGroup);
  yield (answers) => showTable(p, answers, { ...ALL, functions: SEARCHED });
  yield (answers) => search(p, answers.tree(p, ALL, FLAME));
  yield (answers) => showTable(p, answers, ALL, { ...FLAME, inverted: true });
  yield (answers) => showTable(p, answers, ALL, { ...FLAME, inverted: true, by: "line" });
  yield (answers) => void answers.tree(p, { ...ALL, functions: SEARCHED }, { ...FLAME, inverted: true });
  yield (answers) => void answers.tree(p, { ...ALL, functions: innermost }, { ...FLAME, inverted: true });
  yield (answers) => void findCallers(p, answers.of(p, ALL), busiest);
  yield () => void sitesInCell(p, cellOf(p), ROWS);
  yield (answers) => {
    allFiles(p, answers.of(p, ALL));
    hottestFrames(p, { ...answers.of(p, ALL), values: answers.of(p, ALL).values.slice() }); // these are remembered
    linesOf(p, answers.of(p, ALL), p.frameFile[0] ?? 0);
  };
  for (const look of p.looks().slice(-1)) yield () => void new Holders(p, look).order("pinned");
  if (threads.length > 1) {
    yield (answers) => void answers.tree(p, { ...ALL, thread: threads[0]! }, FLAME);
    yield (answers) => void answers.tree(p, ALL, { ...FLAME, byThread: true });
  }
  if (last <= 1) return;
  yield (answers) => {
    const live = answers.of(p, { ...ALL, range: { from: last, to: last }, figure: "live" });
    sitesOfSize(p, live, meanBucket(live.totalBytes, live.totalBlocks), ROWS);
  };
  yield (answers) => void answers.tree(p, { ...ALL, range }, FLAME);
  yield (answers) => void answers.tree(p, { ...ALL, range: { from: 0, to: last >> 1 }, figure: "growth" }, FLAME);
  yield (answers) => void findLeaksWithin(p, range, answers.of(p, { ...ALL, range: { from: range.to, to: range.to }, figure: "live" }), answers.of(p, { ...ALL, range, figure: "growth" }), ROWS);
  yield (answers) => {
    const functions = allFunctions(p, answers.of(p, { ...ALL, range, figure: "growth" }));
    rankFunctions(functions, functions.groups, "total").at(0);
  };
}

/** Of the time line: things began before it, and within. */
const middleOf = (last: number): Range => ({ from: last >> 2, to: last - (last >> 2) });

/** One that the first stack can have blocks in. */
const cellOf = ({ pack }: Profile): Cell => ({ size: bucketOf(pack.f64("site.size_min")[0] ?? 0), life: bucketOf(pack.f64("site.lifetime_min_ns")[0] ?? 0) });

/** The function that the tree has most nodes of. */
function mostOften(frames: Uint32Array, groups: Uint32Array): number {
  const counts = new Uint32Array(groups.length);
  for (let node = 1; node < frames.length; node++) counts[groups[frames[node]!]!]!++;
  return Math.max(0, counts.indexOf(counts.reduce((a, b) => Math.max(a, b), 0)));
}

const wordIn = (p: Profile, frame: number): string => (frame < p.frameCount ? p.functionName(frame).slice(-WORD) : "");

/** What a row of the table needs. */
function showTable(p: Profile, answers: Answers, q: Question, options = FLAME): void {
  const tree = answers.tree(p, q, options);
  const level = tree.level(tree.root);
  const nodes = level.order.slice(ROWS).map((child) => level.node(child));
  tree.tell(nodes, FIGURE_COLUMNS.map(({ column }) => figureColumn(p, column, tree.answer)));
  level.sorted("blocks", () => tree.amountsOf(level, tree.figures().blocks)).at(0);
  level.sorted("self", () => tree.ownSizesOf(level, tree.figures().values, tree.root)).at(0);
}

/** Of a letter and of a word. The last text is remembered: it is forgotten by another one. */
function search(p: Profile, tree: CallTree): void {
  amountWith(p, tree, tree.root, SEARCHED);
  p.search(wordIn(p, 0));
  p.search("");
}

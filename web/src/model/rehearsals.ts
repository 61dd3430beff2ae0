// rehearsals.ts -- questions asked ahead, the answers of which are forgotten. What has run is compiled, and on a busy
// machine that is half of what the first question of a kind takes; and the memory that they took is there for the next.
// SPDX-License-Identifier: Apache-2.0

import { Answers, type TreeOptions } from "./answers.ts";
import { BottomUp } from "./bottomup.ts";
import { allFunctions, findCallers, sortFunctions } from "./callers.ts";
import type { CallTree } from "./calltree.ts";
import { FIGURE_COLUMNS, figureColumn } from "./figures.ts";
import { linesOf } from "./lines.ts";
import type { Profile } from "./profile.ts";
import type { Question } from "./question.ts";
import { amountWith } from "./search.ts";
import type { Work } from "./stacks.ts";
import { TopDown } from "./topdown.ts";
import type { Compared, Union } from "./union.ts";

const TIMES = 3; // a loop that has run once is compiled while it runs, and not yet when it is next called
const FLAME: TreeOptions = { inverted: false, by: "function", fold: false, byThread: false };
const ALL: Question = { figure: "peak", range: null, thread: null, functions: "", module: "" };

export function rehearsals(p: Profile): Work[] {
  const answers = new Answers();
  const parts = [...partsOf(p)].map((part) => () => {
    part(answers);
    answers.forgetAll();
  });
  return repeat(parts);
}

/** The same of two profiles that are compared. */
export function comparisons(union: () => Union): Work[] {
  const ask = (use: (u: Union, data: Compared) => void) => () => {
    const data = union().answer({ ...ALL, figure: "calls" });
    use(union(), data);
    data.both.arrays.giveBack();
  };
  return repeat([
    ask((u, data) => void u.changes(data)),
    ask((u, { both }) => open(new TopDown(u.shape(), both))),
    ask((u, { both }) => open(new BottomUp(u.reversed(), both))),
  ]);
}

const open = (tree: CallTree): void => void tree.open(tree.root);

function repeat(parts: (() => void)[]): Work[] {
  return Array.from({ length: TIMES }, () => parts).flat().map((part) => ({ step: () => (part(), true) }));
}

/** One of each kind that makes arrays of its own. */
function* partsOf(p: Profile): Generator<(answers: Answers) => void> {
  const last = p.pack.f64("point.time_ns").length - 1;
  const range = { from: last >> 1, to: last };
  const threads = p.pack.u32("thread.serial");
  yield (answers) => showTable(p, answers, { ...ALL, functions: "a" });
  yield (answers) => search(p, answers.tree(p, ALL, FLAME));
  yield (answers) => open(answers.tree(p, ALL, { ...FLAME, inverted: true }));
  yield (answers) => void answers.tree(p, { ...ALL, functions: "a" }, { ...FLAME, inverted: true });
  yield (answers) => void findCallers(p, answers.of(p, ALL), p.frameGroup[p.frames.at(-1) ?? 0] ?? 0);
  yield (answers) => void linesOf(p, answers.of(p, ALL), p.frameFile[0] ?? 0);
  if (threads.length > 1) {
    yield (answers) => void answers.tree(p, { ...ALL, thread: threads[0]! }, FLAME);
    yield (answers) => void answers.tree(p, ALL, { ...FLAME, byThread: true });
  }
  if (last <= 0) return;
  yield (answers) => void answers.tree(p, { ...ALL, range }, FLAME);
  yield (answers) => void answers.tree(p, { ...ALL, range, figure: "growth" }, FLAME);
  yield (answers) => void sortFunctions(allFunctions(p, answers.of(p, { ...ALL, range, figure: "growth" })), "total");
}

/** What a row of the table needs. */
function showTable(p: Profile, answers: Answers, q: Question): void {
  const tree = answers.tree(p, q, FLAME);
  tree.sum(tree.root);
  for (const { column } of FIGURE_COLUMNS) tree.total(tree.root, figureColumn(p, column, tree.answer));
}

/** The last text is remembered: it is forgotten by another one. */
function search(p: Profile, tree: CallTree): void {
  amountWith(p, tree, tree.root, "a");
  p.search("");
}

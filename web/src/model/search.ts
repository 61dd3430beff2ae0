// search.ts -- what the stacks come to that have a function of some name.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import type { CallTree, TreeNode } from "./calltree.ts";
import { withArrays } from "./memory.ts";
import type { Profile } from "./profile.ts";

/** Of those through a node; each counts once, however many of its functions are meant. */
export function amountWith(p: Profile, tree: CallTree, node: TreeNode, text: string): number {
  return withArrays(p.memory, (arrays) => add(tree, tree.rows(node), p.sitesWith(p.search(text), arrays)));
}

function add(tree: CallTree, rows: Uint32Array, isMeant: Uint8Array): number {
  const { values } = tree.answer;
  const siteOf = tree.threads?.siteOf;
  if (!siteOf && rows.length === values.length) return addAll(values, isMeant);
  let amount = 0;
  for (let i = 0; i < rows.length; i++) if (isMeant[siteOf ? siteOf[rows[i]!]! : rows[i]!]) amount += Math.abs(values[rows[i]!]!);
  return amount;
}

/** Of all rows, which are the sites: one after the other takes a fifth of what the order of a tree takes. */
function addAll(values: Float64Array, isMeant: Uint8Array): number {
  const sum = { amount: 0 };
  inRuns(values.length, addRun, sum, values, isMeant);
  return sum.amount;
}

function addRun(from: number, to: number, sum: { amount: number }, values: Float64Array, isMeant: Uint8Array): void {
  let { amount } = sum;
  for (let site = from; site < to; site++) amount += isMeant[site]! * Math.abs(values[site]!); // each is 0 or 1
  sum.amount = amount;
}

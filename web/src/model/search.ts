// search.ts -- what the stacks come to that have a function of some name.
// SPDX-License-Identifier: Apache-2.0

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
  let amount = 0;
  for (let site = 0; site < values.length; site++) amount += isMeant[site]! * Math.abs(values[site]!); // each is 0 or 1
  return amount;
}

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
  let amount = 0;
  for (let i = 0; i < rows.length; i++) if (isMeant[siteOf ? siteOf[rows[i]!]! : rows[i]!]) amount += Math.abs(values[rows[i]!]!);
  return amount;
}

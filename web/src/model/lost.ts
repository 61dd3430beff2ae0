// lost.ts -- blocks that nothing points to any more, and who holds the others: what a look at the program's memory has found.
// SPDX-License-Identifier: Apache-2.0

import { largestFirst } from "./order.ts";
import type { Profile } from "./profile.ts";

/** In the order of the profile's numbers; the names are those of `midden leaks --json`. */
export const LOST_CLASSES = ["definite", "indirect", "interior", "reachable"] as const;
export type LostClass = (typeof LOST_CLASSES)[number];

export interface Lost {
  site: number;
  bytes: number;
  blocks: number;
  heldBytes: number; // lost with them
  heldBlocks: number;
  chain: number; // row of `link` plus one; 0: none
}

export interface LostGroup {
  bytes: number;
  blocks: number;
  stacks: number;
  largest: Lost[];
}

/** A step from a block to its holder. */
export interface Link {
  site: number; // of a block; -1: it is none, or its stack is not known
  isBlock: boolean;
  text: string; // of what is no block: what it is
  offset: number; // of a block: where in its holder the pointer is
  inside: number; // ... and where in the block it points to
}

export function hasLost(p: Profile): boolean {
  return p.pack.has("lost.site") && Boolean(p.pack.header.leaks);
}

/** By class: what it comes to, and the largest `shown` stacks. What a rule names does not count as lost. */
export function findLost(p: Profile, shown: number): Record<LostClass, LostGroup> {
  const { pack } = p;
  const [sites, classes, chains] = ["site", "class", "chain"].map((c) => pack.u32(`lost.${c}`)) as [Uint32Array, Uint32Array, Uint32Array];
  const [bytes, blocks, heldBytes, heldBlocks] = ["bytes", "blocks", "held_bytes", "held_blocks"].map((c) => pack.f64(`lost.${c}`)) as [Float64Array, Float64Array, Float64Array, Float64Array];
  const rules = pack.u32("site.rule");
  const groups = LOST_CLASSES.map((): LostGroup => ({ bytes: 0, blocks: 0, stacks: 0, largest: [] }));
  const lostAt = (i: number): Lost => ({ site: sites[i]!, bytes: bytes[i]!, blocks: blocks[i]!, heldBytes: heldBytes[i]!, heldBlocks: heldBlocks[i]!, chain: chains[i]! });
  // The largest first: so each group is full when it has as many as are shown.
  for (const i of largestFirst(bytes.map((own, i) => own + heldBytes[i]!))) {
    const group = groups[classes[i]!]!;
    if (rules[sites[i]!] && classes[i]! < 2) continue;
    group.bytes += bytes[i]!;
    group.blocks += blocks[i]!;
    group.stacks++;
    if (group.largest.length < shown) group.largest.push(lostAt(i));
  }
  return Object.fromEntries(LOST_CLASSES.map((name, i) => [name, groups[i]!])) as Record<LostClass, LostGroup>;
}

/** From a block outwards. */
export function chainOf(p: Profile, lost: Lost): Link[] {
  const { pack } = p;
  const [isBlock, sites, holders, texts] = ["block", "site", "holder", "text"].map((c) => pack.u32(`link.${c}`)) as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];
  const [offsets, insides] = [pack.f64("link.offset"), pack.f64("link.inside")];
  const links: Link[] = [];
  // Holders come before what they hold: so the chain has an end, whatever the file says.
  for (let row = lost.chain, last = Infinity; row > 0 && row < last; last = row, row = holders[row - 1]!)
    links.push({ isBlock: isBlock[row - 1] === 1, site: sites[row - 1]! - 1, text: p.text(texts[row - 1]!), offset: offsets[row - 1]!, inside: insides[row - 1]! });
  return links;
}

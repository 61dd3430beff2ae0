// amount.ts -- a figure's amount in words: bytes, a count, or what they changed by.
// SPDX-License-Identifier: Apache-2.0

import { formatBytes, formatCount, formatCounted, formatGrowth, formatMore } from "../draw/format.ts";
import { countsBlocks, type Figure } from "../model/question.ts";

export function amountText(figure: Figure, n: number): string {
  if (figure === "growth") return formatGrowth(n);
  return countsBlocks(figure) ? formatCount(n) : formatBytes(n);
}

/** "3 MiB in 2 blocks"; of growth, each with its sign. `doubt`: within what the bytes lie. */
export function inBlocks(figure: Figure, bytes: number, blocks: number, unit: string, doubt: string): string {
  if (countsBlocks(figure)) return formatCount(blocks) + doubt;
  if (figure === "growth") return `${formatGrowth(bytes)}${doubt} and ${formatMore(blocks)} ${unit}${Math.abs(blocks) === 1 ? "" : "s"}`;
  return `${formatBytes(bytes)}${doubt} in ${formatCounted(blocks, unit)}`;
}

/** Of what grows here and shrinks there: ": 3 MiB more, 1 MiB less"; "" if all went one way. */
export function waysText(size: number, value: number): string {
  const [more, less] = [(size + value) / 2, (size - value) / 2];
  return more > 0 && less > 0 ? `: ${formatBytes(more)} more, ${formatBytes(less)} less` : "";
}

export const OF_CHANGES = "Shares are of what grew and what shrank together.";

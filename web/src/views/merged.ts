// merged.ts -- in words: that a profile is made of several, and what its figures are then. As src/report/header.c has them.
// SPDX-License-Identifier: Apache-2.0

import { h } from "../draw/dom.ts";
import { formatCount } from "../draw/format.ts";
import type { Header, Json } from "../load/pack.ts";

type Way = "sum" | "maximum" | "mean";

/** How one was made of several profiles. */
export interface Merge {
  way: Way;
  inputs: { [key: string]: Json }[];
}

const PEAKS: Record<Way, (n: string) => string> = {
  sum: (n) => `the peaks of ${n} profiles added up`,
  maximum: (n) => `the most of each stack at any of ${n} peaks`,
  mean: (n) => `the mean of each stack over ${n} peaks`,
};

const RESIDENT: Record<Way, string> = { sum: "in each process, added up", maximum: "in any process", mean: "in each process, on average" };

/** Null: it is of one recording. */
export function mergeOf({ stats }: Pick<Header, "stats">): Merge | null {
  const [way, inputs] = [String(stats?.["merge"] ?? ""), stats?.["inputs"]];
  return way in PEAKS && Array.isArray(inputs) && inputs.length > 1 ? { way: way as Way, inputs: inputs as Merge["inputs"] } : null;
}

/** What stands in the place of the moment of the peak. */
export const peakWords = ({ way, inputs }: Merge): string => PEAKS[way](formatCount(inputs.length));

export const residentWords = ({ way }: Merge): string => RESIDENT[way];

/** "sum of 2 profiles" */
export const mergeWords = ({ way, inputs }: Merge): string => `${way} of ${formatCount(inputs.length)} profiles`;

/** By kind of end, in the order in which they are told. */
const ENDS: [words: string, isIt: (input: { [key: string]: Json }) => boolean][] = [
  ["exited with code 0", (i) => i["end"] === "exited" && i["exit_code"] === 0],
  ["exited with another code", (i) => i["end"] === "exited" && i["exit_code"] !== 0],
  ["killed by a signal", (i) => i["end"] === "signaled"],
  ["replaced by another program", (i) => i["end"] === "exec"],
  ["recorded for a while", (i) => i["end"] === "abandoned"],
];

/** "2 exited with code 0, 1 killed by a signal" */
export function endsWords({ inputs }: Merge): string {
  const counts = ENDS.map(([words, isIt]): [number, string] => [inputs.filter(isIt).length, words]);
  const known = counts.reduce((n, [count]) => n + count, 0);
  return [...counts, [inputs.length - known, "ended in an unknown way"] as const].filter(([count]) => count).map(([count, words]) => `${formatCount(count)} ${words}`).join(", ");
}

/** Stands above every page: what is at the peak was not so at any one time. */
export function mergeNote(header: Pick<Header, "stats">): HTMLElement | null {
  const merge = mergeOf(header);
  if (!merge) return null;
  const words = mergeWords(merge);
  return h("p.sampled", { id: "merged", role: "note" }, `This is the ${words}: what is shown of the peak is ${peakWords(merge)}.`);
}

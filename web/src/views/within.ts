// within.ts -- in words: within what an estimate lies, and that figures are estimates at all.
// SPDX-License-Identifier: Apache-2.0

import type { App } from "../app.ts";
import { h } from "../draw/dom.ts";
import { formatBytes, formatCount } from "../draw/format.ts";
import type { Header } from "../load/pack.ts";
import { blocksWithin, boundOfBlocks, bytesWithin, errorOf, samplePeriod, varianceOf, type Interval } from "../model/interval.ts";
import { countsBlocks, type Answer } from "../model/question.ts";
import type { Live } from "../model/sizes.ts";

function words(i: Interval, show: (n: number) => string): string {
  return i.low === i.high ? "" : ` (${show(i.low)} to ${show(i.high)})`;
}

/** " (3.1 MiB to 4.7 MiB)" behind a figure; "" behind an exact one. */
export function withinBytes(app: App, bytes: number, variance: number): string {
  return words(bytesWithin(bytes, variance, samplePeriod(app.profile)), formatBytes);
}

export function withinBlocks(blocks: number, variance: number): string {
  return words(blocksWithin(blocks, variance), formatCount);
}

/** Of a value of an answer, whatever its figure; a change is off either way. */
export function within(app: App, a: Answer, value: number, variance: number): string {
  if (variance <= 0) return "";
  if (a.question.figure === "growth") return ` (± ${formatBytes(errorOf(variance))})`;
  return countsBlocks(a.question.figure) ? withinBlocks(value, variance) : withinBytes(app, value, variance);
}

/** Where only a sum was kept: as doubtful as it can be. */
export function withinBoundBytes(app: App, bytes: number): string {
  return withinBytes(app, bytes, Math.abs(bytes) * samplePeriod(app.profile));
}

/** The same of `blocks` that have so many bytes. */
export function withinBoundBlocks(app: App, blocks: number, bytes: number): string {
  return withinBlocks(blocks, boundOfBlocks(blocks, bytes, samplePeriod(app.profile)));
}

const change = (variance: number, show: (n: number) => string): string => (variance > 0 ? ` (± ${show(errorOf(variance))})` : "");

/** Of what was live at two times: a change is as doubtful as both. */
export function withinChangeOfBytes(app: App, before: number, after: number): string {
  return change((Math.abs(before) + Math.abs(after)) * samplePeriod(app.profile), formatBytes);
}

export function withinChangeOfBlocks(app: App, before: Live, after: Live): string {
  const [first, last] = [before, after].map(({ blocks, bytes }) => boundOfBlocks(blocks, bytes, samplePeriod(app.profile)));
  return change(first! + last!, formatCount);
}

/** Of a column of sites, summed by `total`. */
export function withinColumn(app: App, column: string, isBytes: boolean, total: (values: Float64Array) => number): string {
  const variance = varianceOf(app.profile, column);
  if (!variance) return "";
  const value = total(app.profile.pack.f64(`site.${column}`));
  return isBytes ? withinBytes(app, value, total(variance)) : withinBlocks(value, total(variance));
}

/** Stands above every page of a sampled profile. */
export function samplingNote({ stats }: Pick<Header, "stats">): HTMLElement | null {
  const period = Number(stats?.["sample_period"] ?? 0);
  if (!period) return null;
  const limit = Number(stats?.["detection_limit_bytes"] ?? 0);
  const [what, those, them] = isPartlySampled({ stats }) ? ["Small objects of Python are sampled", "figures with them", " of them"] : ["Sampled", "figures", ""];
  return h("p.sampled", { id: "sampled", role: "note" },
    `${what}, one block in ${formatBytes(period)}: ${those} are estimates with 95 % intervals; stacks with less than ${formatBytes(limit)}${them} may be missing.`);
}

/** Small objects of Python are samples, all other blocks are recorded. */
export function isPartlySampled({ stats }: Pick<Header, "stats">): boolean {
  return Boolean(stats?.["sample_period"]) && stats?.["sampled_blocks"] === "small";
}

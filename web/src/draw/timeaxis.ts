// timeaxis.ts -- points of the time line side by side, each as wide as its time, and what is written below them.
// SPDX-License-Identifier: Apache-2.0

import { formatTime } from "./format.ts";

/** Where several points begin at one pixel they share a column. */
export interface TimeColumns {
  first: number[]; // point of each column; behind the last: the point after the last
  left: number[]; // where it begins, as a share of the width; behind the last: where that ends
}

/** Points from the first to the last of `points`, on a width that goes from `begin` to `end` in time. Each holds until the
 * next one, the last until the end, and for a pixel if that is its own time. */
export function columnsOver(times: Float64Array, points: [number, number], [begin, end]: [number, number], pixels: number): TimeColumns {
  const columns: TimeColumns = { first: [], left: [] };
  const span = end - begin;
  for (let point = points[0]; point <= points[1]; point++) {
    const share = span > 0 ? (times[point]! - begin) / span : (point - points[0]) / (points[1] - points[0] + 1);
    const left = Math.min(pixels - 1, Math.max(0, Math.floor(share * pixels))) / pixels;
    if (left === columns.left.at(-1)) continue;
    columns.first.push(point);
    columns.left.push(left);
  }
  columns.first.push(points[1] + 1);
  columns.left.push(1);
  return columns;
}

export interface Tick {
  at: number; // share of the width
  text: string;
}

const ROUND = [1, 2, 5];

/** Round numbers from `begin` to `end`, at most so many and one. */
function roundNumbers(begin: number, end: number, most: number): number[] {
  const least = (end - begin) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * (ROUND.find((n) => n * power >= least) ?? 10);
  const numbers: number[] = [];
  for (let i = Math.ceil(begin / step); i * step <= end; i++) numbers.push(i * step);
  return numbers;
}

/** At most so many and two. Times that are too close to one another to be told apart in three digits are told from the first on. */
export function ticksOver([begin, end]: [number, number], most: number): Tick[] {
  if (!(end > begin)) return [{ at: 0, text: formatTime(begin) }];
  const times = roundNumbers(begin, end, most);
  const texts = times.map(formatTime);
  if (new Set(texts).size === texts.length && texts.length > 1) return times.map((t, i) => ({ at: (t - begin) / (end - begin), text: texts[i]! }));
  return roundNumbers(0, end - begin, most).map((t) => ({ at: t / (end - begin), text: t ? `+${formatTime(t)}` : formatTime(begin) }));
}

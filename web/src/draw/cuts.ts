// cuts.ts -- where a picture of rows that is higher than the window is cut into canvases.
// SPDX-License-Identifier: Apache-2.0

const STEP = 8; // rows: canvases of one size are used again without being made anew, so there are few sizes
const MOST = 8 * STEP; // rows that are painted together later

/** A run of rows cut where what is in sight begins and ends, and what is not into pieces; the last can go on after the
 * last row. */
export function cutRows(rows: number, first: number, last: number): [from: number, to: number][] {
  const cuts = [0];
  const goTo = (end: number, most: number): void => {
    for (let at = cuts.at(-1)!; at < end; cuts.push(at)) at = Math.min(end, at + most);
  };
  const up = (row: number): number => Math.ceil(row / STEP) * STEP;
  goTo(Math.floor(first / STEP) * STEP, MOST);
  goTo(up(last), up(rows));
  goTo(up(rows), MOST);
  return cuts.slice(1).map((to, i) => [cuts[i]!, to]);
}

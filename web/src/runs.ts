// runs.ts -- long loops over rows, some of them at a time.
// SPDX-License-Identifier: Apache-2.0
//
// A browser compiles a function that is called often, and keeps the code for as long as there is the function. Where one
// call goes through all rows, it compiles the loop while that runs, which comes late, and drops the code when it next
// collects garbage.

const ROWS = 1024;

/** For rows from 0 on. `work` is one of a file's functions: one that is made for the occasion takes its code with it. */
export function inRuns<A extends unknown[]>(count: number, work: (from: number, to: number, ...more: A) => void, ...more: A): void {
  for (let from = 0; from < count; from += ROWS) work(from, Math.min(count, from + ROWS), ...more);
}

/** The same from the last rows to the first. */
export function inRunsBack<A extends unknown[]>(count: number, work: (from: number, to: number, ...more: A) => void, ...more: A): void {
  for (let to = count; to > 0; to -= ROWS) work(Math.max(0, to - ROWS), to, ...more);
}

/** Sums of values by key. */
export function addTo(from: number, to: number, keys: Uint32Array, values: Float64Array, sums: Float64Array): void {
  for (let i = from; i < to; i++) sums[keys[i]!]! += values[i]!;
}

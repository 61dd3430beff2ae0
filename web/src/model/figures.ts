// figures.ts -- the figures that tables have columns for, summed over sites.
// SPDX-License-Identifier: Apache-2.0

import type { Profile } from "./profile.ts";
import { ofThread, type Answer } from "./question.ts";

export interface FigureColumn {
  id: string;
  title: string;
  column: string; // of `site`
  bytes: boolean;
}

export const FIGURE_COLUMNS: FigureColumn[] = [
  { id: "peak", title: "Peak", column: "at_peak_bytes", bytes: true },
  { id: "leaked", title: "Leaked", column: "live_bytes", bytes: true },
  { id: "allocated", title: "Allocated", column: "allocated_bytes", bytes: true },
  { id: "calls", title: "Calls", column: "allocations", bytes: false },
  { id: "temporary", title: "Temporary", column: "temporary", bytes: false },
];

/** By site: beside the figure that was asked for, of the same thread. */
export function figureColumn(p: Profile, column: string, { question, arrays }: Answer): Float64Array {
  return question.thread === null ? p.pack.f64(`site.${column}`) : ofThread(p, column, question.thread, arrays);
}

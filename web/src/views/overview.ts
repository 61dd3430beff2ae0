// overview.ts -- the first page: the figures of the whole program.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatTime } from "../draw/format.ts";

function numberOf(app: App, key: string): number {
  const value = app.profile.pack.header.stats?.[key];
  return typeof value === "number" ? value : 0;
}

function card(title: string, value: string, note: string, id: string): HTMLElement {
  return h("section.card", { id: `card-${id}` }, h("h3", {}, title), h("p.figure", {}, value), h("p.note", {}, note));
}

function cards(app: App): HTMLElement[] {
  const n = (key: string) => numberOf(app, key);
  return [
    card("Peak", formatBytes(n("peak_bytes")), `${formatCount(n("peak_blocks"))} blocks at ${formatTime(n("peak_time_ns"))}`, "peak"),
    card("Leaked", formatBytes(n("leaked_bytes")), `${formatCount(n("leaked_blocks"))} blocks`, "leaked"),
    card("Allocated", formatBytes(n("allocated_bytes")), `${formatCount(n("allocations"))} calls`, "allocated"),
    card("Temporary", formatCount(n("temporary_allocations")), "freed before the next allocation", "temporary"),
  ];
}

export const overview: View = {
  id: "overview",
  title: "Overview",
  create(app) {
    const element = h("div.overview");
    return { element, update: () => clear(element, h("div.cards", {}, ...cards(app))) };
  },
};

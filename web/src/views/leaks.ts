// leaks.ts -- what was never freed: what grows, what happened once, what is known and harmless.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount } from "../draw/format.ts";
import { List } from "../idle.ts";
import { findLeaks, type Leak, type LeakGroup, type LeakKind } from "../model/leaks.ts";
import { hasLost } from "../model/lost.ts";
import { orderBy } from "../model/order.ts";
import type { Profile } from "../model/profile.ts";
import { lostGroups, lostSections } from "./lost.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import { stackList } from "./stack.ts";
import { withinColumn } from "./within.ts";

const SHOWN = 100;
const TITLES: Record<LeakKind, string> = {
  growing: "Growing: more and more of it all the time",
  "one-off": "Others: not growing steadily",
  suppressed: "Suppressed: known and harmless",
};

const TOO_SHORT = "Not freed; the recording is too short to tell what grows";

function quarterBars(leak: Leak): HTMLElement {
  const most = Math.max(1, ...leak.quarters);
  return h("span.quarters", { title: leak.quarters.map(formatBytes).join(" → ") },
    ...leak.quarters.map((q) => h("i", { style: `height:${Math.round((100 * q) / most)}%` })));
}

/** The program's own function behind a leak, and what it called. */
function chain(app: App, site: number): string {
  const profile = app.blocks;
  const stack = profile.stack(site);
  const own = stack.indexOf(profile.pack.u32("site.own")[site]!);
  const shown = own > 0 ? [stack[own]!, stack[own - 1]!] : stack.slice(0, 2);
  const names = shown.map((f) => profile.functionName(f));
  return own > 0 ? `${names[0]} ${profile.place(shown[0]!)} › ${names[1]}` : names.join(" ‹ ");
}

function leakItem(app: App, leak: Leak): HTMLElement {
  const details = h("details.leak", { "data-site": leak.site },
    h("summary", {}, quarterBars(leak), h("strong", {}, ` ${formatBytes(leak.bytes)}`), `${withinColumn(app, "live_bytes", true, (values) => values[leak.site]!)} in ${formatCount(leak.blocks)} ${leak.blocks === 1 ? "block" : "blocks"} · `, h("span", {}, chain(app, leak.site)),
      leak.rule ? h("span.note", {}, ` (${leak.rule})`) : null));
  details.addEventListener("toggle", () => {
    if (details.childElementCount === 1) details.append(stackList(app, leak.site));
  });
  return details;
}

function section(app: App, kind: LeakKind, group: LeakGroup, lists: List[]): HTMLElement | null {
  if (!group.stacks) return null;
  const rest = group.stacks - group.largest.length;
  const title = kind === "one-off" && app.blocks.pack.header.findings?.has_time_line === false ? TOO_SHORT : TITLES[kind];
  const list = new List(group.largest.length, (i) => leakItem(app, group.largest[i]!));
  lists.push(list);
  return h("section", { id: `leaks-${kind}`, "data-bytes": group.bytes, "data-blocks": group.blocks }, h("h2", {}, title),
    h("p.note", {}, `${formatBytes(group.bytes)} in ${formatCount(group.blocks)} blocks, ${formatCount(group.stacks)} stacks`),
    list.element,
    rest ? h("p.note", {}, `and ${formatCount(rest)} stacks with less; the tree has them all`) : null);
}

/** All stacks that have something left, not only those that are shown. */
function sheet(app: App): Sheet {
  const { blocks: p } = app;
  const [bytes, blocks, rules] = [p.pack.f64("site.live_bytes"), p.pack.f64("site.live_blocks"), p.pack.u32("site.rule")];
  const rows: Sheet["rows"] = [];
  for (let site = 0; site < p.siteCount; site++)
    if (blocks[site]! > 0) rows.push([bytes[site]!, blocks[site]!, p.text(rules[site]!), p.stack(site).map((f) => `${p.functionName(f)} ${p.place(f)}`.trim()).join(" < ")]);
  return { head: ["bytes", "blocks", "suppressed by", "stack"], rows: orderBy(rows, (row) => Number(row[0])) };
}

export const leaks: View = {
  id: "leaks",
  title: "Leaks",
  key: "9",
  isOfAll: true,
  create(app) {
    const element = h("div.leaks-page");
    let of: Profile | null = null;
    let lists: List[] = [];
    let found: { of: Profile; groups: Record<LeakKind, LeakGroup> } | null = null;
    const find = () => (found?.of === app.blocks ? found : (found = { of: app.blocks, groups: findLeaks(app.blocks, SHOWN) })).groups;
    const update = () => {
      if (of === app.blocks) return lists.forEach((list) => list.fill());
      of = app.blocks;
      lists = [];
      const groups = find();
      const sections = (["growing", "one-off", "suppressed"] as const).map((k) => section(app, k, groups[k], lists));
      const isLost = hasLost(app.blocks);
      clear(element, sections.some(Boolean) && h("p", {}, makeSheetSaving(app, "leaks", () => sheet(app))), ...(isLost ? lostSections(app, lists) : []), isLost && sections.some(Boolean) && h("h2.part", {}, "All that was not freed, by how it grew"), ...(sections.some(Boolean) ? sections : ["Nothing was left when the program ended."]));
    };
    const leave = () => lists.forEach((list) => list.empty());
    return { element, update, leave, prepare: () => [{ step: () => Boolean(find()) }, { step: () => !hasLost(app.blocks) || Boolean(lostGroups(app)) }] };
  },
};

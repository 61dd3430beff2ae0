// leaks.ts -- what was never freed: what grows, what happened once, what is known and harmless.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount } from "../draw/format.ts";
import { findLeaks, type Leak, type LeakKind } from "../model/leaks.ts";
import type { Profile } from "../model/profile.ts";
import { stackList } from "./stack.ts";

const SHOWN = 200;
const TITLES: Record<LeakKind, string> = {
  growing: "Growing: more in every quarter of the recording",
  "one-off": "One-off: not growing",
  suppressed: "Suppressed: known and harmless",
};

function quarterBars(leak: Leak): HTMLElement {
  const most = Math.max(1, ...leak.quarters);
  return h("span.quarters", { title: leak.quarters.map(formatBytes).join(" → ") },
    ...leak.quarters.map((q) => h("i", { style: `height:${Math.round((100 * q) / most)}%` })));
}

function leakItem(app: App, leak: Leak): HTMLElement {
  const first = app.profile.stack(leak.site)[0]!;
  const details = h("details.leak", { "data-site": leak.site },
    h("summary", {}, quarterBars(leak), h("strong", {}, ` ${formatBytes(leak.bytes)}`), ` in ${formatCount(leak.blocks)} ${leak.blocks === 1 ? "block" : "blocks"} · ${app.profile.functionName(first)}`,
      leak.rule ? h("span.note", {}, ` (${leak.rule})`) : null));
  details.addEventListener("toggle", () => {
    if (details.childElementCount === 1) details.append(stackList(app, leak.site));
  });
  return details;
}

function section(app: App, kind: LeakKind, leaks: Leak[]): HTMLElement | null {
  if (!leaks.length) return null;
  const bytes = leaks.reduce((a, l) => a + l.bytes, 0);
  const blocks = leaks.reduce((a, l) => a + l.blocks, 0);
  return h("section", { id: `leaks-${kind}`, "data-bytes": bytes, "data-blocks": blocks }, h("h2", {}, TITLES[kind]),
    h("p.note", {}, `${formatBytes(bytes)} in ${formatCount(blocks)} blocks, ${formatCount(leaks.length)} stacks`),
    ...leaks.slice(0, SHOWN).map((l) => leakItem(app, l)),
    leaks.length > SHOWN ? h("p.note", {}, `and ${formatCount(leaks.length - SHOWN)} stacks with less; the tree has them all`) : null);
}

export const leaks: View = {
  id: "leaks",
  title: "Leaks",
  create(app) {
    const element = h("div.leaks-page");
    let of: Profile | null = null;
    const update = () => {
      if (of === app.profile) return;
      of = app.profile;
      const all = findLeaks(app.profile);
      const sections = (["growing", "one-off", "suppressed"] as const).map((k) => section(app, k, all.filter((l) => l.kind === k)));
      clear(element, ...(all.length ? sections : ["Nothing was left when the program ended."]));
    };
    return { element, update };
  },
};

// leaks.ts -- what was never freed: what grows, what happened once, what is known and harmless.
// SPDX-License-Identifier: Apache-2.0

import type { App, View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatGrowth, formatTime } from "../draw/format.ts";
import { List, whenIdleAfter, whenPrinted } from "../idle.ts";
import { lostStacks } from "../load/pack.ts";
import { errorOf } from "../model/interval.ts";
import { fillQuarters, findLeaks, findLeaksWithin, leakKinds, type Leak, type LeakGroup, type LeakGroups, type LeakKind, type LeakPlace, type LeaksFound, type Within } from "../model/leaks.ts";
import { hasLost } from "../model/lost.ts";
import { orderBy } from "../model/order.ts";
import type { Profile } from "../model/profile.ts";
import type { Answer, Range } from "../model/question.ts";
import { rangeText, sentence, wholeButton } from "./controls.ts";
import { lostGroups, lostSections } from "./lost.ts";
import { Opened, placeKey, stackKey } from "./opened.ts";
import { makeSheetSaving, type Sheet } from "./saving.ts";
import { stackList } from "./stack.ts";
import { withinBytes } from "./within.ts";

const SHOWN = 100;
const QUARTERS_MS = 250; // later: who goes on at once does not wait for them
const KINDS: LeakKind[] = ["growing", "one-off", "suppressed"];
const TITLES: Record<LeakKind, string> = {
  growing: "Growing: more and more of it all the time",
  "one-off": "Others: not growing steadily",
  suppressed: "Suppressed: known and harmless",
};

const RULE = "Growing is what rises nearly straight from the first fifth of the time to its last tenth, by at least 16 KiB in 16 blocks and a hundredth of all.";
const TOO_SHORT = "Not freed; the recording is too short to tell what grows";

const TITLES_WITHIN: Record<LeakKind, string> = { ...TITLES, growing: "Growing: more and more of it all through the range" };
const TOO_SHORT_WITHIN = "Not freed by then; the range is too short to tell what grows";
const ALIVE = "Alive then";

/** What is shown: of the whole recording (`range` null), or as if it had ended with the range. */
interface Found {
  of: Profile;
  range: Range | null;
  groups: LeakGroups;
  isTold: boolean; // what grows
  lost: string; // in words: why that, and what was live at a time, is not known
  unfilled: LeaksFound | null; // whose quarters are to come
  waiting: (() => void)[]; // for them
}

const isMoment = (range: Range | null): boolean => range !== null && range.from === range.to;

/** The answers that pages of stacks give for the range, all stacks of them; `growth` null of a moment. */
function answersFor(app: App, range: Range): { live: Answer; growth: Answer | null } {
  const all = { thread: null, functions: "", module: "", look: -1 };
  const growth = isMoment(range) ? null : app.answer(app.question({ ...all, figure: "growth", range }));
  return { live: app.answer(app.question({ ...all, figure: "live", range: { from: range.to, to: range.to } })), growth };
}

function find(app: App, range: Range | null): Found {
  const of = app.blocks;
  const lost = lostStacks(of.pack.header);
  if (!range) return { of, range, groups: findLeaks(of, SHOWN), isTold: !lost && of.pack.header.findings?.has_time_line !== false, lost, unfilled: null, waiting: [] };
  const { live, growth } = answersFor(app, range);
  const within = findLeaksWithin(of, range, live, growth, SHOWN);
  return { of, range, lost, groups: within.groups, isTold: within.isTold, unfilled: isMoment(range) ? null : within, waiting: [] };
}

/** Quarters take as long as all the rest, and nobody misses them for a moment. */
function fillSoon(app: App, found: Found, isShown: () => boolean): void {
  const { unfilled, range } = found;
  if (!unfilled) return;
  const fill = (): void => {
    forget();
    if (!found.unfilled || !isShown() || found.of !== app.blocks) return;
    const { live, growth } = answersFor(app, range!);
    fillQuarters(found.of, unfilled, range, live, growth);
    found.unfilled = null;
    for (const show of found.waiting) show();
  };
  const forget = whenPrinted(fill);
  whenIdleAfter(QUARTERS_MS, fill);
}

function titleOf({ range, isTold, lost }: Found, kind: LeakKind): string {
  if (kind === "one-off" && lost) return `Not freed; ${lost}, so what grows is not known`;
  if (kind === "one-off" && isMoment(range)) return ALIVE;
  if (kind === "one-off" && !isTold) return range ? TOO_SHORT_WITHIN : TOO_SHORT;
  return (range ? TITLES_WITHIN : TITLES)[kind];
}

function quarterBars(found: Found, place: LeakPlace): HTMLElement | null {
  if (!place.quarters.length && !found.unfilled) return null;
  const bars = h("span.quarters");
  const show = (): void => {
    const most = Math.max(1, ...place.quarters);
    bars.title = place.quarters.map(formatBytes).join(" → ");
    clear(bars, ...place.quarters.map((q) => h("i", { style: `height:${Math.round((100 * q) / most)}%` })));
  };
  if (place.quarters.length) show();
  else found.waiting.push(show);
  return bars;
}

/** ", +3.1 MiB (± 200 KiB) within": of what has a growth. */
function growthText(range: Range | null, { growth, growthVariance }: Within, what = ""): string {
  if (!range || isMoment(range)) return "";
  const error = errorOf(growthVariance);
  return `, ${formatGrowth(growth)}${error ? ` (± ${formatBytes(error)})` : ""} within${what}`;
}

const stacksOf = (n: number): string => `${formatCount(n)} ${n === 1 ? "stack" : "stacks"}`;
const blocksOf = (n: number): string => `${formatCount(n)} ${n === 1 ? "block" : "blocks"}`;

/** Beside the place in the program: what it called to allocate, or else who called it. */
function neighbour(app: App, site: number): string {
  const profile = app.blocks;
  const stack = profile.stack(site);
  const own = Math.max(0, stack.indexOf(profile.pack.u32("site.own")[site]!));
  const name = (frame: number | undefined): string => (frame === undefined ? "" : profile.functionName(frame));
  if (own > 0) return `, by way of ${name(stack[own - 1])}`;
  return stack.length > 1 ? `, called by ${name(stack[1])}` : "";
}

function placeName(app: App, frame: number): HTMLElement {
  const profile = app.blocks;
  if (frame >= profile.frameCount) return h("span", {}, "no stack");
  const place = profile.place(frame);
  return h("span", {}, profile.functionName(frame), place && " ", place && h("span.place", {}, place));
}

const growthOf = (range: Range | null, { growth }: Within): number | undefined => (range && !isMoment(range) ? growth : undefined);

const opened = new Opened();

/** One stack. `ahead`: what the line begins with. */
function leakItem(app: App, leak: Leak, { of, range }: Found, name: HTMLElement | string, ahead: HTMLElement | null = null): HTMLElement {
  const within = withinBytes(app, leak.bytes, leak.within.bytesVariance);
  const details = h("details.leak", { "data-site": leak.site, "data-bytes": leak.bytes, "data-growth": growthOf(range, leak.within) },
    h("summary", {}, ahead, h("strong", {}, ` ${formatBytes(leak.bytes)}`), `${within} in ${blocksOf(leak.blocks)}${growthText(range, leak.within)} · `, name, neighbour(app, leak.site),
      leak.rule ? h("span.note", {}, ` (${leak.rule})`) : null));
  opened.follow(details, () => stackKey(of, leak.site), () => details.append(stackList(app, leak.site)));
  return details;
}

/** The stacks of a place, which are told when it is opened; a place that has but one is that stack. */
function placeItem(app: App, place: LeakPlace, found: Found): HTMLElement {
  const { of, range } = found;
  const name = placeName(app, place.frame);
  const bars = found.lost ? null : quarterBars(found, place);
  if (place.stacks === 1) return leakItem(app, place.largest[0]!, found, name, bars);
  const within = withinBytes(app, place.bytes, place.bytesVariance);
  const details = h("details.leak.of-place", { "data-frame": place.frame, "data-bytes": place.bytes, "data-growth": growthOf(range, place) },
    h("summary", {}, bars, h("strong", {}, ` ${formatBytes(place.bytes)}`), `${within} in ${blocksOf(place.blocks)}${growthText(range, place)} · `, name, `, ${stacksOf(place.stacks)}`));
  const rest = place.stacks - place.largest.length;
  opened.follow(details, () => placeKey(of, place.frame), () =>
    details.append(h("div.stacks", {}, ...place.largest.map((leak) => leakItem(app, leak, found, app.nameOf(app.blocks.stack(leak.site)[0] ?? 0))),
      rest ? h("p.note", {}, `and ${stacksOf(rest)} with less; the tree has them all`) : null)));
  return details;
}

function section(app: App, kind: LeakKind, found: Found, lists: List[]): HTMLElement | null {
  const { range } = found;
  const group: LeakGroup = found.groups[kind];
  if (!group.stacks) return null;
  const rest = group.placeCount - group.places.length;
  const list = new List(group.places.length, (i) => placeItem(app, group.places[i]!, found));
  lists.push(list);
  const within = withinBytes(app, group.bytes, group.bytesVariance);
  return h("section", { id: `leaks-${kind}`, "data-bytes": group.bytes, "data-blocks": group.blocks, "data-growth": range && !isMoment(range) ? group.growth : undefined }, h("h2", { title: found.isTold && kind !== "suppressed" ? RULE : undefined }, titleOf(found, kind)),
    found.isTold && kind === "one-off" && h("p.note", {}, RULE),
    h("p.note", {}, `${formatBytes(group.bytes)}${within} in ${blocksOf(group.blocks)}, ${stacksOf(group.stacks)}${growthText(range, group, " the range")}`),
    list.element,
    rest ? h("p.note", {}, `and ${formatCount(rest)} more ${rest === 1 ? "place" : "places"} with less; the tree has them all`) : null);
}

/** All stacks that have something left, not only those that are shown. */
function sheet(app: App, range: Range | null): Sheet {
  const { blocks: p } = app;
  const { live, growth } = range ? answersFor(app, range) : { live: { bytes: p.pack.f64("site.live_bytes"), blocks: p.pack.f64("site.live_blocks"), values: p.pack.f64("site.live_bytes") }, growth: null };
  const rules = p.pack.u32("site.rule");
  const kinds = leakKinds(p, range, live, growth);
  const stackOf = (site: number): string => p.stack(site).map((f) => `${p.functionName(f)} ${p.place(f)}`.trim()).join(" < ");
  const [bytes, blocks] = [live.bytes, live.blocks];
  const rows: Sheet["rows"] = [];
  for (let site = 0; site < p.siteCount; site++)
    if (blocks[site]! > 0) rows.push([bytes[site]!, blocks[site]!, ...(growth ? [growth.bytes[site]!, growth.blocks[site]!] : []), kinds[site]!, p.text(rules[site]!), stackOf(site)]);
  return { head: ["bytes", "blocks", ...(growth ? ["growth bytes", "growth blocks"] : []), "kind", "suppressed by", "stack"], rows: orderBy(rows, (row) => Number(row[0])) };
}

/** Above what is of a range. */
function aboutRange(app: App, range: Range): HTMLElement {
  const end = formatTime(app.blocks.pack.f64("point.time_ns")[range.to]!);
  const words = isMoment(range) ? " What was alive then." : ` What was not freed by ${end}, by how it grew within the range: bars show its quarters.`;
  return h("p", { id: "leaks-range" }, rangeText(app), " ", wholeButton(app), h("span.note", {}, words, " Some of it may have been freed later."));
}

/** What was not freed, by how it grew. */
function leftParts(app: App, found: Found, lists: List[]): (HTMLElement | string | null)[] {
  const sections = KINDS.map((k) => section(app, k, found, lists));
  if (sections.some(Boolean)) return sections;
  return [found.range ? h("p", {}, sentence(found.lost || "nothing was live then")) : "Nothing was left when the program ended."];
}

/** What a look found to be lost, which stays the same whatever the range. */
interface LostPart {
  of: Profile;
  elements: (HTMLElement | null)[];
  lists: List[];
}

function lostPart(app: App): LostPart {
  const lists: List[] = [];
  return { of: app.blocks, elements: hasLost(app.blocks) ? lostSections(app, lists) : [], lists };
}

/** The page from its top: what is lost is first, but for a range, which it does not tell of. */
function layOut(app: App, found: Found, lost: (HTMLElement | null)[], lists: List[]): (HTMLElement | string | null)[] {
  const { range } = found;
  const left = leftParts(app, found, lists);
  const hasLeft = KINDS.some((k) => found.groups[k].stacks);
  const saving = hasLeft ? h("p", {}, makeSheetSaving(app, "leaks", () => sheet(app, range))) : null;
  if (range) return [aboutRange(app, range), saving, ...left, ...(lost.length ? [h("h2.part", {}, "What is lost"), h("p.note", { id: "lost-of-all" }, "As of the look at the program's memory, whatever range is chosen."), ...lost] : [])];
  return [saving, ...lost, lost.length && hasLeft ? h("h2.part", {}, "All that was not freed, by how it grew") : null, ...left];
}

const isSame = (a: Range | null, b: Range | null): boolean => a?.from === b?.from && a?.to === b?.to;

export const leaks: View = {
  id: "leaks",
  title: "Leaks",
  key: "9",
  create(app) {
    const element = h("div.leaks-page");
    let lists: List[] = [];
    let lost: LostPart | null = null;
    let whole: Found | null = null; // worked out ahead
    let shown: Found | null = null;
    const findWhole = () => (whole?.of === app.blocks ? whole : (whole = find(app, null)));
    const update = () => {
      const { range } = app;
      for (const list of lost?.lists ?? []) list.fill();
      if (shown?.of === app.blocks && isSame(shown.range, range)) return lists.forEach((list) => list.fill());
      shown = range ? find(app, range) : findWhole();
      lists = [];
      if (lost?.of !== app.blocks) lost = lostPart(app);
      clear(element, ...layOut(app, shown, lost.elements, lists));
      const now = shown;
      fillSoon(app, now, () => shown === now);
    };
    const leave = () => [...(lost?.lists ?? []), ...lists].forEach((list) => list.empty());
    return { element, update, leave, prepare: () => [{ step: () => Boolean(findWhole()) }, { step: () => !hasLost(app.blocks) || Boolean(lostGroups(app)) }] };
  },
};

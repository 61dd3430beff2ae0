// lost.ts -- part of the page of leaks: which of them are lost, and who holds the others.
// SPDX-License-Identifier: Apache-2.0

import type { App } from "../app.ts";
import { h } from "../draw/dom.ts";
import { formatBytes, formatCount, formatTime } from "../draw/format.ts";
import { List } from "../idle.ts";
import { chainOf, findLost, LOST_CLASSES, type Link, type Lost, type LostClass, type LostGroup } from "../model/lost.ts";
import type { Profile } from "../model/profile.ts";
import { Opened, stackKey } from "./opened.ts";
import { stackList } from "./stack.ts";

const SHOWN = 100;

const TITLES: Record<LostClass, string> = {
  definite: "Lost: nothing points to them any more",
  indirect: "Lost with another block: only lost ones point to them",
  interior: "Held by pointers to the inside only",
  reachable: "Still reachable",
};

const blocksOf = (n: number): string => `${formatCount(n)} ${n === 1 ? "block" : "blocks"}`;

/** Of several processes: that some have not been looked at. */
function unchecked(look: Record<string, unknown>): string {
  const [seen, all] = [look["processes_looked_at"], look["processes"]];
  return seen === all ? "" : ` ${seen ?? "An unknown number"} of ${all} processes were looked at; what the others lost is not known.`;
}

/** How the look was taken: what speaks for it, and against it. */
function about(app: App): HTMLElement {
  const look = app.blocks.pack.header.leaks!;
  const words = [
    look["at_exit"] ? "Looked at when the program called exit()" : `Looked at after ${formatTime(Number(look["time_ns"]))}`,
    look["stopped"] ? `, for which it was stopped ${formatTime(Number(look["pause_ns"]))}.` : ", while it went on: registers are not known.",
    unchecked(look),
    look["all_blocks_known"] || unchecked(look) ? "" : " Some blocks were not recorded; what they point to counts as held.",
  ];
  return h("p.note", { id: "lost-look" }, words.join(""));
}

function linkText(app: App, link: Link): string {
  if (!link.isBlock) return `from ${link.text}`;
  const profile = app.blocks;
  const frame = link.site >= 0 ? profile.ownFrames()[link.site]! : -1;
  const where = frame >= 0 ? `a block allocated by ${profile.functionName(frame)} ${profile.place(frame)}` : "a block whose stack is not known";
  return `${where}${link.inside ? `, by a pointer ${formatCount(link.inside)} bytes into it` : ""}${link.offset ? `, at ${formatCount(link.offset)} bytes of its holder` : ""}`;
}

function chainList(app: App, lost: Lost): HTMLElement | null {
  const links = chainOf(app.blocks, lost);
  if (!links.length) return null;
  return h("div.chain", {}, h("p.note", {}, "One of them, and who points to it:"), h("ol", {}, ...links.map((link) => h("li", {}, linkText(app, link)))));
}

const opened = new Opened();

function item(app: App, kind: LostClass, lost: Lost): HTMLElement {
  const profile = app.blocks;
  const stack = profile.stack(lost.site);
  const frame = profile.ownFrames()[lost.site]!;
  const caller = stack[stack.indexOf(frame) + 1];
  const details = h("details.leak", { "data-site": lost.site, "data-bytes": lost.bytes, "data-blocks": lost.blocks },
    h("summary", {}, h("strong", {}, formatBytes(lost.bytes)), ` in ${blocksOf(lost.blocks)}`, lost.heldBytes ? `, and with them ${formatBytes(lost.heldBytes)} in ${blocksOf(lost.heldBlocks)}` : "", ` · ${profile.functionName(frame)} `, h("span.place", {}, profile.place(frame)), caller === undefined ? null : ` ‹ ${profile.functionName(caller)}`));
  opened.follow(details, () => `${kind} ${stackKey(profile, lost.site)}`, () => details.append(...[kind === "definite" ? null : chainList(app, lost), stackList(app, lost.site)].filter((e) => e !== null)));
  return details;
}

function section(app: App, kind: LostClass, group: LostGroup, lists: List[]): HTMLElement | null {
  if (!group.stacks) return null;
  const rest = group.stacks - group.largest.length;
  const list = new List(group.largest.length, (i) => item(app, kind, group.largest[i]!));
  lists.push(list);
  return h("section", { id: `lost-${kind}`, "data-bytes": group.bytes, "data-blocks": group.blocks, "data-stacks": group.stacks }, h("h2", {}, TITLES[kind]),
    h("p.note", {}, `${formatBytes(group.bytes)} in ${blocksOf(group.blocks)}, ${formatCount(group.stacks)} ${group.stacks === 1 ? "stack" : "stacks"}`), list.element,
    rest ? h("p.note", {}, `and ${formatCount(rest)} stacks with less`) : null);
}

const known = new WeakMap<Profile, Record<LostClass, LostGroup>>();

/** What `lostSections` shows; remembered. */
export function lostGroups(app: App): Record<LostClass, LostGroup> {
  let groups = known.get(app.blocks);
  if (!groups) known.set(app.blocks, (groups = findLost(app.blocks, SHOWN)));
  return groups;
}

/** What goes first on the page, if the profile has it. Its lists are added to those of the page. */
export function lostSections(app: App, lists: List[]): (HTMLElement | null)[] {
  const groups = lostGroups(app);
  const lost = groups.definite.stacks + groups.indirect.stacks;
  return [about(app), lost ? null : h("p", { id: "nothing-lost" }, "Nothing is lost: whatever is left, something points to it."), ...LOST_CLASSES.map((kind) => section(app, kind, groups[kind], lists))];
}

// resident.ts -- which blocks keep which pages of the heap in memory: what the looks at them have found.
// SPDX-License-Identifier: Apache-2.0

import type { Json } from "../load/pack.ts";
import { orderBy } from "./order.ts";
import type { Profile } from "./profile.ts";
import type { Range } from "./question.ts";

/** A look that found something; its sums are those of `midden report --rss --json`. */
export interface Look {
  index: number; // among all looks
  title: string; // "at the end"
  time_ns: number;
  sums: { [name: string]: Json };
}

/** What a site holds. */
export interface Pin {
  site: number;
  resident: number; // its share of the pages that its blocks are on
  pinned: number; // what of that is dead
  live: number;
  blocks: number;
  lone: number; // pages that one small block of it holds alone
  alone: number; // bytes of pages that no other site has blocks on
}

const TITLES: { [reason: string]: string } = { peak: "at the peak of the resident size", end: "at the end" };

function titleOf(p: Profile, sums: { [name: string]: Json }): string {
  const row = Number(sums["snapshot"] ?? 0);
  if (!row) return TITLES[String(sums["reason"])] ?? "at a snapshot";
  const name = p.text(p.pack.u32("snapshot.name")[row - 1] ?? 0);
  return `at snapshot ${row}${name ? ` ${name}` : ""}`;
}

export function listLooks(p: Profile): Look[] {
  const all = p.pack.header.stats?.["rss"];
  if (!Array.isArray(all) || !p.pack.has("pin.survey") || p.pack.u32("pin.survey").length + p.pack.u32("cell.survey").length === 0) return [];
  return (all as { [name: string]: Json }[]).map((sums, index): Look => ({ index, title: titleOf(p, sums), time_ns: Number(sums["time_ns"]), sums })).filter((look) => look.sums["fault"] === undefined);
}

/** Whether it was taken within a range. That of a snapshot is of the snapshot's point, however long it took; what comes
 * after the last point is of the recording's end. */
export function isWithin(p: Profile, look: Look, { from, to }: Range): boolean {
  const snapshot = Number(look.sums["snapshot"] ?? 0);
  const point = snapshot ? p.pack.u32("snapshot.point")[snapshot - 1] : undefined;
  if (point !== undefined) return from <= point && point <= to;
  return look.time_ns >= p.pack.f64("point.time_ns")[from]! && look.time_ns <= endOf(p, to);
}

function endOf(p: Profile, to: number): number {
  const times = p.pack.f64("point.time_ns");
  return to === times.length - 1 ? Infinity : times[to]!;
}

/** The look with that number. If there is none: the last one; of a range the last within, or else the last before its
 * end, or else the first after it. */
export function lookOf(p: Profile, index: number, range: Range | null): Look | undefined {
  const looks = p.looks();
  const chosen = looks.find((look) => look.index === index);
  if (chosen || !range) return chosen ?? looks.at(-1);
  const last = (isWanted: (look: Look) => boolean): Look | undefined => looks.filter(isWanted).at(-1);
  return last((look) => isWithin(p, look, range)) ?? last((look) => look.time_ns <= endOf(p, range.to)) ?? looks[0];
}

export function listPins(p: Profile, look: Look): Pin[] {
  const { pack } = p;
  const surveys = pack.u32("pin.survey");
  const sites = pack.u32("pin.site");
  const [resident, pinned, live, blocks, lone, alone] = ["resident_bytes", "pinned_bytes", "live_bytes", "live_blocks", "lone_pages", "alone_bytes"].map((c) => pack.f64(`pin.${c}`)) as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
  const pins: Pin[] = [];
  for (let i = 0; i < surveys.length; i++)
    if (surveys[i] === look.index) pins.push({ site: sites[i]!, resident: resident[i]!, pinned: pinned[i]!, live: live[i]!, blocks: blocks[i]!, lone: lone[i]!, alone: alone[i]! });
  return orderBy(pins, (pin) => pin.resident);
}

/** Sites of one function of the program's own, together. */
export interface Holder extends Omit<Pin, "site"> {
  frame: number;
  pins: Pin[];
}

/** The frame of a site's stack that a reader can do something about. */
export function ownFrame(p: Profile, site: number): number {
  const own = p.pack.u32("site.own")[site]!;
  return own < p.frameCount ? own : (p.stack(site)[0] ?? 0);
}

/** By function, those that keep most first. */
export function listHolders(p: Profile, pins: Pin[]): Holder[] {
  const byGroup = new Map<number, Holder>();
  for (const pin of pins) {
    const frame = ownFrame(p, pin.site);
    let holder = byGroup.get(p.frameGroup[frame]!);
    if (!holder) byGroup.set(p.frameGroup[frame]!, (holder = { frame, pins: [], resident: 0, pinned: 0, live: 0, blocks: 0, lone: 0, alone: 0 }));
    holder.pins.push(pin);
    holder.resident += pin.resident;
    holder.pinned += pin.pinned;
    holder.live += pin.live;
    holder.blocks += pin.blocks;
    holder.lone += pin.lone;
    holder.alone += pin.alone;
  }
  return orderBy([...byGroup.values()].sort((a, b) => a.frame - b.frame), (holder) => holder.resident);
}

/** A piece of the heap. */
export interface Cell {
  start: number; // address
  pages: number;
  resident: number; // pages
  held: number; // pages with live blocks
  live: number; // bytes
  site: number; // that has most of what is live; -1: nothing is
}

export function listCells(p: Profile, look: Look): Cell[] {
  const { pack } = p;
  const surveys = pack.u32("cell.survey");
  const [pages, resident, held, site] = ["pages", "resident_pages", "held_pages", "site"].map((c) => pack.u32(`cell.${c}`)) as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];
  const [start, live] = [pack.f64("cell.start"), pack.f64("cell.live_bytes")];
  const cells: Cell[] = [];
  for (let i = 0; i < surveys.length; i++)
    if (surveys[i] === look.index) cells.push({ start: start[i]!, pages: pages[i]!, resident: resident[i]!, held: held[i]!, live: live[i]!, site: site[i]! - 1 });
  return cells;
}

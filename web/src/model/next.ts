// next.ts -- what the user looks at, found again in the next profile of a program that runs on.
// SPDX-License-Identifier: Apache-2.0

import type { State } from "../state.ts";
import type { Profile } from "./profile.ts";

function keyOf(p: Profile, frame: number): string {
  return [p.functionName(frame), p.modulePath(frame), p.filePath(frame), p.frameLine[frame], p.frameBits[frame]].join("\n");
}

/** A thread that stands for a frame (see bythread.ts), by its serial; that of several stays it. */
function findThread(frame: number, before: Profile, after: Profile): number {
  const serial = before.pack.u32("thread.serial")[frame - before.frameCount];
  const threads = after.pack.u32("thread.serial");
  const row = serial === undefined ? threads.length : threads.indexOf(serial);
  return row < 0 ? -1 : after.frameCount + row;
}

/** The path of a zoom. A thread can be its first frame; the rest is cut where one is not to be found. */
function findPath(path: number[], groups: boolean, before: Profile, after: Profile): number[] {
  if (!path.length || path[0]! < before.frameCount) return findFrames(path, groups, before, after);
  const thread = findThread(path[0]!, before, after);
  return thread < 0 ? [] : [thread, ...findFrames(path.slice(1), groups, before, after)];
}

/** Frames get other numbers when new ones come between them. Functions (`groups`) are known by the
 * first of their frames, which may be another line of them then. Cut where one is not to be found. */
function findFrames(frames: number[], groups: boolean, before: Profile, after: Profile): number[] {
  const keys = frames.map((f) => keyOf(before, f));
  const isStill = (f: number, i: number): boolean => f < after.frameCount && keyOf(after, f) === keys[i] && (!groups || after.frameGroup[f] === f);
  if (frames.every(isStill)) return frames;
  const places = new Map<string, number>(keys.map((key) => [key, -1]));
  for (let f = after.frameCount - 1; f >= 0; f--) {
    const key = keyOf(after, f);
    if (places.has(key)) places.set(key, f);
  }
  const found = keys.map((key) => places.get(key)!);
  const known = found.includes(-1) ? found.slice(0, found.indexOf(-1)) : found;
  return groups ? known.map((f) => after.frameGroup[f]!) : known;
}

function findFile(file: number, before: Profile, after: Profile): number {
  const path = before.text(file);
  if (after.text(file) === path) return file;
  return after.frameFile.find((f) => after.text(f) === path) ?? 0;
}

/** A time line that is full is thinned out: a range stays where it was in time. */
function findPoint(point: number, before: Profile, after: Profile): number {
  const time = before.pack.f64("point.time_ns")[point] ?? Infinity;
  const times = after.pack.f64("point.time_ns");
  return times[point] === time ? point : times.findIndex((t) => t >= time);
}

export function carryState(s: State, before: Profile, after: Profile): State {
  const [from, to] = s.from < 0 ? [-1, -1] : [findPoint(s.from, before, after), findPoint(s.to, before, after)];
  const whole = from < 0 || to < 0;
  return {
    ...s,
    from: whole ? -1 : from,
    to: whole ? -1 : to,
    zoom: findPath(s.zoom, !s.byLine, before, after),
    site: s.site < after.siteCount ? s.site : -1,
    file: s.file ? findFile(s.file, before, after) : 0,
  };
}

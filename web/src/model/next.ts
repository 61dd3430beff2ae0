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

/** Cut where one is not to be found. */
function findFrames(frames: number[], groups: boolean, before: Profile, after: Profile): number[] {
  const found = findEach(frames, groups, before, after);
  return found.includes(-1) ? found.slice(0, found.indexOf(-1)) : found;
}

/** Frames get other numbers when new ones come between them. Functions (`groups`) are known by the
 * first of their frames, which may be another line of them then. -1: it is not to be found. */
function findEach(frames: number[], groups: boolean, before: Profile, after: Profile): number[] {
  const keys = frames.map((f) => keyOf(before, f));
  const isStill = (f: number, i: number): boolean => f < after.frameCount && keyOf(after, f) === keys[i] && (!groups || after.frameGroup[f] === f);
  if (frames.every(isStill)) return frames;
  const places = new Map<string, number>(keys.map((key) => [key, -1]));
  for (let f = after.frameCount - 1; f >= 0; f--) {
    const key = keyOf(after, f);
    if (places.has(key)) places.set(key, f);
  }
  const found = keys.map((key) => places.get(key)!);
  return groups ? found.map((f) => (f < 0 ? f : after.frameGroup[f]!)) : found;
}

/** Paths of a tree in that of the next profile, without those that are no longer there. */
export function carryPaths(paths: number[][], groups: boolean, before: Profile, after: Profile): number[][] {
  const frames = [...new Set(paths.flat())];
  const found = findEach(frames, groups, before, after);
  const next = new Map(frames.map((frame, i) => [frame, found[i]!]));
  return paths.map((path) => path.map((frame) => next.get(frame)!)).filter((path) => !path.includes(-1));
}

function findFile(file: number, before: Profile, after: Profile): number {
  const path = before.text(file);
  if (after.text(file) === path) return file;
  return after.frameFile.find((f) => after.text(f) === path) ?? 0;
}

export function carryState(s: State, before: Profile, after: Profile): State {
  return {
    ...s,
    zoom: findPath(s.zoom, !s.byLine, before, after),
    site: s.site < after.siteCount ? s.site : -1,
    file: s.file ? findFile(s.file, before, after) : 0,
  };
}

// union.ts -- two profiles laid side by side: their stacks over one set of functions.
// SPDX-License-Identifier: Apache-2.0
//
// Functions are the same if name and module are; lines and addresses may differ from build to build.
// The program is the same whatever its file is called, and a library whatever its version, as in `midden diff`.

import type { Profile } from "./profile.ts";
import { answer, type Answer, type Question } from "./question.ts";

function moduleKey(p: Profile, frame: number): string {
  if (p.modulePath(frame) === p.pack.header.stats?.["executable"]) return "[program]";
  return p.moduleName(frame).replace(/(\.so)\..*$| \(deleted\)$/, "$1");
}

export class Union {
  readonly stackStarts: Uint32Array;
  readonly stackFrames: Uint32Array;
  readonly frameGroup: Uint32Array;
  readonly siteCount: number;
  /** By function: a frame of the new profile, or of the old one if only that has it. */
  private readonly subjects: { profile: Profile; frame: number }[] = [];

  constructor(readonly now: Profile, readonly old: Profile) {
    const known = new Map<string, number>();
    const ids = [now, old].map((p) => this.number(p, known));
    const frames = now.stackFrames.length + old.stackFrames.length;
    this.siteCount = now.siteCount + old.siteCount;
    this.stackFrames = new Uint32Array(frames);
    this.stackStarts = new Uint32Array(this.siteCount + 1);
    [now, old].forEach((p, side) => {
      const shift = side ? now.stackFrames.length : 0;
      for (let i = 0; i < p.stackFrames.length; i++) this.stackFrames[shift + i] = ids[side]![p.stackFrames[i]!]!;
      for (let i = 0; i <= p.siteCount; i++) this.stackStarts[(side ? now.siteCount : 0) + i] = shift + p.stackStarts[i]!;
    });
    this.frameGroup = Uint32Array.from(this.subjects, (_, i) => i);
  }

  /** The number of every frame's function. */
  private number(p: Profile, known: Map<string, number>): Uint32Array {
    const ids = new Uint32Array(p.frameCount);
    for (let i = 0; i < p.frameCount; i++) {
      const frame = p.frameGroup[i]!;
      if (frame < i) {
        ids[i] = ids[frame]!;
        continue;
      }
      const key = `${p.functionName(frame)}\0${moduleKey(p, frame)}`;
      let id = known.get(key);
      if (id === undefined) {
        known.set(key, (id = this.subjects.length));
        this.subjects.push({ profile: p, frame });
      }
      ids[i] = id;
    }
    return ids;
  }

  functionName(id: number): string {
    const s = this.subjects[id]!;
    return s.profile.functionName(s.frame);
  }

  moduleName(id: number): string {
    const s = this.subjects[id]!;
    return s.profile.moduleName(s.frame);
  }

  /** What both have of a figure, new sites first; `values` is the sum, which boxes are sized by. */
  answer(q: Question): { both: Answer; now: Float64Array; old: Float64Array; totals: [number, number] } {
    const answers = [answer(this.now, q), answer(this.old, { ...q, range: null, thread: null })] as const;
    const shift = this.now.siteCount;
    const fill = (pick: (a: Answer) => Float64Array, side: 0 | 1): Float64Array => {
      const all = new Float64Array(this.siteCount);
      all.set(pick(answers[side]), side ? shift : 0);
      return all;
    };
    const now = fill((a) => a.values, 0);
    const old = fill((a) => a.values, 1);
    const sum = (x: Float64Array, y: Float64Array) => x.map((v, i) => v + y[i]!);
    const both: Answer = {
      question: q,
      values: sum(now, old),
      bytes: sum(fill((a) => a.bytes, 0), fill((a) => a.bytes, 1)),
      blocks: sum(fill((a) => a.blocks, 0), fill((a) => a.blocks, 1)),
      total: answers[0].total + answers[1].total,
      totalBytes: answers[0].totalBytes + answers[1].totalBytes,
      totalBlocks: answers[0].totalBlocks + answers[1].totalBlocks,
      chosen: null,
      note: "",
    };
    return { both, now, old, totals: [answers[0].total, answers[1].total] };
  }
}

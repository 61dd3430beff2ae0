// union.ts -- two profiles laid side by side: their stacks over one set of functions.
// SPDX-License-Identifier: Apache-2.0
//
// Functions are the same if name and module are; lines and addresses may differ from build to build.
// The program is the same whatever its file is called, and a library whatever its version, as in `midden diff`.

import { addTo, inRuns } from "../runs.ts";
import { Arrays, Memory } from "./memory.ts";
import type { Profile } from "./profile.ts";
import { answer, type Answer, type Question } from "./question.ts";
import { Ranking } from "./ranking.ts";
import { Reversed } from "./reversed.ts";
import { Shape } from "./shape.ts";
import { finish, Links, type Stacks, type Work } from "./stacks.ts";

function moduleKey(p: Profile, frame: number): string {
  if (p.modulePath(frame) === p.pack.header.stats?.["executable"]) return "[program]";
  return p.moduleName(frame).replace(/(\.so)\..*$| \(deleted\)$/, "$1");
}

type Found = { differing: Uint32Array; count: number };

function findDiffering(from: number, to: number, now: Float64Array, old: Float64Array, found: Found): void {
  const { differing } = found;
  let { count } = found;
  for (let id = from; id < to; id++) if (now[id] !== old[id]) differing[count++] = id;
  found.count = count;
}

function readDifferences(from: number, to: number, differing: Uint32Array, [now, old]: [Float64Array, Float64Array], keys: Float64Array): void {
  for (let i = from; i < to; i++) keys[i] = Math.abs(now[differing[i]!]! - old[differing[i]!]!);
}

const FRAMES_A_STEP = 2000;

/** What two profiles have of a figure. */
export interface Compared {
  both: Answer; // new sites first: `values` is the sum, which boxes are sized by
  totals: [now: number, old: number];
}

/** By function: what it allocates itself. */
export interface Changes {
  differing: Uint32Array;
  order: Ranking; // of those: the largest difference first
  now: Float64Array;
  old: Float64Array;
  variance: Float64Array | null; // of the difference
}

export class Union implements Stacks, Work {
  readonly parents: Uint32Array;
  readonly frames: Uint32Array;
  readonly leaves: Uint32Array;
  frameGroup = new Uint32Array(0);
  private readonly innermost: Uint32Array; // by site: the function that its stack ends in; in none: one more than there are
  readonly siteCount: number;
  /** By function: a frame of the new profile, or of the old one if only that has it. */
  private readonly subjects: { profile: Profile; frame: number }[] = [];
  private readonly known = new Map<string, number>();
  private readonly memory = new Memory();
  private readonly ids: [Uint32Array, Uint32Array];
  private readonly numbered = [0, 0];
  private links: Links | null = null;
  private made: Shape | null = null;
  private turned: Reversed | null = null;

  constructor(readonly now: Profile, readonly old: Profile) {
    this.siteCount = now.siteCount + old.siteCount;
    this.ids = [new Uint32Array(now.frameCount), new Uint32Array(old.frameCount)];
    // The root of the second is that of the first: its other nodes come after.
    const nodes = now.parents.length + old.parents.length - 1;
    [this.parents, this.frames, this.leaves] = [new Uint32Array(nodes), new Uint32Array(nodes), new Uint32Array(this.siteCount)];
    this.innermost = new Uint32Array(this.siteCount);
  }

  private readonly stages = [
    () => this.numberFrames(0, this.now),
    () => this.numberFrames(1, this.old),
    () => this.layOut(0, this.now),
    () => this.layOut(1, this.old),
    () => Boolean((this.links = new Links(this.parents))),
    () => Boolean((this.made = new Shape(this, this.links!, "function", false))),
    () => this.made!.step(),
    () => this.drop(),
    () => Boolean((this.turned = new Reversed(this, "function", false))),
    () => this.turned!.step(),
  ];

  /** Functions are numbered, then stacks laid side by side, then their tree made. */
  step(): boolean {
    if (this.stages[0]?.()) this.stages.shift();
    return this.stages.length === 0;
  }

  /** What stacks are laid side by side with is not needed any more. */
  private drop(): boolean {
    this.known.clear();
    this.links = null;
    return true;
  }

  /** The tree of calls of both. */
  shape(): Shape {
    finish(this);
    return this.made!;
  }

  /** The same from the allocating function. */
  reversed(): Reversed {
    finish(this);
    return this.turned!;
  }

  /** The number of some more frames' functions; true: all have theirs. */
  private numberFrames(side: 0 | 1, p: Profile): boolean {
    const ids = this.ids[side];
    const end = Math.min(p.frameCount, this.numbered[side]! + FRAMES_A_STEP);
    for (let i = this.numbered[side]!; i < end; i++) {
      const frame = p.frameGroup[i]!;
      if (frame < i) {
        ids[i] = ids[frame]!;
        continue;
      }
      const key = `${p.functionName(frame)}\0${moduleKey(p, frame)}`;
      let id = this.known.get(key);
      if (id === undefined) {
        this.known.set(key, (id = this.subjects.length));
        this.subjects.push({ profile: p, frame });
      }
      ids[i] = id;
    }
    this.numbered[side] = end;
    return end === p.frameCount;
  }

  private layOut(side: 0 | 1, p: Profile): boolean {
    const shift = side ? this.now.parents.length - 1 : 0;
    const sites = side ? this.now.siteCount : 0;
    const ids = this.ids[side];
    const { parents, frames, leaves } = this;
    for (let i = 1; i < p.parents.length; i++) {
      parents[i + shift] = p.parents[i] ? p.parents[i]! + shift : 0;
      frames[i + shift] = ids[p.frames[i]!]!;
    }
    for (let i = 0; i < p.siteCount; i++) {
      const leaf = p.leaves[i]!;
      leaves[i + sites] = leaf ? leaf + shift : 0;
      this.innermost[i + sites] = leaf ? ids[p.frames[leaf]!]! : this.subjects.length;
    }
    this.frameGroup = new Uint32Array(this.subjects.length);
    for (let i = 0; i < this.frameGroup.length; i++) this.frameGroup[i] = i;
    return true;
  }

  functionName(id: number): string {
    const s = this.subjects[id]!;
    return s.profile.functionName(s.frame);
  }

  moduleName(id: number): string {
    const s = this.subjects[id]!;
    return s.profile.moduleName(s.frame);
  }

  /** What functions have themselves, of some sites' values: those of stacks that end in them. */
  private sumByFunction(values: Float64Array, from: number, to: number): Float64Array {
    const sums = new Float64Array(this.frameGroup.length + 1);
    inRuns(to - from, addTo, this.innermost.subarray(from, to), values.subarray(from, to), sums);
    return sums.subarray(0, -1);
  }

  changes({ both: { values, variance } }: Compared): Changes {
    const now = this.sumByFunction(values, 0, this.now.siteCount);
    const old = this.sumByFunction(values, this.now.siteCount, this.siteCount);
    const found = { differing: new Uint32Array(now.length), count: 0 };
    inRuns(now.length, findDiffering, now, old, found);
    const differing = found.differing.slice(0, found.count); // the page keeps it
    const order = new Ranking(differing.length, [(keys) => inRuns(differing.length, readDifferences, differing, [now, old], keys)], differing);
    return { differing, order, now, old, variance: variance && this.sumByFunction(variance, 0, this.siteCount) };
  }

  /** `ofNow`: the new profile's answer, if that is known. */
  answer(q: Question, ofNow: Answer | null = null): Compared {
    const answers = [ofNow ?? answer(this.now, q), answer(this.old, { ...q, range: null, thread: null })] as const;
    const arrays = new Arrays(this.memory);
    // Each site is of one profile: to add up is to put one after the other.
    const values = arrays.f64ToFill(this.siteCount);
    values.set(answers[0].values);
    values.set(answers[1].values, this.now.siteCount);
    const [a, b] = [answers[0].variance, answers[1].variance];
    const variance = a || b ? arrays.f64(this.siteCount) : null;
    if (a) variance!.set(a);
    if (b) variance!.set(b, this.now.siteCount);
    for (const one of answers) if (one !== ofNow) one.arrays.giveBack(); // they have been copied
    const both: Answer = {
      question: q,
      arrays,
      values,
      bytes: values, // nobody asks for the two apart
      blocks: values,
      variance, // of the difference, too
      total: answers[0].total + answers[1].total,
      totalBytes: answers[0].totalBytes + answers[1].totalBytes,
      totalBlocks: answers[0].totalBlocks + answers[1].totalBlocks,
      chosen: null,
      whole: null,
      note: "",
      lost: answers[0].lost || answers[1].lost,
    };
    return { both, totals: [answers[0].total, answers[1].total] };
  }
}

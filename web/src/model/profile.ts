// profile.ts -- a profile's tables by name, and what is worked out of its stacks once.
// SPDX-License-Identifier: Apache-2.0

import type { Pack } from "../load/pack.ts";
import { inRuns } from "../runs.ts";
import { findCommon } from "./bottomup.ts";
import { ByThread } from "./bythread.ts";
import { Index } from "./index.ts";
import { LastChanges } from "./lastchanges.ts";
import { Arrays, Memory, withArrays } from "./memory.ts";
import { Names } from "./names.ts";
import { OF_FILE, OF_FUNCTION, Outermost } from "./outermost.ts";
import { Reversed } from "./reversed.ts";
import { listLooks, ownFrames, type Look } from "./resident.ts";
import { Shape } from "./shape.ts";
import { SizesOverTime } from "./sizes.ts";
import { findPlaces } from "./topdown.ts";
import { finish, Links, nodesBelow, onlyAbove, valuesThrough, type GroupBy, type Stacks, type Work } from "./stacks.ts";

export const FRAME_INLINED = 1;
export const FRAME_PLACEHOLDER = 2;
export const FRAME_HIDDEN = 4;

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function lookAtLeaves(from: number, to: number, leaves: Uint32Array, has: Uint8Array, sites: Uint8Array): void {
  for (let i = from; i < to; i++) sites[i] = has[leaves[i]!]!;
}

const THROUGH_KEPT = 2;
/** Columns that are shown beside every figure. */
const SUMMED = ["at_peak_bytes", "at_peak_blocks", "live_bytes", "live_blocks", "allocated_bytes", "allocations", "temporary"];

/** What something counts for, by node of the stacks and by site. */
export interface Counted {
  ofNode: Uint32Array;
  ofSite: Uint32Array;
}

export class Profile implements Stacks {
  readonly memory = new Memory(); // of its answers
  readonly siteCount: number;
  readonly frameCount: number;
  readonly parents: Uint32Array;
  readonly frames: Uint32Array;
  readonly leaves: Uint32Array;
  readonly frameGroup: Uint32Array;
  readonly frameFunction: Uint32Array;
  readonly frameModule: Uint32Array;
  readonly frameFile: Uint32Array;
  readonly frameLine: Uint32Array;
  readonly frameBits: Uint8Array;
  private readonly textEnds: Uint32Array;
  private readonly textBytes: Uint8Array;
  private readonly texts = new Map<number, string>();
  private readonly decoder = new TextDecoder();

  /** `kin`: the profile's blocks, if this one is of its maps; they have their names in common. */
  constructor(readonly pack: Pack, private readonly kin: Profile | null = null) {
    this.textEnds = pack.u32("text.end");
    this.textBytes = pack.u8("text.bytes");
    this.frameGroup = pack.u32("frame.group");
    this.frameFunction = pack.u32("frame.function");
    this.frameModule = pack.u32("frame.module");
    this.frameFile = pack.u32("frame.file");
    this.frameLine = pack.u32("frame.line");
    this.frameBits = pack.u8("frame.bits");
    this.frameCount = this.frameGroup.length;
    // Maps have few of the stacks.
    const stacks = [pack.u32("site.node"), pack.u32("node.parent"), pack.u32("node.frame")] as const;
    [this.leaves, this.parents, this.frames] = kin ? onlyAbove(...stacks) : stacks;
    this.siteCount = this.leaves.length;
  }

  text(id: number): string {
    if (this.kin) return this.kin.text(id);
    let text = this.texts.get(id);
    if (text === undefined) {
      const start = id > 0 ? (this.textEnds[id - 1] ?? 0) : 0;
      text = this.decoder.decode(this.textBytes.subarray(start, this.textEnds[id] ?? start));
      this.texts.set(id, text);
    }
    return text;
  }

  private linked: Links | null = null;
  private readonly shapes = new Map<string, Shape>();
  private outermost: Outermost | null = null;
  private outermostDone = false;

  links(): Links {
    return (this.linked ??= new Links(this.parents));
  }

  private beginShape(by: GroupBy, fold: boolean): Shape {
    const key = `${by} ${fold}`;
    let shape = this.shapes.get(key);
    if (!shape) this.shapes.set(key, (shape = new Shape(this, this.links(), by, fold)));
    return shape;
  }

  /** How the tree of calls is drawn, whatever the figure. */
  shape(by: GroupBy, fold: boolean): Shape {
    const shape = this.beginShape(by, fold);
    finish(shape);
    return shape;
  }

  /** A piece of the one that is seen first; true: it is there. */
  stepShape(): boolean {
    return this.beginShape("function", false).step();
  }

  private readonly reversedBy = new Map<string, Reversed>();

  private beginReversed(by: GroupBy, fold: boolean): Reversed {
    const key = `${by} ${fold}`;
    let reversed = this.reversedBy.get(key);
    if (!reversed) this.reversedBy.set(key, (reversed = new Reversed(this, by, fold)));
    return reversed;
  }

  /** The same from the allocating function. */
  reversed(by: GroupBy, fold: boolean): Reversed {
    const reversed = this.beginReversed(by, fold);
    finish(reversed);
    return reversed;
  }

  private readonly threadRows = new Map<boolean, ByThread>();

  /** Its stacks with threads told apart; `isWhole`: as far as one thread had all of them. */
  byThread(isWhole: boolean): ByThread {
    let rows = this.threadRows.get(isWhole);
    if (!rows) this.threadRows.set(isWhole, (rows = new ByThread(this, isWhole)));
    return rows;
  }

  private stepOutermost(): boolean {
    this.outermost ??= new Outermost(this, this.links(), this.frameFile, this.frameLine);
    this.outermostDone ||= this.outermost.step();
    return this.outermostDone;
  }

  /** By node of the stacks: see outermost.ts. */
  outermostBits(): Uint8Array {
    while (!this.stepOutermost());
    return this.outermost!.bits;
  }

  private counted: Counted | null = null;

  /** Functions that what goes through a node, and what a site has, counts for; the number of frames where it is none. */
  functions(): Counted {
    if (this.counted) return this.counted;
    const { frames, frameGroup, frameCount } = this;
    const bits = this.outermostBits();
    const ofNode = new Uint32Array(frames.length).fill(frameCount);
    for (let node = 1; node < ofNode.length; node++) if (bits[node]! & OF_FUNCTION) ofNode[node] = frameGroup[frames[node]!]!;
    return (this.counted = { ofNode, ofSite: this.leafFrames().map((frame) => frameGroup[frame] ?? frameCount) });
  }

  private countedFiles: Counted | null = null;

  /** The same of source files; 0, which is none, where it counts for no file. */
  files(): Counted {
    if (this.countedFiles) return this.countedFiles;
    const { frames, frameFile } = this;
    const bits = this.outermostBits();
    const ofNode = new Uint32Array(frames.length);
    for (let node = 1; node < ofNode.length; node++) if (bits[node]! & OF_FILE) ofNode[node] = frameFile[frames[node]!]!;
    return (this.countedFiles = { ofNode, ofSite: this.leafFrames().map((frame) => frameFile[frame] ?? 0) });
  }

  private byFunction: Index | null = null;
  private byFile: Index | null = null;

  nodesOfFunction(group: number): Uint32Array {
    return (this.byFunction ??= new Index(this.frames, this.frameGroup)).of(group);
  }

  nodesOfFile(file: number): Uint32Array {
    return (this.byFile ??= new Index(this.frames, this.frameFile)).of(file);
  }

  private ends: Uint32Array | null = null;

  /** By site: the frame that its stack ends in; the number of frames if it has none. */
  leafFrames(): Uint32Array {
    return (this.ends ??= this.leaves.map((node) => (node ? this.frames[node]! : this.frameCount)));
  }

  private own: Uint32Array | null = null;

  /** By site: see resident.ts. */
  ownFrames(): Uint32Array {
    return (this.own ??= ownFrames(this));
  }

  private readonly lastThrough: { values: Float64Array; through: Float64Array }[] = []; // the last one first

  /** By node: what goes through it. The last two answers are remembered: pages ask for the same again.
   * Not to be kept: the memory of the third is used anew. */
  through(values: Float64Array): Float64Array {
    const last = this.lastThrough;
    const at = last.findIndex((one) => one.values === values);
    const [found] = last.splice(at < 0 ? THROUGH_KEPT - 1 : at, 1);
    last.unshift(at < 0 ? { values, through: valuesThrough(this, values, found?.through.fill(0) ?? new Float64Array(this.parents.length)) } : found!);
    return last[0]!.through;
  }

  private changed: LastChanges | null = null;

  lastChanges(): LastChanges {
    return (this.changed ??= new LastChanges(this.pack.u32("change.site"), this.siteCount));
  }

  private sizes: SizesOverTime | null = null;

  private sizesBegun(): SizesOverTime {
    return (this.sizes ??= new SizesOverTime(this));
  }

  sizesOverTime(): SizesOverTime {
    finish(this.sizesBegun());
    return this.sizesBegun();
  }

  /** What the pages will ask for, to be done before they do. */
  preparations(): Work[] {
    return [
      { step: () => Boolean(this.moduleRanks()) },
      { step: () => Boolean(this.links()) },
      { step: () => this.stepShape() },
      { step: () => this.beginReversed("function", false).step() },
      ...SUMMED.flatMap((column) => [() => this.shape("function", false), () => this.reversed("function", false)].map((tree) => ({ step: () => Boolean(tree().sums().of(this.pack.f64(`site.${column}`))) }))),
      { step: () => this.lastChanges().step() },
      { step: () => this.stepOutermost() },
      { step: () => Boolean(this.functions()) },
      { step: () => Boolean(this.files()) },
      { step: () => Boolean(this.nodesOfFunction(0)) },
      { step: () => Boolean(this.nodesOfFile(0)) },
      this.names().reading,
      { step: () => this.sizesBegun().step() },
      { step: () => this.beginShape("function", true).step() },
      { step: () => this.beginShape("line", false).step() },
      this.names().ordering,
      { step: () => Boolean(this.names().places()) },
      ...this.threadPreparations(),
      { step: () => this.beginReversed("function", true).step() },
      { step: () => this.beginReversed("line", false).step() },
    ];
  }

  /** What filters need, of one that another is compared with. */
  filterPreparations(): Work[] {
    return [{ step: () => Boolean(this.moduleRanks()) }, this.names().reading];
  }

  private threadPreparations(): Work[] {
    if (this.pack.u32("thread.serial").length < 2) return [];
    const rows = (): ByThread => this.byThread(false);
    const down = (): Shape => this.shape("function", false);
    const up = (): Reversed => this.reversed("function", false);
    return [
      { step: () => Boolean(rows()) },
      { step: () => Boolean(rows().inOrder(down().order)) },
      { step: () => Boolean(findPlaces(down(), rows().inOrder(down().order), rows().siteOf)) },
      { step: () => Boolean(rows().inOrder(up().order)) },
      { step: () => Boolean(findCommon(up(), rows().inOrder(up().order), rows().siteOf)) },
    ];
  }

  private named: Names | null = null;

  private names(): Names {
    return (this.named ??= new Names(this.frameGroup, (frame) => this.functionName(frame)));
  }

  /** By frame: the place of its function's name among all, whatever their case. */
  namePlaces(): Uint32Array {
    return (this.kin ?? this).names().places();
  }

  private found: { text: string; hits: Uint8Array } | null = null;

  /** 1 for every frame that has the text in its function's name, whatever its case. The last answer is remembered. */
  search(text: string): Uint8Array {
    if (this.kin) return this.kin.search(text);
    if (this.found?.text !== text) this.found = { text, hits: this.names().find(text) };
    return this.found.hits;
  }

  /** By site: 1 if one of these frames is on its stack. */
  sitesWith(frames: Uint8Array, arrays: Arrays): Uint8Array {
    const sites = arrays.u8ToFill(this.siteCount);
    withArrays(this.memory, (own) => inRuns(sites.length, lookAtLeaves, this.leaves, nodesBelow(this, frames, own), sites));
    return sites;
  }

  /** What a frame is called: its function, or where it is in its module. */
  functionName(frame: number): string {
    const name = this.text(this.frameFunction[frame]!);
    if (name) return this.nameless(frame, name) ? `${name} (${baseName(this.text(this.frameFile[frame]!))})` : name;
    const offset = this.pack.f64("frame.offset")[frame] ?? 0;
    const module = this.moduleName(frame);
    return module ? `${module}+0x${offset.toString(16)}` : `0x${offset.toString(16)}`;
  }

  /** Every file of Python has a <module>, which the name alone does not tell apart. */
  private nameless(frame: number, name: string): boolean {
    return name.startsWith("<") && this.moduleName(frame) === "[python]" && this.text(this.frameFile[frame]!) !== "";
  }

  moduleName(frame: number): string {
    const id = this.frameModule[frame]!;
    let name = this.moduleNames.get(id);
    if (name === undefined) this.moduleNames.set(id, (name = baseName(this.text(id))));
    return name;
  }

  private looked: Look[] | null = null;

  /** The looks at the heap's pages that found something, in order of time. */
  looks(): Look[] {
    return (this.looked ??= listLooks(this));
  }

  private readonly moduleNames = new Map<number, string>();
  private ranked: string[] | null = null;

  /** Modules by name, those with most frames first. */
  modules(): string[] {
    if (this.kin) return this.kin.modules();
    if (this.ranked) return this.ranked;
    const byText = new Map<number, number>();
    for (let i = 0; i < this.frameCount; i++) byText.set(this.frameModule[i]!, (byText.get(this.frameModule[i]!) ?? 0) + 1);
    const byName = new Map<string, number>();
    for (const [id, count] of byText) byName.set(baseName(this.text(id)), (byName.get(baseName(this.text(id))) ?? 0) + count);
    byName.delete("");
    this.ranked = [...byName].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
    return this.ranked;
  }

  private ranks: Uint32Array | null = null;

  /** By frame: the place of its module in `modules`; that of none is the number of them. */
  moduleRanks(): Uint32Array {
    if (this.kin) return this.kin.moduleRanks();
    if (this.ranks) return this.ranks;
    const byName = new Map(this.modules().map((name, i) => [name, i]));
    const byText = new Map<number, number>();
    const ranks = new Uint32Array(this.frameCount);
    for (let i = 0; i < ranks.length; i++) {
      const id = this.frameModule[i]!;
      let rank = byText.get(id);
      if (rank === undefined) byText.set(id, (rank = byName.get(this.moduleName(i)) ?? byName.size));
      ranks[i] = rank;
    }
    return (this.ranks = ranks);
  }

  /** By row of `thread`; the row after the last stands for several threads. */
  threadName(row: number): string {
    const names = this.pack.u32("thread.name");
    if (row >= names.length) return "several threads";
    return `${this.text(names[row]!) || "thread"} (${this.pack.u32("thread.tid")[row]})`;
  }

  modulePath(frame: number): string {
    return this.text(this.frameModule[frame]!);
  }

  filePath(frame: number): string {
    return this.text(this.frameFile[frame]!);
  }

  /** "file.c:12", or "" if it is not known. */
  place(frame: number): string {
    const file = baseName(this.filePath(frame));
    const line = this.frameLine[frame]!;
    return file ? (line ? `${file}:${line}` : file) : "";
  }

  private suppressed: boolean | null = null;

  /** Whether a rule calls some of what was not freed harmless. */
  hasSuppressed(): boolean {
    return (this.suppressed ??= this.pack.u32("site.rule").some((rule, site) => rule !== 0 && this.pack.f64("site.live_bytes")[site]! > 0));
  }

  private ofSeveralLines: Uint8Array | null = null; // by group of frames

  /** The same of a function as a whole, which may have been called at several lines of it: then it is the file alone. */
  functionPlace(frame: number): string {
    if (!this.ofSeveralLines) {
      this.ofSeveralLines = new Uint8Array(this.frameCount);
      for (let i = 0; i < this.frameCount; i++) {
        const group = this.frameGroup[i]!;
        if (this.frameLine[i] !== this.frameLine[group] || this.frameFile[i] !== this.frameFile[group]) this.ofSeveralLines[group] = 1;
      }
    }
    return this.ofSeveralLines[this.frameGroup[frame]!] ? baseName(this.filePath(frame)) : this.place(frame);
  }

  /** Frames of a site, the allocating one first. */
  stack(site: number): number[] {
    const frames: number[] = [];
    for (let node = this.leaves[site] ?? 0; node !== 0; node = this.parents[node]!) frames.push(this.frames[node]!);
    return frames;
  }
}

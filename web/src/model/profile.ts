// profile.ts -- a profile's tables by name, and its stacks laid out for quick reading.
// SPDX-License-Identifier: Apache-2.0

import type { Pack } from "../load/pack.ts";

export const FRAME_INLINED = 1;
export const FRAME_PLACEHOLDER = 2;
export const FRAME_HIDDEN = 4;

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export class Profile {
  readonly siteCount: number;
  readonly frameCount: number;
  /** Frames of site i, the root first: stackFrames[stackStarts[i] .. stackStarts[i + 1]). */
  readonly stackStarts: Uint32Array;
  readonly stackFrames: Uint32Array;
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

  constructor(readonly pack: Pack) {
    this.textEnds = pack.u32("text.end");
    this.textBytes = pack.u8("text.bytes");
    this.frameGroup = pack.u32("frame.group");
    this.frameFunction = pack.u32("frame.function");
    this.frameModule = pack.u32("frame.module");
    this.frameFile = pack.u32("frame.file");
    this.frameLine = pack.u32("frame.line");
    this.frameBits = pack.u8("frame.bits");
    this.frameCount = this.frameGroup.length;
    const nodes = pack.u32("site.node");
    this.siteCount = nodes.length;
    [this.stackStarts, this.stackFrames] = layOut(nodes, pack.u32("node.parent"), pack.u32("node.frame"));
  }

  text(id: number): string {
    let text = this.texts.get(id);
    if (text === undefined) {
      const start = id > 0 ? (this.textEnds[id - 1] ?? 0) : 0;
      text = this.decoder.decode(this.textBytes.subarray(start, this.textEnds[id] ?? start));
      this.texts.set(id, text);
    }
    return text;
  }

  private lowerNames: string[] | null = null;

  /** 1 for every frame that has the text in its function's name, whatever its case. */
  search(text: string): Uint8Array {
    const hits = new Uint8Array(this.frameCount);
    const wanted = text.toLowerCase();
    if (!wanted) return hits;
    this.lowerNames ??= Array.from(hits, (_, i) => (this.frameGroup[i] === i ? this.functionName(i).toLowerCase() : ""));
    for (let i = 0; i < hits.length; i++) if (this.frameGroup[i] === i && this.lowerNames[i]!.includes(wanted)) hits[i] = 1;
    for (let i = 0; i < hits.length; i++) hits[i] = hits[this.frameGroup[i]!]!;
    return hits;
  }

  /** By site: 1 if one of these frames is on its stack. Goes along the tree of stacks: most of what
   * stacks have they have in common. */
  sitesWith(frames: Uint8Array): Uint8Array {
    const parents = this.pack.u32("node.parent");
    const frameOf = this.pack.u32("node.frame");
    const has = new Uint8Array(parents.length);
    for (let i = 1; i < has.length; i++) has[i] = has[parents[i]!]! | frames[frameOf[i]!]!;
    const leaves = this.pack.u32("site.node");
    const sites = new Uint8Array(leaves.length);
    for (let i = 0; i < sites.length; i++) sites[i] = has[leaves[i]!]!;
    return sites;
  }

  /** What a frame is called: its function, or where it is in its module. */
  functionName(frame: number): string {
    const name = this.text(this.frameFunction[frame]!);
    if (name) return name;
    const offset = this.pack.f64("frame.offset")[frame] ?? 0;
    const module = this.moduleName(frame);
    return module ? `${module}+0x${offset.toString(16)}` : `0x${offset.toString(16)}`;
  }

  moduleName(frame: number): string {
    const id = this.frameModule[frame]!;
    let name = this.moduleNames.get(id);
    if (name === undefined) this.moduleNames.set(id, (name = baseName(this.text(id))));
    return name;
  }

  private readonly moduleNames = new Map<number, string>();
  private ranked: string[] | null = null;

  /** Modules by name, those with most frames first. */
  modules(): string[] {
    if (this.ranked) return this.ranked;
    const byText = new Map<number, number>();
    for (let i = 0; i < this.frameCount; i++) byText.set(this.frameModule[i]!, (byText.get(this.frameModule[i]!) ?? 0) + 1);
    const byName = new Map<string, number>();
    for (const [id, count] of byText) byName.set(baseName(this.text(id)), (byName.get(baseName(this.text(id))) ?? 0) + count);
    byName.delete("");
    this.ranked = [...byName].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
    return this.ranked;
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

  /** Frames of a site, the allocating one first. */
  stack(site: number): Uint32Array {
    return this.stackFrames.slice(this.stackStarts[site]!, this.stackStarts[site + 1]!).reverse();
  }
}

/** Stacks as runs of frames, root first, from their tree. */
function layOut(leaves: Uint32Array, parents: Uint32Array, frames: Uint32Array): [Uint32Array, Uint32Array] {
  const depth = new Uint32Array(parents.length);
  for (let i = 1; i < parents.length; i++) depth[i] = depth[parents[i]!]! + 1;
  const starts = new Uint32Array(leaves.length + 1);
  for (let i = 0; i < leaves.length; i++) starts[i + 1] = starts[i]! + depth[leaves[i]!]!;
  const all = new Uint32Array(starts[leaves.length]!);
  for (let i = 0; i < leaves.length; i++) {
    let at = starts[i + 1]!;
    for (let node = leaves[i]!; node !== 0; node = parents[node]!) all[--at] = frames[node]!;
  }
  return [starts, all];
}

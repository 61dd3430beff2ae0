// pack.ts -- reads the block of columns that a profile comes in: see ../../schema.md.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Header {
  schema: number;
  live: boolean;
  generation: number;
  duration_ns: number;
  start_unix_ns: number;
  lost_stacks_over_time?: boolean;
  file?: string;
  stats: { [key: string]: Json } | null;
  findings: { findings: { [key: string]: Json }[]; has_time_line?: boolean } | null;
  diff: { [key: string]: Json } | null;
  leaks?: { [key: string]: Json } | null;
  page_bytes?: number;
  globals?: { [key: string]: Json } | null;
  lines: { files: { [path: string]: (number | string)[][] } } | null;
  columns: { [name: string]: { type: string; at: number; count: number; planes?: boolean } };
}

/** Recorded with --tags: threads and what they allocate are counted, but there are no stacks, no peak and nothing live. */
export function countsTags(header: Header): boolean {
  return header.stats?.["mode"] === "tags";
}

/** In words, where a damaged file has lost which stacks had what over time; "" where it has not. */
export function lostStacks(header: Header): string {
  return header.lost_stacks_over_time ? "the stacks over time are missing from this file" : "";
}

const MAGIC = "MDNPACK1";
const PREFIX_BYTES = 16;
const NO_PACK = "this is not a midden profile as the page reads it";
const CUT_OFF = "the profile's data is cut off";
/** What maps have in common with blocks; of the other tables they have nothing. */
const OF_ALL = /^(text|frame|node|map)\./;

/** The header, if `bytes` begin a pack and have all of it; null: there must be more of them. */
export function readHeader(bytes: Uint8Array): { header: Header; end: number } | null {
  if (bytes.byteLength < PREFIX_BYTES) return null;
  if (new TextDecoder("latin1").decode(bytes.subarray(0, 8)) !== MAGIC) throw new Error(NO_PACK);
  const end = PREFIX_BYTES + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(8, true));
  if (end > bytes.byteLength) return null;
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(PREFIX_BYTES, end))) as Header;
  if (header.schema !== 1) throw new Error(`the data has schema ${header.schema}, this page reads 1`);
  return { header, end };
}

/** Puts the bytes of each number side by side, where all first ones lay together, then all second ones, and so on. */
function unfold(bytes: Uint8Array, bytesEach: number): void {
  const planes = bytes.slice();
  const count = bytes.byteLength / bytesEach;
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  const plane = (i: number): Uint8Array => planes.subarray(i * count, (i + 1) * count);
  for (let word = 0; word < bytesEach / 4; word++)
    inRuns(count, putWords, [plane(4 * word), plane(4 * word + 1), plane(4 * word + 2), plane(4 * word + 3)], words, word, bytesEach / 4);
}

function putWords(from: number, to: number, [a, b, c, d]: Uint8Array[], words: Uint32Array, first: number, step: number): void {
  for (let i = from; i < to; i++) words[first + i * step] = a![i]! | (b![i]! << 8) | (c![i]! << 16) | (d![i]! << 24);
}

export class Pack {
  readonly header: Header;
  private readonly bytes: ArrayBuffer;
  private readonly base: number;
  private readonly isOfMaps: boolean;

  /** `blocks`: the same bytes, of which this one shows maps in place of blocks. */
  constructor(bytes: ArrayBuffer, blocks?: Pack) {
    this.isOfMaps = blocks !== undefined;
    this.bytes = bytes;
    if (blocks) {
      this.base = blocks.base;
      const { stats } = blocks.header;
      this.header = { ...blocks.header, stats: { ...stats, ...(stats?.["maps"] as { [key: string]: Json }), sample_period: 0 }, findings: null, diff: null, leaks: null };
      return;
    }
    if (bytes.byteLength < PREFIX_BYTES) throw new Error(NO_PACK);
    const read = readHeader(new Uint8Array(bytes));
    if (!read) throw new Error(CUT_OFF);
    this.header = read.header;
    this.base = read.end;
  }

  get byteLength(): number {
    return this.bytes.byteLength;
  }

  /** What the program mapped itself, as if maps were blocks; null if that was not recorded. */
  ofMaps(): Pack | null {
    return this.has("map.node") ? new Pack(this.bytes, this) : null;
  }

  has(column: string): boolean {
    return column in this.header.columns;
  }

  private column(name: string, type: string, bytesEach: number): [number, number] {
    const own = this.isOfMaps ? name.replace(/^site\./, "map.") : name;
    if (this.isOfMaps && !OF_ALL.test(own)) return [this.base, 0];
    const c = this.header.columns[own];
    if (!c || c.type !== type) throw new Error(`the data has no column ${name}`);
    if (this.base + c.at + c.count * bytesEach > this.bytes.byteLength) throw new Error(CUT_OFF);
    if (c.planes) unfold(new Uint8Array(this.bytes, this.base + c.at, c.count * bytesEach), bytesEach);
    c.planes = false; // maps have the same header
    return [this.base + c.at, c.count];
  }

  /** Puts a column together that nobody has asked for yet; true: that was the last. */
  unfoldNext(): boolean {
    const folded = Object.entries(this.header.columns).filter(([, c]) => c.planes);
    const [name, column] = folded[0] ?? [];
    if (name) column!.type === "u32" ? this.u32(name) : this.f64(name);
    return folded.length <= 1;
  }

  private readonly made = new Map<string, ArrayBufferView>();

  /** Each column is one array, whoever asks: what is worked out of it can be remembered by it. */
  private view<T extends ArrayBufferView>(name: string, make: () => T): T {
    let view = this.made.get(name);
    if (!view) this.made.set(name, (view = make()));
    return view as T;
  }

  u8(name: string): Uint8Array {
    return this.view(name, () => new Uint8Array(this.bytes, ...this.column(name, "u8", 1)));
  }

  u32(name: string): Uint32Array {
    return this.view(name, () => new Uint32Array(this.bytes, ...this.column(name, "u32", 4)));
  }

  /** Not to be written to. */
  f64(name: string): Float64Array {
    return this.view(name, () => new Float64Array(this.bytes, ...this.column(name, "f64", 8)));
  }
}

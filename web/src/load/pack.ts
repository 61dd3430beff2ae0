// pack.ts -- reads the block of columns that a profile comes in: see ../../schema.md.
// SPDX-License-Identifier: Apache-2.0

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Header {
  schema: number;
  live: boolean;
  generation: number;
  duration_ns: number;
  start_unix_ns: number;
  stats: { [key: string]: Json } | null;
  findings: { findings: { [key: string]: Json }[]; has_time_line?: boolean } | null;
  diff: { [key: string]: Json } | null;
  leaks?: { [key: string]: Json } | null;
  page_bytes?: number;
  globals?: { [key: string]: Json } | null;
  lines: { files: { [path: string]: (number | string)[][] } } | null;
  columns: { [name: string]: { type: string; at: number; count: number } };
}

const MAGIC = "MDNPACK1";
const PREFIX_BYTES = 16;
/** What maps have in common with blocks; of the other tables they have nothing. */
const OF_ALL = /^(text|frame|node|map)\./;

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
    if (bytes.byteLength < PREFIX_BYTES || new TextDecoder("latin1").decode(new Uint8Array(bytes, 0, 8)) !== MAGIC)
      throw new Error("this is not a midden profile as the page reads it");
    const headerBytes = Number(new DataView(bytes).getBigUint64(8, true));
    this.base = PREFIX_BYTES + headerBytes;
    if (this.base > bytes.byteLength) throw new Error("the profile's data is cut off");
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, PREFIX_BYTES, headerBytes))) as Header;
    if (this.header.schema !== 1) throw new Error(`the data has schema ${this.header.schema}, this page reads 1`);
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
    if (this.base + c.at + c.count * bytesEach > this.bytes.byteLength) throw new Error("the profile's data is cut off");
    return [this.base + c.at, c.count];
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

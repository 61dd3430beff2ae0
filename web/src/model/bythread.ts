// bythread.ts -- a profile's stacks with threads told apart: a row for each thread's share of a site.
// SPDX-License-Identifier: Apache-2.0

import { inRuns } from "../runs.ts";
import { countUp, placesIn } from "./calltree.ts";
import { boundBlocks, boundBytes, samplePeriod } from "./interval.ts";
import type { Profile } from "./profile.ts";
import { countsBlocks, type Answer } from "./question.ts";

/** Rows by thread. Threads stand for frames of the trees' first level: their numbers are that of the
 * frames there are plus the thread's row; the one after the last thread stands for several. */
export class ByThread {
  /** By row: the site that it is of, where its share is in `part` (-1: it is the whole site), and
   * the number of its thread. */
  readonly siteOf: Uint32Array;
  readonly partOf: Int32Array;
  readonly first: Uint32Array;
  readonly threadCount: number; // with the one that stands for several

  /** Who had how much is known for the whole recording; at a time (`isWhole`) only where one thread had all. */
  constructor(readonly profile: Profile, isWhole: boolean) {
    const { pack } = profile;
    const partSites = pack.u32("part.site");
    const partThreads = pack.u32("part.thread");
    const only = pack.u32("site.thread");
    const threadRow = new Map<number, number>();
    pack.u32("thread.serial").forEach((serial, i) => threadRow.set(serial, i));
    this.threadCount = threadRow.size + 1;
    const frameOf = (serial: number): number => profile.frameCount + (threadRow.get(serial) ?? threadRow.size);
    const most = profile.siteCount + partSites.length;
    const [sites, parts, first] = [new Uint32Array(most), new Int32Array(most), new Uint32Array(most)];
    let count = 0;
    const add = (site: number, part: number, serial: number): void => {
      sites[count] = site;
      parts[count] = part;
      first[count++] = frameOf(serial);
    };
    for (let site = 0; site < profile.siteCount; site++) if (only[site] || isWhole) add(site, -1, only[site]!);
    if (!isWhole) for (let i = 0; i < partSites.length; i++) add(partSites[i]!, i, partThreads[i]!);
    [this.siteOf, this.partOf, this.first] = [sites.slice(0, count), parts.slice(0, count), first.slice(0, count)];
  }

  private readonly ordered = new WeakMap<Uint32Array, Uint32Array>();

  /** All rows: thread by thread, and then as `sites` has them. */
  inOrder(sites: Uint32Array): Uint32Array {
    let order = this.ordered.get(sites);
    if (!order) this.ordered.set(sites, (order = this.putInOrder(sites)));
    return order;
  }

  private putInOrder(sites: Uint32Array): Uint32Array {
    const place = placesIn(sites);
    const keys = new Uint32Array(this.siteOf.length);
    for (let row = 0; row < keys.length; row++) keys[row] = place[this.siteOf[row]!]!;
    const bySite = sortByCounting(countUp(keys.length), keys, sites.length);
    const { frameCount } = this.profile;
    for (let row = 0; row < keys.length; row++) keys[row] = this.first[row]! - frameCount;
    return sortByCounting(bySite, keys, this.threadCount);
  }

  /** A figure by row. */
  column(name: string): Float64Array {
    const whole = this.profile.pack.f64(`site.${name}`);
    const part = this.profile.pack.f64(`part.${name}`);
    const values = new Float64Array(this.siteOf.length);
    for (let row = 0; row < values.length; row++) {
      const at = this.partOf[row]!;
      values[row] = at < 0 ? whole[this.siteOf[row]!]! : part[at]!;
    }
    return values;
  }

  /** An answer by site, dealt out to the rows, in its own arrays. `columns` are those that it was read from. */
  deal(a: Answer, columns: [string | null, string]): Answer {
    const figures = new Dealt(() => this.share(a, a.bytes, columns[0]), () => this.share(a, a.blocks, columns[1]));
    const period = samplePeriod(this.profile);
    const counts = countsBlocks(a.question.figure);
    const { arrays } = a;
    return {
      question: a.question,
      arrays,
      get bytes() { return figures.bytes; },
      get blocks() { return figures.blocks; },
      get values() { return counts ? figures.blocks : figures.bytes; },
      variance: a.variance && (counts ? boundBlocks(figures.blocks, figures.bytes, period, arrays) : boundBytes(figures.bytes, period, arrays)),
      chosen: this.choose(a),
      whole: null,
      total: a.total,
      totalBytes: a.totalBytes,
      totalBlocks: a.totalBlocks,
      note: a.note,
      lost: a.lost,
    };
  }

  private choose(a: Answer): Uint8Array | null {
    let chosen: Uint8Array | null = null;
    if (a.chosen) {
      chosen = a.arrays.u8(this.siteOf.length);
      for (let row = 0; row < chosen.length; row++) chosen[row] = a.chosen[this.siteOf[row]!]!;
    }
    return chosen;
  }

  private share(a: Answer, by: Float64Array, column: string | null): Float64Array {
    const values = a.arrays.f64(this.siteOf.length);
    const part = column ? this.profile.pack.f64(`part.${column}`) : null;
    inRuns(values.length, shareRun, this, a, [by, part], values);
    return values;
  }
}

function shareRun(from: number, to: number, { profile, siteOf, partOf }: ByThread, { question, chosen }: Answer, [by, part]: [Float64Array, Float64Array | null], values: Float64Array): void {
  const { thread } = question;
  const threads = profile.pack.u32("part.thread");
  for (let row = from; row < to; row++) {
    const at = partOf[row]!;
    if (at < 0) values[row] = by[siteOf[row]!]!;
    else if (part && (!chosen || chosen[siteOf[row]!]) && (thread === null || threads[at] === thread)) values[row] = part[at]!;
  }
}

/** Each of the two when it is first asked for: trees go by one of them. */
class Dealt {
  private made: { bytes?: Float64Array; blocks?: Float64Array } = {};

  constructor(private readonly dealBytes: () => Float64Array, private readonly dealBlocks: () => Float64Array) {}

  get bytes(): Float64Array {
    return (this.made.bytes ??= this.dealBytes());
  }

  get blocks(): Float64Array {
    return (this.made.blocks ??= this.dealBlocks());
  }
}

/** Rows by their key, which is below `count`; those with the same stay in their order. */
function sortByCounting(rows: Uint32Array, keys: Uint32Array, count: number): Uint32Array {
  const starts = new Uint32Array(count + 1);
  for (let i = 0; i < rows.length; i++) starts[keys[rows[i]!]! + 1]!++;
  for (let key = 0; key < count; key++) starts[key + 1]! += starts[key]!;
  const sorted = new Uint32Array(rows.length);
  for (let i = 0; i < rows.length; i++) sorted[starts[keys[rows[i]!]!]!++] = rows[i]!;
  return sorted;
}

// names.ts -- functions' names: which of them have a text in them, and their order.
// SPDX-License-Identifier: Apache-2.0
//
// They are kept in one long text: to look through it takes a fifth of what tens of thousands of texts take.

import { NameOrder } from "./nameorder.ts";
import { finish, type Work } from "./stacks.ts";

const NAMES_A_STEP = 2000;

export class Names {
  private lower: string[] = []; // by frame: in small letters, of the first frame of each function; "" for the others
  private all = "";
  private readonly starts: Uint32Array; // by name: where it is in `all`; one after the last
  private readonly frames: Uint32Array; // by name
  private count = 0;
  private isRead = false;
  private order: NameOrder | null = null;

  /** `groups`: by frame, the first frame of the same function. */
  constructor(private readonly groups: Uint32Array, private readonly nameOf: (frame: number) => string) {
    this.starts = new Uint32Array(groups.length + 1);
    this.frames = new Uint32Array(groups.length);
  }

  /** A piece of what all else needs. */
  readonly reading: Work = { step: () => this.isRead || this.read() };

  private read(): boolean {
    const { lower, groups } = this;
    const end = Math.min(groups.length, lower.length + NAMES_A_STEP);
    for (let i = lower.length; i < end; i++) {
      const name = groups[i] === i ? this.nameOf(i).toLowerCase() : "";
      lower.push(name);
      if (!name) continue;
      this.frames[this.count++] = i;
      this.starts[this.count] = this.starts[this.count - 1]! + name.length + 1;
    }
    if (end < groups.length) return false;
    this.all = lower.filter(Boolean).join("\n");
    return (this.isRead = true);
  }

  readonly ordering: Work = { step: () => this.putInOrder() };

  private putInOrder(): boolean {
    if (!this.order) {
      finish(this.reading);
      this.order = new NameOrder(this.lower);
      this.lower = [];
    }
    return this.order.step();
  }

  /** By frame: the place of its function's name among all, whatever their case. */
  place(frame: number): number {
    if (!this.order?.places) finish(this.ordering);
    return this.order!.places![this.groups[frame]!]!;
  }

  /** 1 for every frame that has the text in its function's name, whatever its case. */
  find(text: string): Uint8Array {
    const hits = new Uint8Array(this.groups.length);
    const wanted = text.toLowerCase();
    if (!wanted) return hits;
    finish(this.reading);
    const { all, starts, frames, groups } = this;
    let name = 0;
    for (let at = all.indexOf(wanted); at >= 0; ) {
      while (starts[name + 1]! <= at) name++;
      const isWithin = at + wanted.length < starts[name + 1]!; // else it goes on in the next name
      if (isWithin) hits[frames[name]!] = 1;
      at = all.indexOf(wanted, isWithin ? starts[name + 1]! : at + 1);
    }
    for (let i = 0; i < hits.length; i++) hits[i] = hits[groups[i]!]!;
    return hits;
  }
}

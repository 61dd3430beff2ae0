// names.ts -- functions' names: which of them have a text in them, and their order.
// SPDX-License-Identifier: Apache-2.0
//
// They are kept in one long text: to look through it takes a fifth of what tens of thousands of texts take.

import { NameOrder } from "./nameorder.ts";
import { finish, type Work } from "./stacks.ts";

const NAMES_A_STEP = 2000;
const LETTERS_APART = 17; // of those that are counted

export class Names {
  private lower: string[] = []; // in small letters, as far as they are read; then they are in `all`
  private next = 0; // frame to be read
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
    const end = Math.min(groups.length, this.next + NAMES_A_STEP);
    for (let i = this.next; i < end; i++) {
      const name = groups[i] === i ? this.nameOf(i).toLowerCase() : "";
      if (!name) continue;
      lower.push(name);
      this.frames[this.count++] = i;
      this.starts[this.count] = this.starts[this.count - 1]! + name.length + 1;
    }
    this.next = end;
    if (end < groups.length) return false;
    this.all = lower.join("\n");
    this.lower = [];
    this.countLetters();
    return (this.isRead = true);
  }

  private readonly letters = new Uint32Array(0x100); // by the lower half of a letter: how many there are

  /** In some of the names, which are like the others. */
  private countLetters(): void {
    for (let i = 0; i < this.all.length; i += LETTERS_APART) this.letters[this.all.charCodeAt(i) & 0xff]!++;
  }

  /** Where in a text the letter is that fewest names have: a browser looks for the first letter of what it is to find, and
   * every place that has it takes as long as many that have not. */
  private rarest(text: string): number {
    const countAt = (i: number): number => this.letters[text.charCodeAt(i) & 0xff]!;
    let rarest = 0;
    for (let i = 1; i < text.length; i++) if (countAt(i) < countAt(rarest)) rarest = i;
    return rarest;
  }

  readonly ordering: Work = { step: () => this.putInOrder() };

  private putInOrder(): boolean {
    if (!this.order) {
      finish(this.reading);
      this.order = new NameOrder(this.split());
    }
    return this.order.step();
  }

  /** By frame: of the first of each function; "" for the others. */
  private split(): string[] {
    const names = new Array<string>(this.groups.length).fill("");
    for (let i = 0; i < this.count; i++) names[this.frames[i]!] = this.all.slice(this.starts[i]!, this.starts[i + 1]! - 1);
    return names;
  }

  private placed: Uint32Array | null = null;

  /** By frame: the place of its function's name among all, whatever their case. */
  places(): Uint32Array {
    if (this.placed) return this.placed;
    finish(this.ordering);
    const places = this.order!.places!;
    return (this.placed = this.groups.map((group) => places[group]!));
  }

  /** 1 for every frame that has the text in its function's name, whatever its case. */
  find(text: string): Uint8Array {
    const hits = new Uint8Array(this.groups.length);
    const wanted = text.toLowerCase();
    if (!wanted) return hits;
    finish(this.reading);
    const { all, starts, frames, groups } = this;
    const before = this.rarest(wanted);
    const rest = wanted.slice(before);
    let name = 0;
    for (let at = all.indexOf(rest, before); at >= 0; ) {
      const start = at - before;
      while (starts[name + 1]! <= start) name++;
      const isHit = start + wanted.length < starts[name + 1]! && all.startsWith(wanted, start); // else it goes on in the next name
      if (isHit) hits[frames[name]!] = 1;
      at = all.indexOf(rest, Math.max(at + 1, isHit ? starts[name + 1]! + before : 0));
    }
    for (let i = 0; i < hits.length; i++) hits[i] = hits[groups[i]!]!;
    return hits;
  }
}

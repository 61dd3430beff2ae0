// index.ts -- nodes of the stacks by what their frames are of: a function, a file.
// SPDX-License-Identifier: Apache-2.0

/** Numbers by key: those of key k are items[starts[k]] up to, not including, items[starts[k + 1]]. */
export class Index {
  private readonly starts: Uint32Array;
  private readonly items: Uint32Array;

  /** `frames` is by node, `keys` by frame. The root has no frame. */
  constructor(frames: Uint32Array, keys: Uint32Array) {
    let most = 0;
    for (let i = 0; i < keys.length; i++) if (keys[i]! > most) most = keys[i]!;
    const starts = (this.starts = new Uint32Array(most + 2));
    for (let node = 1; node < frames.length; node++) starts[keys[frames[node]!]! + 1]!++;
    for (let key = 0; key <= most; key++) starts[key + 1]! += starts[key]!;
    const items = (this.items = new Uint32Array(Math.max(0, frames.length - 1)));
    const next = starts.slice();
    for (let node = 1; node < frames.length; node++) items[next[keys[frames[node]!]!]!++] = node;
  }

  of(key: number): Uint32Array {
    return this.items.subarray(this.starts[key] ?? 0, this.starts[key + 1] ?? 0);
  }
}

// memory.ts -- the memory of answers that are forgotten, for the next ones. Each question makes several
// megabytes of arrays, and when some tens are garbage, a browser stops the page to collect them.
// SPDX-License-Identifier: Apache-2.0

const PAGE_BYTES = 4096; // arrays by site and by place, one longer, are of one size

/** What is free, of one profile: the arrays of its answers are of few sizes. */
export class Memory {
  private readonly free = new Map<number, ArrayBuffer[]>(); // by bytes

  /** At least so many bytes: all 0, or with `isFilled` whatever is in them. */
  take(bytes: number, isFilled: boolean): ArrayBuffer {
    const size = Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
    const used = this.free.get(size)?.pop();
    if (!used) return new ArrayBuffer(size);
    if (!isFilled) new Uint8Array(used).fill(0);
    return used;
  }

  giveBack(buffer: ArrayBuffer): void {
    const same = this.free.get(buffer.byteLength);
    if (same) same.push(buffer);
    else this.free.set(buffer.byteLength, [buffer]);
  }
}

/** The arrays of one answer and of all that is worked out of it: they are given back together, by the one who knows
 * that nobody looks at any of them any more (answers.ts).
 *
 * An array is a new one even where its memory is not: what is remembered by array is never another one's. */
export class Arrays {
  private taken: ArrayBuffer[] = [];

  constructor(private readonly memory: Memory) {}

  private take(bytes: number, isFilled = false): ArrayBuffer {
    const buffer = this.memory.take(bytes, isFilled);
    this.taken.push(buffer);
    return buffer;
  }

  f64(count: number): Float64Array {
    return new Float64Array(this.take(8 * count), 0, count);
  }

  /** For those who write all of it. */
  f64ToFill(count: number): Float64Array {
    return new Float64Array(this.take(8 * count, true), 0, count);
  }

  u32(count: number): Uint32Array {
    return new Uint32Array(this.take(4 * count), 0, count);
  }

  u32ToFill(count: number): Uint32Array {
    return new Uint32Array(this.take(4 * count, true), 0, count);
  }

  u16(count: number): Uint16Array {
    return new Uint16Array(this.take(2 * count), 0, count);
  }

  u8(count: number): Uint8Array {
    return new Uint8Array(this.take(count), 0, count);
  }

  u8ToFill(count: number): Uint8Array {
    return new Uint8Array(this.take(count, true), 0, count);
  }

  /** Whether it is one of these: the columns of a profile are not. */
  has(array: ArrayBufferView): boolean {
    return this.taken.includes(array.buffer as ArrayBuffer);
  }

  get bytes(): number {
    return this.taken.reduce((sum, buffer) => sum + buffer.byteLength, 0);
  }

  giveBack(): void {
    for (const buffer of this.taken) this.memory.giveBack(buffer);
    this.taken = [];
  }
}

/** Arrays for as long as a piece of work takes. What it returns must not be one of them. */
export function withArrays<T>(memory: Memory, work: (arrays: Arrays) => T): T {
  const arrays = new Arrays(memory);
  const result = work(arrays);
  arrays.giveBack();
  return result;
}

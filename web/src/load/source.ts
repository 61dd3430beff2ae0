// source.ts -- where the data comes from: out of the page itself, or from the server that sent it.
// SPDX-License-Identifier: Apache-2.0

import { Pack, readHeader, type Header } from "./pack.ts";

export interface ServerState {
  live: boolean;
  generation: number;
  old: boolean;
  sources: boolean;
}

/** Is told what the data says of itself before all of it is there. */
export type Hear = (header: Header) => Promise<void>;

/** Less than this is there in a moment: the header need not come first. */
const MUCH_BYTES = 2 << 20;
/** Of compressed data: headers are in there, unless they hold the lines of many sources. */
const BEGIN_BYTES = 192 << 10;

function inflate(bytes: Uint8Array, isAll = true): ReadableStream<Uint8Array> {
  const unpacked = new DecompressionStream("gzip");
  const writer = unpacked.writable.getWriter();
  // What is wrong with the data, the reader is told.
  writer.write(bytes as BufferSource).catch(() => {});
  if (isAll) writer.close().catch(() => {});
  return unpacked.readable as ReadableStream<Uint8Array>;
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.byteLength + b.byteLength);
  both.set(a);
  both.set(b, a.byteLength);
  return both;
}

/** The header of a pack that comes piece by piece, if it comes with the first megabyte. What is wrong with the data is told
 * when all of it is read. */
async function peek(pieces: ReadableStream<Uint8Array>): Promise<Header | null> {
  const reader = pieces.getReader();
  try {
    for (let begin: Uint8Array = new Uint8Array(0); begin.byteLength < 1 << 20;) {
      const { done, value } = await reader.read();
      if (done) return null;
      begin = join(begin, value);
      const read = readHeader(begin);
      if (read) return read.header;
    }
  } catch {
    // As above.
  } finally {
    reader.cancel().catch(() => {});
  }
  return null;
}

/** Newer browsers do it themselves, in a tenth of the time. */
const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;

function decodeBase64(text: string): Uint8Array {
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflateAll(digits: string): Promise<ArrayBuffer> {
  try {
    return await new Response(inflate(decodeBase64(digits))).arrayBuffer();
  } catch {
    // What browsers say is of fetching, or of a digit.
    throw new Error("the profile's data is damaged or cut off: write this page anew with midden html");
  }
}

/** The data that was put into the page; null if the page came from a server. */
async function loadEmbedded(id: string, hear?: Hear): Promise<Pack | null> {
  const element = document.getElementById(id);
  if (!element) return null;
  const digits = element.getAttribute("value") ?? "";
  element.remove(); // the text is as large as the data
  if (hear && digits.length > MUCH_BYTES) {
    // Streams go through all that they are given before anybody else's turn comes.
    const header = await peek(inflate(decodeBase64(digits.slice(0, (BEGIN_BYTES / 3) * 4)), false));
    if (header) await hear(header);
  }
  return new Pack(await inflateAll(digits));
}

async function loadSent(answer: Response, hear: Hear): Promise<Pack> {
  if (!answer.body || Number(answer.headers.get("Content-Length")) < MUCH_BYTES) return new Pack(await answer.arrayBuffer());
  const [begin, all] = answer.body.tee();
  const header = await peek(begin);
  if (header) await hear(header);
  return new Pack(await new Response(all).arrayBuffer());
}

/** What comes behind the script, which runs before it is there. */
async function loadLater(id: string): Promise<Pack | null> {
  if (document.readyState === "loading") await new Promise((go) => document.addEventListener("DOMContentLoaded", go, { once: true }));
  return loadEmbedded(id);
}

async function ask(path: string): Promise<Response> {
  const answer = await fetch(path, { credentials: "same-origin", cache: "no-store" });
  if (!answer.ok) throw new Error(`the server says ${answer.status} to ${path}`);
  return answer;
}

/** One profile, or two to compare, and how to ask for more. */
export class Source {
  private constructor(
    readonly embedded: boolean,
    public pack: Pack,
    private readonly hasOld: boolean, // embedded: unknown
    readonly hasSources: boolean,
  ) {}

  static async open(hear: Hear): Promise<Source> {
    const own = await loadEmbedded("midden-data", hear);
    if (own) return new Source(true, own, true, own.header.lines !== null);
    const state = (await (await ask("state")).json()) as ServerState;
    return new Source(false, await loadSent(await ask("data"), hear), state.old, state.sources);
  }

  /** The profile to compare with; null if there is none. To be asked for once. */
  async loadOld(): Promise<Pack | null> {
    if (this.embedded) return loadLater("midden-old");
    return this.hasOld ? new Pack(await (await ask("old")).arrayBuffer()) : null;
  }

  /** The next state of a program that is still running; null if there is nothing new. */
  async refresh(): Promise<Pack | null> {
    if (this.embedded || !this.pack.header.live) return null;
    const state = (await (await ask("state")).json()) as ServerState;
    if (state.generation === this.pack.header.generation && state.live) return null;
    this.pack = new Pack(await (await ask("data")).arrayBuffer());
    return this.pack;
  }

  /** Whether it is worth asking for a source file: that there is one, only the server can say. */
  mayHave(path: string): boolean {
    if (this.embedded) return this.pack.header.lines?.files[path] !== undefined;
    return this.hasSources && !path.startsWith("<"); // what an interpreter was given without a file
  }

  /** Lines of a source file by number; null if it cannot be had. `frame` is one that has it. */
  async lines(path: string, frame: number): Promise<Map<number, string> | null> {
    const known = this.pack.header.lines?.files[path];
    if (known) {
      const lines = new Map<number, string>();
      for (const run of known) run.slice(1).forEach((line, i) => lines.set((run[0] as number) + i, line as string));
      return lines;
    }
    if (this.embedded || !this.hasSources) return null;
    try {
      const whole = await (await ask(`source?frame=${frame}`)).text();
      return new Map(whole.split("\n").map((line, i) => [i + 1, line]));
    } catch {
      return null;
    }
  }
}

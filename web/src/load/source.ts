// source.ts -- where the data comes from: out of the page itself, or from the server that sent it.
// SPDX-License-Identifier: Apache-2.0

import { Pack } from "./pack.ts";

export interface ServerState {
  live: boolean;
  generation: number;
  old: boolean;
  sources: boolean;
}

function inflate(bytes: Uint8Array): Promise<ArrayBuffer> {
  const unpacked = new DecompressionStream("gzip");
  const writer = unpacked.writable.getWriter();
  // What is wrong with the data, the reader is told.
  writer.write(bytes as BufferSource).catch(() => {});
  writer.close().catch(() => {});
  return new Response(unpacked.readable).arrayBuffer();
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

/** The data that was put into the page; null if the page came from a server. */
async function loadEmbedded(id: string): Promise<Pack | null> {
  const element = document.getElementById(id);
  if (!element) return null;
  const bytes = decodeBase64(element.getAttribute("value") ?? "");
  element.remove(); // the text is as large as the data
  return new Pack(await inflate(bytes));
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

  static async open(): Promise<Source> {
    const own = await loadEmbedded("midden-data");
    if (own) return new Source(true, own, true, own.header.lines !== null);
    const state = (await (await ask("state")).json()) as ServerState;
    return new Source(false, new Pack(await (await ask("data")).arrayBuffer()), state.old, state.sources);
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

// lines.ts -- what a figure comes to by source file and line.
// SPDX-License-Identifier: Apache-2.0

import type { Answer } from "./question.ts";
import type { Profile } from "./profile.ts";

export interface LineFigures {
  self: number; // of stacks that end in this line
  total: number; // of stacks that go through it, each once
  frame: number; // one that is there
}

/** By line number, for one file (a text's number). Line 0: where the line is not known. */
export function linesOf(p: Profile, a: Answer, file: number): Map<number, LineFigures> {
  const lines = new Map<number, LineFigures>();
  const seen = new Map<number, number>();
  for (let site = 0; site < p.siteCount; site++) {
    const value = a.values[site]!;
    if (value === 0) continue;
    const end = p.stackStarts[site + 1]!;
    for (let i = p.stackStarts[site]!; i < end; i++) {
      const frame = p.stackFrames[i]!;
      if (p.frameFile[frame] !== file) continue;
      const line = p.frameLine[frame]!;
      let f = lines.get(line);
      if (!f) lines.set(line, (f = { self: 0, total: 0, frame }));
      if (seen.get(line) !== site) f.total += value;
      seen.set(line, site);
      if (i === end - 1) f.self += value;
    }
  }
  return lines;
}

export interface FileFigures {
  file: number;
  self: number;
  total: number;
}

/** Every source file, the one that allocates most itself first. */
export function allFiles(p: Profile, a: Answer): FileFigures[] {
  const most = p.frameFile.reduce((x, y) => Math.max(x, y), 0);
  const self = new Float64Array(most + 1);
  const total = new Float64Array(most + 1);
  const seen = new Int32Array(most + 1).fill(-1);
  const { stackStarts, stackFrames, frameFile } = p;
  for (let site = 0; site < p.siteCount; site++) {
    const value = a.values[site]!;
    if (value === 0) continue;
    const end = stackStarts[site + 1]!;
    for (let i = stackStarts[site]!; i < end; i++) {
      const file = frameFile[stackFrames[i]!]!;
      if (seen[file] === site) continue;
      seen[file] = site;
      total[file]! += value;
    }
    if (end > stackStarts[site]!) self[frameFile[stackFrames[end - 1]!]!]! += value;
  }
  const files: FileFigures[] = [];
  for (let file = 1; file <= most; file++) if (seen[file]! >= 0) files.push({ file, self: self[file]!, total: total[file]! });
  return files.sort((x, y) => Math.abs(y.self) - Math.abs(x.self) || Math.abs(y.total) - Math.abs(x.total));
}

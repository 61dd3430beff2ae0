// opened.ts -- rows that the user has opened: they stay open when their list is made anew, as it is every second while a
// program runs.
// SPDX-License-Identifier: Apache-2.0

import type { Profile } from "../model/profile.ts";

/** What a stack is known by in the next profile, in which its site and its frames may have other numbers. */
export function stackKey(p: Profile, site: number): string {
  return p.stack(site).map((frame) => `${p.functionName(frame)}\n${p.modulePath(frame)}\n${p.place(frame)}`).join("\n\n");
}

/** What a place in the program is known by; of stacks without one, that there is none. */
export function placeKey(p: Profile, frame: number): string {
  return frame < p.frameCount ? `at ${p.functionName(frame)}\n${p.modulePath(frame)}\n${p.place(frame)}` : "";
}

/** What a function is known by. */
export function functionKey(p: Profile, frame: number): string {
  return `${p.functionName(frame)}\n${p.modulePath(frame)}`;
}

export class Opened {
  private readonly keys = new Set<string>();

  /** A new row: it is open if the one with the same key was. `fill` puts in what only an open one has; it is called once. */
  follow(row: HTMLElement, key: () => string, fill: () => void): void {
    const details = row as HTMLDetailsElement;
    let [isFilled, isOpen] = [false, false];
    const show = (): void => {
      if (details.open && !isFilled) fill();
      isFilled ||= details.open;
    };
    if (this.keys.size && this.keys.has(key())) details.open = true;
    show();
    isOpen = details.open;
    details.addEventListener("toggle", () => {
      show();
      if (details.open === isOpen) return; // it was made so, and told later
      isOpen = details.open;
      if (isOpen) this.keys.add(key());
      else this.keys.delete(key());
    });
  }
}

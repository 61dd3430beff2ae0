// idle.ts -- work that is done ahead, in pieces, while the user looks at what is there.
// SPDX-License-Identifier: Apache-2.0

import type { Work } from "./model/stacks.ts";

const PIECE_MS = 12; // less than a frame, so that nothing the user does has to wait

/** One work after the other, in their order. */
export function doWhenIdle(works: Work[]): void {
  const waiting = [...works];
  const ask = (): void => {
    if ("requestIdleCallback" in window) requestIdleCallback(go);
    else setTimeout(go, 50);
  };
  const go = (): void => {
    const end = performance.now() + PIECE_MS;
    while (waiting.length && performance.now() < end) if (waiting[0]!.step()) waiting.shift();
    document.documentElement.toggleAttribute("data-ready", !waiting.length);
    if (waiting.length) ask();
  };
  ask();
}

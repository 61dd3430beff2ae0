// idle.ts -- work that is done ahead, in pieces, while the user looks at what is there.
// SPDX-License-Identifier: Apache-2.0

import type { Work } from "./model/stacks.ts";

const PIECE_MS = 12; // less than a frame, so that nothing the user does has to wait

/** One work after the other, in their order; then `done`. */
export function doWhenIdle(works: Work[], done: () => void = () => {}): void {
  const waiting = [...works];
  const ask = (): void => {
    if ("requestIdleCallback" in window) requestIdleCallback(go);
    else setTimeout(go, 50);
  };
  const go = (): void => {
    const end = performance.now() + PIECE_MS;
    while (waiting.length && performance.now() < end) if (waiting[0]!.step()) waiting.shift();
    if (waiting.length) ask();
    else done();
  };
  ask();
}

const AT_ONCE = 20; // children: more than are in sight
const A_STEP = 10;

/** Children of an element of which the first are there at once, the others a moment later. Who empties the element is left in peace. */
export function appendInPieces(element: Element, count: number, make: (i: number) => Element, atOnce = AT_ONCE): void {
  let next = 0;
  const add = (more: number): boolean => {
    for (const end = Math.min(count, next + more); next < end; next++) element.append(make(next));
    return next >= count;
  };
  if (!add(atOnce)) doWhenIdle([{ step: () => element.childElementCount < next || add(A_STEP) }]);
}

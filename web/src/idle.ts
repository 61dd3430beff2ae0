// idle.ts -- work that is done ahead, in pieces, while the user looks at what is there.
// SPDX-License-Identifier: Apache-2.0

import type { Work } from "./model/stacks.ts";

const PIECE_MS = 12; // less than a frame, so that nothing the user does has to wait
const SEEN_MS = 200;
const LATEST_MS = 2000; // a browser that is never idle gets to it nevertheless

function whenIdle(go: () => void): void {
  if (!("requestIdleCallback" in window)) return void setTimeout(go, 50);
  const request = requestIdleCallback(() => (clearTimeout(waited), go()), { timeout: LATEST_MS });
  // Chromium has been seen to forget a request, time limit and all.
  const waited = setTimeout(() => (cancelIdleCallback(request), go()), 2 * LATEST_MS);
}

export function idle(): Promise<void> {
  return new Promise(whenIdle);
}

/** What is in the document now is on the screen; soon enough also where there is none, as in a page behind others. */
export function seen(): Promise<void> {
  return new Promise((go) => {
    requestAnimationFrame(() => setTimeout(go));
    setTimeout(go, SEEN_MS);
  });
}

/** One work after the other, in their order; then `done`. */
export function doWhenIdle(works: Work[], done: () => void = () => {}): void {
  const waiting = [...works];
  const go = (): void => {
    const end = performance.now() + PIECE_MS;
    while (waiting.length && performance.now() < end) if (waiting[0]!.step()) waiting.shift();
    if (waiting.length) whenIdle(go);
    else done();
  };
  whenIdle(go);
}

/** Has the browser collect the garbage of loading now. It does so when enough has been made since it last did, and that
 * would be in the middle of a click. Nobody writes to this memory: a system gives it only when it is written to. */
export function provokeCollection(bytes: number): Work[] {
  const made: ArrayBuffer[] = [];
  const make = (): void => {
    try {
      made.push(new ArrayBuffer(bytes));
    } catch {
      // There is not as much: then the garbage is collected when its time comes.
    }
  };
  return [{ step: () => (make(), true) }, { step: () => ((made.length = 0), true) }];
}

const AT_ONCE = 20; // children: more than are in sight
const A_STEP = 10;
const BEGIN_MS = 250; // who goes on at once does not wait for what nobody has looked at
const BETWEEN_MS = 30; // for the browser to lay a piece out

/** When the user has looked at what is there for so long. */
export function whenIdleAfter(ms: number, go: () => void): void {
  setTimeout(() => whenIdle(go), ms);
}

/** What is still to be added: on paper there is no later. */
const unfinished = new Set<() => void>();
window.addEventListener("beforeprint", () => unfinished.forEach((finish) => finish()));

/** Calls it before the page is printed, unless it is told to forget that. */
export function whenPrinted(go: () => void): () => void {
  unfinished.add(go);
  return () => void unfinished.delete(go);
}

/** Neither in sight nor in a page that may come back: something else is in its place. */
function isDropped(element: Element): boolean {
  const root = element.getRootNode();
  return root !== document && !(root as Element).hasAttribute?.("data-page");
}

/** Children of an element of which the first are there at once, the others a moment later. It ends when the element is
 * emptied or no longer part of a page. */
export function appendInPieces(element: Element, count: number, make: (i: number) => Element, atOnce = AT_ONCE): void {
  let next = 0;
  const add = (more: number): boolean => {
    for (const end = Math.min(count, next + more); next < end; next++) element.append(make(next));
    return next >= count;
  };
  if (add(atOnce)) return;
  const finish = (): void => step(count);
  const step = (more: number): void => {
    if (element.childElementCount < next || isDropped(element) || add(more)) unfinished.delete(finish);
    else wait(BETWEEN_MS);
  };
  const wait = (ms: number): void => void setTimeout(() => unfinished.has(finish) && whenIdle(() => step(A_STEP)), ms);
  unfinished.add(finish);
  wait(BEGIN_MS);
}

/** A list that is filled in pieces, and is empty while its page is out of sight: what comes back has to be laid out, and
 * most of it is not in sight. Its children stay what they are. */
export class List {
  readonly element = document.createElement("div");
  private readonly made: Element[] = [];

  constructor(private readonly count: number, private readonly make: (i: number) => Element) {
    this.fill();
  }

  fill(): void {
    if (this.element.firstChild) return;
    const inner = document.createElement("div"); // another one each time: who still fills the last one ends
    appendInPieces(inner, this.count, (i) => (this.made[i] ??= this.make(i)));
    this.element.append(inner);
  }

  empty(): void {
    this.element.replaceChildren();
  }
}

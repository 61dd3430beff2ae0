// app.ts -- the frame around the pages: navigation, the question at hand, and who is told when it
// changes.
// SPDX-License-Identifier: Apache-2.0

import { Source } from "./load/source.ts";
import { BottomUp } from "./model/bottomup.ts";
import type { CallTree } from "./model/calltree.ts";
import { carryState } from "./model/next.ts";
import { Profile } from "./model/profile.ts";
import { answer, COLUMNS, figuresOf, isOfPages, isTimed, type Answer, type Question } from "./model/question.ts";
import type { Work } from "./model/stacks.ts";
import { TopDown } from "./model/topdown.ts";
import { Union } from "./model/union.ts";
import { FIRST_STATE, parseState, printState, tidyState, type State } from "./state.ts";

export interface View {
  id: string;
  title: string;
  /** That leads to it from everywhere; help.ts has the others. */
  key: string;
  /** It shows the whole recording, whatever range is chosen. */
  isOfAll?: boolean;
  /** Left out of the navigation if it has nothing to show. */
  isPossible?(app: App): boolean;
  /** Called once; the view keeps its element. */
  create(app: App): ViewInstance;
}

export interface ViewInstance {
  element: HTMLElement;
  /** The state or the profile has changed. Called only while the view is shown. */
  update(): void;
  /** What can be worked out before the view is shown, `width` pixels wide. */
  prepare?(width: number): Work[];
}

/** Everything the views share. */
export class App {
  /** What was allocated. */
  blocks: Profile;
  readonly old: Profile | null;
  state: State;
  onChange: () => void = () => {};
  private answers = new Map<string, Answer>();
  private trees = new Map<string, CallTree>();
  private both: Union | null = null;

  constructor(readonly source: Source) {
    this.blocks = new Profile(source.pack);
    this.old = source.old ? new Profile(source.old) : null;
    this.state = parseState(location.hash);
    this.clampRange();
    window.addEventListener("hashchange", () => this.readAddress());
  }

  private mapped: Profile | null = null;

  /** What the program mapped itself; null if that was not recorded. Made when it is first asked for. */
  get maps(): Profile | null {
    if (this.hasMaps) this.mapped ??= new Profile(this.blocks.pack.ofMaps()!, this.blocks);
    return this.mapped;
  }

  get hasMaps(): boolean {
    return this.blocks.pack.has("map.node");
  }

  /** What the page at hand is about. */
  get profile(): Profile {
    return (this.state.maps && this.maps) || this.blocks;
  }

  /** Changes what is looked at. `remember` false: the step back passes over it. */
  go(change: Partial<State>, remember = true): void {
    this.state = this.next(change);
    const address = printState(this.state);
    if (address !== location.hash) history[remember ? "pushState" : "replaceState"](null, "", address);
    this.onChange();
  }

  /** The address of what would be looked at. */
  link(change: Partial<State>): string {
    return printState(this.next(change));
  }

  /** What is meant for maps is not for blocks, and the other way round: figures of one are none of the other. */
  private next(change: Partial<State>): State {
    const s = tidyState({ ...this.state, ...change });
    const of = (s.maps && this.maps) || this.blocks;
    return figuresOf(of).includes(s.figure) ? s : { ...s, figure: FIRST_STATE.figure };
  }

  reset(page: string): void {
    this.go({ ...FIRST_STATE, page });
  }

  /** A program that is still running has gone on. */
  replaceProfile(profile: Profile): void {
    this.state = carryState(this.state, this.blocks, profile);
    if (printState(this.state) !== location.hash && location.hash) history.replaceState(null, "", printState(this.state));
    this.blocks = profile;
    this.mapped = null;
    this.answers.clear();
    this.trees.clear();
    this.clampRange();
    this.onChange();
  }

  private readAddress(): void {
    this.state = parseState(location.hash);
    this.clampRange();
    this.onChange();
  }

  private clampRange(): void {
    const last = this.blocks.pack.f64("point.time_ns").length - 1;
    if (this.state.to > last || this.state.from > last) this.state = { ...this.state, from: -1, to: -1 };
  }

  question(change: Partial<Question> = {}): Question {
    const s = this.state;
    return {
      figure: s.figure,
      range: s.from >= 0 && this.profile === this.blocks ? { from: s.from, to: s.to } : null,
      thread: this.profile === this.blocks ? s.thread || null : null,
      functions: s.functions,
      module: s.module,
      look: isOfPages(s.figure) ? s.look : -1,
      maps: this.hasMaps ? s.maps : "",
      ...change,
    };
  }

  /** Remembered: pages ask the same over and over. */
  answer(q: Question = this.question()): Answer {
    return remember(this.answers, JSON.stringify(q), () => answer(this.profile, q));
  }

  /** The profile's stacks, all of them and apart. */
  tree(): CallTree {
    return this.makeTree(false, false);
  }

  /** As `tree`, with calls to itself folded and threads told apart if that is wanted. */
  shapedTree(): CallTree {
    return this.makeTree(this.state.fold, this.state.byThread && this.profile === this.blocks);
  }

  private makeTree(fold: boolean, byThread: boolean): CallTree {
    const { inverted } = this.state;
    const by = this.state.byLine ? "line" : "function";
    const q = this.question();
    const key = `${inverted} ${by} ${fold} ${byThread} ${JSON.stringify(q)}`;
    return remember(this.trees, key, () => {
      const threads = byThread ? this.profile.byThread(isTimed(q)) : null;
      const a = threads ? threads.deal(this.answer(q), COLUMNS[q.figure] ?? [null, "allocations"]) : this.answer(q);
      return inverted ? new BottomUp(this.profile.reversed(by, fold), a, threads) : new TopDown(this.profile.shape(by, fold), a, threads);
    });
  }

  /** The two profiles side by side; only if there is one to compare with. */
  union(): Union {
    if (this.both?.now !== this.blocks) this.both = new Union(this.blocks, this.old!);
    return this.both;
  }

  /** What pages will ask for, in the order in which they are likely to. */
  preparations(): Work[] {
    const profile = this.blocks;
    const isStill = (work: Work): Work => ({ step: () => profile !== this.blocks || work.step() });
    const more: Work[] = this.old ? [{ step: () => this.union().step() }] : [];
    if (this.hasMaps) more.push({ step: () => this.maps!.stepShape() });
    return [...profile.preparations(), ...more, ...rehearsals(profile)].map(isStill);
  }

  /** What a frame of a tree is called: a function, or the thread that stands for one. */
  nameOf(frame: number): string {
    return frame < this.profile.frameCount ? this.profile.functionName(frame) : this.profile.threadName(frame - this.profile.frameCount);
  }
}

/** Asks ahead, and forgets the answers: what has run once is compiled, and on a busy machine that is half of what the
 * first question of a kind takes. */
function rehearsals(p: Profile): Work[] {
  const all: Question = { figure: "peak", range: null, thread: null, functions: "", module: "" };
  const last = p.pack.f64("point.time_ns").length - 1;
  const questions: Question[] = [{ ...all, functions: "a" }];
  if (last > 0) questions.push({ ...all, figure: "growth", range: { from: last >> 1, to: last } });
  return questions.flatMap((q) => {
    let a: Answer;
    return [{ step: () => Boolean((a = answer(p, q))) }, { step: () => Boolean(new TopDown(p.shape("function", false), a)) }];
  });
}

const REMEMBERED = 8;

function remember<T>(known: Map<string, T>, key: string, make: () => T): T {
  let value = known.get(key);
  if (value === undefined) {
    value = make();
    if (known.size >= REMEMBERED) known.delete(known.keys().next().value as string);
    known.set(key, value);
  }
  return value;
}

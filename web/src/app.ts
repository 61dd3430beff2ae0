// app.ts -- the frame around the pages: navigation, the question at hand, and who is told when it
// changes.
// SPDX-License-Identifier: Apache-2.0

import { Source } from "./load/source.ts";
import { CallTree, type Stacks } from "./model/calltree.ts";
import { carryState } from "./model/next.ts";
import { Profile } from "./model/profile.ts";
import { answer, COLUMNS, type Answer, type Question } from "./model/question.ts";
import { ByThread, foldRecursion } from "./model/stacks.ts";
import { FIRST_STATE, parseState, printState, type State } from "./state.ts";

export interface View {
  id: string;
  title: string;
  /** Left out of the navigation if it has nothing to show. */
  isPossible?(app: App): boolean;
  /** Called once; the view keeps its element. */
  create(app: App): ViewInstance;
}

export interface ViewInstance {
  element: HTMLElement;
  /** The state or the profile has changed. Called only while the view is shown. */
  update(): void;
}

/** Everything the views share. */
export class App {
  profile: Profile;
  readonly old: Profile | null;
  state: State;
  onChange: () => void = () => {};
  private answers = new Map<string, Answer>();
  private trees = new Map<string, CallTree>();
  private folded: Stacks | null = null;

  constructor(readonly source: Source) {
    this.profile = new Profile(source.pack);
    this.old = source.old ? new Profile(source.old) : null;
    this.state = parseState(location.hash);
    this.clampRange();
    window.addEventListener("hashchange", () => this.readAddress());
  }

  /** Changes what is looked at. `remember` false: the step back passes over it. */
  go(change: Partial<State>, remember = true): void {
    this.state = { ...this.state, ...change };
    const address = printState(this.state);
    if (address !== location.hash) history[remember ? "pushState" : "replaceState"](null, "", address);
    this.onChange();
  }

  /** The address of what would be looked at. */
  link(change: Partial<State>): string {
    return printState({ ...this.state, ...change });
  }

  reset(page: string): void {
    this.go({ ...FIRST_STATE, page });
  }

  /** A program that is still running has gone on. */
  replaceProfile(profile: Profile): void {
    this.state = carryState(this.state, this.profile, profile);
    if (printState(this.state) !== location.hash && location.hash) history.replaceState(null, "", printState(this.state));
    this.profile = profile;
    this.answers.clear();
    this.trees.clear();
    this.folded = null;
    this.clampRange();
    this.onChange();
  }

  private readAddress(): void {
    this.state = parseState(location.hash);
    this.clampRange();
    this.onChange();
  }

  private clampRange(): void {
    const last = this.profile.pack.f64("point.time_ns").length - 1;
    if (this.state.to > last || this.state.from > last) this.state = { ...this.state, from: -1, to: -1 };
  }

  question(change: Partial<Question> = {}): Question {
    const s = this.state;
    return {
      figure: s.figure,
      range: s.from >= 0 ? { from: s.from, to: s.to } : null,
      thread: s.thread || null,
      functions: s.functions,
      module: s.module,
      ...change,
    };
  }

  /** Remembered: pages ask the same over and over. */
  answer(q: Question = this.question()): Answer {
    return remember(this.answers, JSON.stringify(q), () => answer(this.profile, q));
  }

  tree(inverted = this.state.inverted, q: Question = this.question()): CallTree {
    const by = this.state.byLine ? "line" : "function";
    const key = `${inverted} ${by} ${JSON.stringify(q)}`;
    return remember(this.trees, key, () => new CallTree(this.profile, this.answer(q), inverted, by));
  }

  /** As `tree`, with calls to itself folded and threads told apart if that is wanted. */
  shapedTree(): CallTree {
    const { inverted, byLine, fold, byThread } = this.state;
    if (!fold && !byThread) return this.tree();
    const q = this.question();
    const key = `${inverted} ${byLine} ${fold} ${byThread} ${JSON.stringify(q)}`;
    return remember(this.trees, key, () => {
      const stacks = fold ? (this.folded ??= foldRecursion(this.profile)) : this.profile;
      const by = byLine ? "line" : "function";
      if (!byThread) return new CallTree(stacks, this.answer(q), inverted, by);
      const threads = new ByThread(this.profile, stacks, inverted, q);
      return new CallTree(threads, threads.deal(this.answer(q), COLUMNS[q.figure] ?? [null, "allocations"]), inverted, by);
    });
  }

  /** What a frame of a tree is called: a function, or the thread that stands for one. */
  nameOf(frame: number): string {
    return frame < this.profile.frameCount ? this.profile.functionName(frame) : this.profile.threadName(frame - this.profile.frameCount);
  }
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

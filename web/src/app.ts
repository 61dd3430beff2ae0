// app.ts -- the frame around the pages: navigation, the question at hand, and who is told when it
// changes.
// SPDX-License-Identifier: Apache-2.0

import { Source } from "./load/source.ts";
import { Answers } from "./model/answers.ts";
import type { CallTree } from "./model/calltree.ts";
import { carryState } from "./model/next.ts";
import { Profile } from "./model/profile.ts";
import { figuresOf, isOfPages, isTimed, pointsOf, type Answer, type Question, type Range } from "./model/question.ts";
import { comparisons, rehearsals } from "./model/rehearsals.ts";
import type { Work } from "./model/stacks.ts";
import { Union } from "./model/union.ts";
import { FIRST_STATE, parseState, printState, tidyState, type State } from "./state.ts";

export interface View {
  id: string;
  title: string;
  /** That leads to it from everywhere; help.ts has the others. */
  key: string;
  /** It shows the whole recording, whatever range is chosen; or in words, what it shows. */
  isOfAll?: boolean | ((app: App) => boolean | string);
  /** It has something to show, too, where blocks were counted by tag alone, without stacks or a peak. */
  isOfTags?: boolean;
  /** Left out of the navigation if it has nothing to show. */
  isPossible?(app: App): boolean;
  /** Called once; the view keeps its element. */
  create(app: App): ViewInstance;
}

export interface ViewInstance {
  element: HTMLElement;
  /** The state or the profile has changed. Called only while the view is shown. */
  update(): void;
  /** Another page takes its place. */
  leave?(): void;
  /** What can be worked out before the view is shown, `width` pixels wide. */
  prepare?(width: number): Work[];
}

/** Everything the views share. */
export class App {
  /** What was allocated. */
  blocks: Profile;
  /** What it is compared with, once that is there. */
  old: Profile | null = null;
  state: State;
  onChange: () => void = () => {};
  private readonly answers = new Answers();
  /** The address that the state is of. */
  private address = location.hash;
  private both: Union | null = null;

  constructor(readonly source: Source) {
    this.blocks = new Profile(source.pack);
    this.state = parseState(location.hash);
    // The first comes at once where one follows a link, the other only after the next picture; where the first does not come, the other does.
    window.addEventListener("popstate", () => this.readAddress());
    window.addEventListener("hashchange", () => this.readAddress());
  }

  async loadOld(): Promise<void> {
    const pack = await this.source.loadOld();
    if (pack) this.old = new Profile(pack);
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
    this.address = location.hash;
    this.onChange();
  }

  /** The address of what would be looked at. */
  link(change: Partial<State>): string {
    return printState(this.next(change));
  }

  /** What is meant for maps is not for blocks, and the other way round: figures of one are none of the other. Which look
   * at the heap's pages was chosen holds for as long as the range does. */
  private next(change: Partial<State>): State {
    const s = tidyState({ ...this.state, ...change });
    if (change.look === undefined && (s.from !== this.state.from || s.to !== this.state.to)) s.look = FIRST_STATE.look; // that of the range
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
    this.address = location.hash;
    this.blocks = profile;
    this.mapped = null;
    this.answers.clear();
    this.onChange();
  }

  private readAddress(): void {
    if (location.hash === this.address) return;
    this.address = location.hash;
    this.state = parseState(location.hash);
    this.onChange();
  }

  /** What was chosen on the time line, as points of the profile at hand; null: the whole recording. */
  get range(): Range | null {
    const { from, to } = this.state;
    return from < 0 ? null : pointsOf(this.blocks, from, to);
  }

  /** The change of state that chooses points of the time line: one of them, or all from it to another. */
  choice(point: number, to = point): Pick<State, "from" | "to"> {
    const times = this.blocks.pack.f64("point.time_ns");
    return { from: times[point]!, to: times[to]! };
  }

  /** Of a thread only where threads are told apart. */
  question(change: Partial<Question> = {}): Question {
    const s = this.state;
    const q: Question = {
      figure: s.figure,
      range: this.profile === this.blocks ? this.range : null,
      thread: this.profile === this.blocks ? s.thread || null : null,
      functions: s.functions,
      module: s.module,
      look: isOfPages(s.figure) ? s.look : -1,
      maps: this.hasMaps ? s.maps : "",
      ...change,
    };
    return isTimed(q) ? { ...q, thread: null } : q;
  }

  /** Remembered: pages ask the same over and over. To be asked for again whenever the page is shown or changed: its
   * memory is used anew when others have been asked for. */
  answer(q: Question = this.question()): Answer {
    return this.answers.of(this.profile, q);
  }

  /** The profile's stacks, all of them and apart. As `answer`: not to be kept. */
  tree(): CallTree {
    return this.makeTree(false, false);
  }

  /** As `tree`, with calls to itself folded and threads told apart if that is wanted. */
  shapedTree(): CallTree {
    return this.makeTree(this.state.fold, this.state.byThread && this.profile === this.blocks);
  }

  private makeTree(fold: boolean, byThread: boolean): CallTree {
    const { inverted, byLine } = this.state;
    return this.answers.tree(this.profile, this.question(), { inverted, by: byLine ? "line" : "function", fold, byThread });
  }

  /** The two profiles side by side; only if there is one to compare with. */
  union(): Union {
    if (this.both?.now !== this.blocks) this.both = new Union(this.blocks, this.old!);
    return this.both;
  }

  /** What pages will ask for, in the order in which they are likely to. */
  preparations(): Work[] {
    const more: Work[] = this.old ? [{ step: () => this.union().step() }, ...this.old.filterPreparations()] : [];
    if (this.hasMaps) more.push({ step: () => this.maps!.stepShape() });
    return this.whileItIs([...this.blocks.preparations(), ...more]);
  }

  /** When that is there. */
  rehearsals(): Work[] {
    const unfolding = [this.blocks, this.old].flatMap((profile) => (profile ? [{ step: () => profile.pack.unfoldNext() }] : []));
    return this.whileItIs([...unfolding, ...(this.old ? comparisons(() => this.union()) : []), ...rehearsals(this.blocks)]);
  }

  /** Of this profile: when there is another, it is over. */
  private whileItIs(works: Work[]): Work[] {
    const profile = this.blocks;
    return works.map((work) => ({ step: () => profile !== this.blocks || work.step() }));
  }

  /** What a frame of a tree is called: a function, or the thread that stands for one. */
  nameOf(frame: number): string {
    return frame < this.profile.frameCount ? this.profile.functionName(frame) : this.profile.threadName(frame - this.profile.frameCount);
  }
}

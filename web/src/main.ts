// main.ts -- starts the page.
// SPDX-License-Identifier: Apache-2.0

import "./style.css";
import { App, type View, type ViewInstance } from "./app.ts";
import { clear, h } from "./draw/dom.ts";
import { formatTime } from "./draw/format.ts";
import { doWhenIdle, idle, provokeCollection, seen } from "./idle.ts";
import { countsTags, type Header } from "./load/pack.ts";
import { Source } from "./load/source.ts";
import { Profile } from "./model/profile.ts";
import { callers } from "./views/callers.ts";
import { rangeText, wholeButton } from "./views/controls.ts";
import { compare } from "./views/compare.ts";
import { flame } from "./views/flame.ts";
import { makeHelp } from "./views/help.ts";
import { globals } from "./views/globals.ts";
import { leaks } from "./views/leaks.ts";
import { maps } from "./views/maps.ts";
import { mergeNote } from "./views/merged.ts";
import { beginOverview, overview } from "./views/overview.ts";
import { resident } from "./views/resident.ts";
import { sizes } from "./views/sizes.ts";
import { source } from "./views/source.ts";
import { table } from "./views/table.ts";
import { threads } from "./views/threads.ts";
import { timeline } from "./views/timeline.ts";
import { samplingNote } from "./views/within.ts";
import { parseState, printState, tidyState, type State } from "./state.ts";

const VIEWS: View[] = [overview, timeline, flame, table, callers, source, sizes, threads, leaks, resident, maps, globals, compare];

/** What Escape leaves, by page, wherever the keyboard is. */
const LEAVING: Record<string, Partial<State>> = { [flame.id]: { zoom: [] }, [compare.id]: { pair: [] }, [sizes.id]: { cell: "" } };

const REFRESH_MS = 1000;
/** By the size of the data: 200 MB of 200,000 stacks. Of a third of that Chromium takes no notice. */
const PROVOKING = 2.7;

/** Escape in a search box: the first empties it, the next leaves it to the page's keys. */
function leaveSearch(box: HTMLInputElement): void {
  if (!box.value) return box.blur();
  box.value = "";
  for (const event of ["input", "change"]) box.dispatchEvent(new Event(event));
}

/** Keys that work on every page, unless one is typing or reads the help. */
function listenForKeys(app: App, shown: () => View[], help: () => void): void {
  const search = (): void => {
    if (!document.querySelector(".page-search")) app.go({ page: "flame" });
    document.querySelector<HTMLElement>(".page-search")?.focus();
  };
  const turn = (step: number): void => {
    const views = shown();
    const at = views.findIndex((v) => v.id === app.state.page);
    app.go({ page: views[(Math.max(at, 0) + step + views.length) % views.length]!.id });
  };
  const others: Record<string, () => void> = {
    "/": search,
    "[": () => turn(-1),
    "]": () => turn(1),
    i: () => app.go({ inverted: !app.state.inverted, zoom: [], pair: [] }),
    w: () => app.go({ from: -1, to: -1, zoom: [] }),
    Escape: () => {
      const change = LEAVING[app.state.page];
      if (change && printState({ ...app.state, ...change }) !== printState(app.state)) app.go(change);
    },
    "?": help,
  };
  document.addEventListener("keydown", (e) => {
    const target = e.target as HTMLElement;
    if (e.key === "Escape" && target instanceof HTMLInputElement && target.type === "search") {
      e.preventDefault(); // browsers empty it in their own way, and stay
      return leaveSearch(target);
    }
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || target.closest("dialog[open]")) return;
    const view = shown().find((v) => v.key === e.key);
    if (view) app.go({ page: view.id });
    else if (others[e.key]) others[e.key]!();
    else return;
    e.preventDefault();
  });
}

/** Of a program that is still running: a button that stops the page from going on. */
function followLive(app: App, status: HTMLElement): void {
  if (!app.blocks.pack.header.live) return;
  let paused = false;
  const button = h("button", { type: "button", id: "pause", onclick: () => {
    paused = !paused;
    button.textContent = paused ? "go on" : "pause";
  } }, "pause");
  const text = h("span", { id: "live" }, "recording");
  clear(status, text, " ", button);
  const step = async (): Promise<void> => {
    try {
      const pack = paused ? null : await app.source.refresh();
      if (pack && !paused) app.replaceProfile(new Profile(pack));
      if (!app.blocks.pack.header.live) return clear(status, "the program has ended");
      text.textContent = `recording, ${formatTime(app.blocks.pack.header.duration_ns)}`;
    } catch {
      text.textContent = "the server does not answer";
    }
    setTimeout(() => void step(), REFRESH_MS);
  };
  setTimeout(() => void step(), REFRESH_MS);
}

/** Paper is light: what is drawn on canvases is drawn anew for it. */
function listenForPrinting(app: App): void {
  const print = (isPrinting: boolean) => () => {
    document.documentElement.classList.toggle("printing", isPrinting);
    app.onChange();
  };
  window.addEventListener("beforeprint", print(true));
  window.addEventListener("afterprint", print(false));
}

/** Links to all pages. Elements stay as they are as far as they can: what is made anew has to be laid out anew. */
function showLinks(nav: HTMLElement, to: (change: Partial<State>) => string, views: View[], current: View): void {
  if (nav.childElementCount !== views.length || views.some((v, i) => nav.children[i]!.textContent !== v.title))
    clear(nav, ...views.map((v) => h("a", { title: `key ${v.key}`, "aria-keyshortcuts": v.key }, v.title)));
  views.forEach((v, i) => {
    const link = nav.children[i]!;
    link.setAttribute("href", to({ page: v.id }));
    if (v === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
}

/** What has no stacks and no peak would be told as 0. */
function suits(view: View, header: Header): boolean {
  return view.isOfTags || !countsTags(header);
}

function makeNav(): HTMLElement {
  return h("nav", { "aria-label": "Pages" });
}

function topOf(header: Header, ...parts: HTMLElement[]): HTMLElement {
  const program = String(header.stats?.["program"] ?? "");
  document.title = `${program} – midden`;
  return h("header.top", {}, h("h1", {}, program || "midden"), ...parts);
}

/** What a large profile says of itself is shown before its stacks are read, if that is what was asked for. */
async function showBeginning(header: Header, root: HTMLElement): Promise<void> {
  const state = parseState(location.hash);
  if (state.page !== overview.id) return;
  const link = (change: Partial<State>): string => printState(tidyState({ ...state, ...change }));
  const nav = makeNav();
  showLinks(nav, link, VIEWS.filter((v) => !v.isPossible && suits(v, header)), overview);
  clear(root, topOf(header, nav), samplingNote(header), mergeNote(header), h("main", { "aria-busy": "true" }, beginOverview({ header, link })));
  await seen();
}

/** Shows the page. Returns what makes ahead what the other pages need. */
function start(app: App, root: HTMLElement): () => void {
  const made = new Map<string, ViewInstance>();
  const nav = makeNav();
  const main = h("main");
  const status = h("span.status", { role: "status" });
  const note = h("p.sampled", { id: "of-all", hidden: true });
  const shown = () => VIEWS.filter((v) => suits(v, app.blocks.pack.header) && (v.isPossible?.(app) ?? true));
  const help = makeHelp(shown);
  const { header } = app.blocks.pack;
  clear(root, topOf(header, nav, status, h("button.keys", { type: "button", id: "keys", title: "keys (?)", onclick: () => help.open() }, "?")), samplingNote(header), mergeNote(header), note, main, help.element);
  const instanceOf = (view: View): ViewInstance => {
    let instance = made.get(view.id);
    if (!instance) {
      made.set(view.id, (instance = view.create(app)));
      instance.element.dataset["page"] = view.id;
    }
    return instance;
  };
  let shownView: ViewInstance | null = null;
  app.onChange = () => {
    const views = shown();
    const view = views.find((v) => v.id === app.state.page) ?? views[0]!;
    showLinks(nav, (change) => app.link(change), views, view);
    const isOfAll = typeof view.isOfAll === "function" ? view.isOfAll(app) : view.isOfAll;
    note.hidden = !isOfAll || !app.range;
    if (!note.hidden) clear(note, `${typeof isOfAll === "string" ? isOfAll : "This page shows the whole recording"}, not ${rangeText(app)}. `, wholeButton(app));
    const instance = instanceOf(view);
    if (main.firstChild !== instance.element) {
      shownView?.leave?.();
      clear(main, instance.element);
    }
    shownView = instance;
    instance.update();
  };
  listenForKeys(app, shown, help.open);
  listenForPrinting(app);
  followLive(app, status);
  app.onChange();
  const pictures = () => shown().flatMap((view) => instanceOf(view).prepare?.(main.firstElementChild?.clientWidth ?? main.clientWidth) ?? []);
  const provoking = () => provokeCollection(PROVOKING * (app.blocks.pack.byteLength + (app.old?.pack.byteLength ?? 0)));
  const others = () => [...app.rehearsals(), ...pictures(), ...provoking()];
  return () => doWhenIdle(app.preparations(), () => doWhenIdle(others(), () => document.documentElement.toggleAttribute("data-ready", true)));
}

async function open(root: HTMLElement): Promise<void> {
  const app = new App(await Source.open((header) => showBeginning(header, root)));
  const isCompared = app.state.page === compare.id;
  if (isCompared) await app.loadOld();
  const prepare = start(app, root);
  if (!isCompared) {
    await idle(); // what is asked for is in sight by then
    await app.loadOld();
    if (app.old) app.onChange();
  }
  // A running program's next profile comes in a second: then what was made ahead is of no use.
  if (!app.blocks.pack.header.live) prepare();
}

// The token has done its work: it should not stay in the history.
if (location.search) history.replaceState(null, "", location.pathname + location.hash);

const root = document.getElementById("app")!;
open(root).catch((e: unknown) => clear(root, h("p.error", { role: "alert" }, e instanceof Error ? e.message : String(e))));

// main.ts -- starts the page.
// SPDX-License-Identifier: Apache-2.0

import "./style.css";
import { App, type View, type ViewInstance } from "./app.ts";
import { clear, h } from "./draw/dom.ts";
import { Source } from "./load/source.ts";
import { callers } from "./views/callers.ts";
import { compare } from "./views/compare.ts";
import { flame } from "./views/flame.ts";
import { leaks } from "./views/leaks.ts";
import { overview } from "./views/overview.ts";
import { sizes } from "./views/sizes.ts";
import { source } from "./views/source.ts";
import { table } from "./views/table.ts";
import { threads } from "./views/threads.ts";
import { timeline } from "./views/timeline.ts";

const VIEWS: View[] = [overview, timeline, flame, table, callers, source, sizes, threads, leaks, compare];

function start(app: App, root: HTMLElement): void {
  const made = new Map<string, ViewInstance>();
  const nav = h("nav", { "aria-label": "Pages" });
  const main = h("main");
  const program = String(app.profile.pack.header.stats?.["program"] ?? "");
  clear(root, h("header.top", {}, h("h1", {}, program || "midden"), nav), main);
  document.title = `${program} – midden`;
  app.onChange = () => {
    const shown = VIEWS.filter((v) => v.isPossible?.(app) ?? true);
    const view = shown.find((v) => v.id === app.state.page) ?? shown[0]!;
    clear(
      nav,
      ...shown.map((v) => h("a", { href: app.link({ page: v.id }), "aria-current": v === view ? "page" : undefined }, v.title)),
    );
    let instance = made.get(view.id);
    if (!instance) made.set(view.id, (instance = view.create(app)));
    if (main.firstChild !== instance.element) clear(main, instance.element);
    instance.update();
  };
  app.onChange();
}

const root = document.getElementById("app")!;
Source.open()
  .then((source) => start(new App(source), root))
  .catch((e: unknown) => clear(root, h("p.error", { role: "alert" }, e instanceof Error ? e.message : String(e))));

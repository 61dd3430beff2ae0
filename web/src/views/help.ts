// help.ts -- which keys do what, on a sheet over the page.
// SPDX-License-Identifier: Apache-2.0

import type { View } from "../app.ts";
import { clear, h } from "../draw/dom.ts";

type Line = [keys: string, what: string];

const EVERYWHERE: Line[] = [
  ["[ ]", "the page before, the next page"],
  ["/", "search"],
  ["Escape", "empties a search box, then leaves it; zooms out"],
  ["i", "turn the tree around: from the root, or from the allocating function"],
  ["w", "the whole recording, in place of a range of it"],
  ["?", "this sheet"],
];

const PLACES: [place: string, lines: Line[]][] = [
  ["Flame graphs", [["← → ↑ ↓", "from box to box"], ["Enter", "zoom in on the box"], ["Escape", "zoom out"]]],
  ["Tree", [["↑ ↓", "from row to row"], ["PageUp PageDown Home End", "farther"], ["→ ←", "open, close or leave a row"], ["Enter", "its callers and callees"]]],
  ["Timeline", [["← → Home End", "choose a moment"], ["Shift with these", "choose a range"], ["Escape", "the whole recording"]]],
  ["Sizes", [["← → ↑ ↓", "choose a cell"], ["Escape", "leave it"]]],
  ["Resident", [["← → ↑ ↓", "from cell to cell"], ["Enter", "who holds it"], ["Escape", "leave the cell"]]],
];

function table(lines: Line[]): HTMLElement {
  return h("table.plain", {}, ...lines.map(([keys, what]) => h("tr", {}, h("th", {}, ...keys.split(" ").flatMap((k) => [/^[a-z]{2,}$/.test(k) ? k : h("kbd", {}, k), " "])), h("td", {}, what))));
}

/** The sheet; `open` shows it with the pages that there are. */
export function makeHelp(shown: () => View[]): { element: HTMLElement; open(): void } {
  const element = h("dialog.help", { id: "help", "aria-label": "Keys" }) as HTMLDialogElement;
  element.addEventListener("click", (e) => e.target === element && element.close()); // beside the sheet
  const open = (): void => {
    clear(element, h("form", { method: "dialog" }, h("h2", {}, "Keys"), h("button", { type: "submit", id: "help-close" }, "close")),
      h("div.columns", {},
        h("div", {}, h("h3", {}, "Pages"), table(shown().map((v): Line => [v.key, v.title]))),
        h("div", {}, h("h3", {}, "Everywhere"), table(EVERYWHERE)),
        h("div", {}, h("p.note", {}, "When the picture or table is in use, by a click or the Tab key:"), ...PLACES.flatMap(([place, lines]) => [h("h3", {}, place), table(lines)]))));
    if (!element.open) element.showModal();
  };
  return { element, open };
}

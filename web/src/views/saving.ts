// saving.ts -- what is shown, as a file for other programs: SVG, CSV, collapsed stacks.
// SPDX-License-Identifier: Apache-2.0

import type { App } from "../app.ts";
import { h } from "../draw/dom.ts";
import { ROW, type Box } from "../draw/icicle.ts";
import { csvCell, saveText, xmlText } from "../draw/save.ts";
import type { CallTree, TreeNode } from "../model/calltree.ts";
import { FIGURE_COLUMNS, figureColumn } from "../model/figures.ts";

/** What is below a node of a tree. */
export interface Shown {
  tree: CallTree;
  node: TreeNode;
}

/** A row's stack by names, the allocating function first; where threads are told apart, its thread is last. */
function namesOf(app: App, { threads }: CallTree, row: number): string[] {
  const names = app.profile.stack(threads ? threads.siteOf[row]! : row).map((frame) => app.profile.functionName(frame));
  return threads ? [...names, app.nameOf(threads.first[row]!)] : names;
}

/** One line a stack: "root;…;leaf N", whole numbers, what is 0 left out. */
export function collapsed(app: App, { tree, node }: Shown): string {
  const { values } = tree.answer;
  const lines: string[] = [];
  for (const row of tree.rows(node))
    if (values[row]! > 0) lines.push(`${namesOf(app, tree, row).reverse().map((name) => name.replace(/[;\n]/g, ":")).join(";")} ${values[row]}`);
  return lines.join("\n") + (lines.length ? "\n" : "");
}

/** One row a stack with its figures. */
export function csv(app: App, { tree, node }: Shown): string {
  const { profile } = app;
  const { answer: a, threads } = tree;
  const columns = FIGURE_COLUMNS.map((c) => (threads ? threads.column(c.column) : figureColumn(profile, c.column, a)));
  const rows = [["bytes", "blocks", ...FIGURE_COLUMNS.map((c) => c.id), "function", "place", "stack"].join(",")];
  for (const row of tree.rows(node)) {
    if (a.bytes[row] === 0 && a.blocks[row] === 0) continue;
    const names = namesOf(app, tree, row);
    const place = profile.place(profile.stack(threads ? threads.siteOf[row]! : row)[0]!);
    const cells = [a.bytes[row]!, a.blocks[row]!, ...columns.map((c) => c[row]!), names[0]!, place, names.join(" < ")];
    rows.push(cells.map(csvCell).join(","));
  }
  return rows.join("\n") + "\n";
}

export interface Drawing<T> {
  heading: string;
  boxes: Box<T>[];
  width: number;
  label(node: T): string;
  title(node: T): string;
  colour(node: T): string;
}

const TOP = 24; // the heading

/** A text in a box, cut off where that ends: fonts differ from one program to another. */
function labelIn(b: Box<unknown>, label: string): string {
  if (b.width < 16) return "";
  return `<svg x="${b.x.toFixed(2)}" y="${TOP + b.row * ROW}" width="${(b.width - 4).toFixed(2)}" height="${ROW - 1}"><text x="4" y="14">${xmlText(label)}</text></svg>`;
}

/** The flame graph as it is shown, on white. */
export function svg<T>(d: Drawing<T>): string {
  const height = TOP + d.boxes.reduce((most, b) => Math.max(most, b.row + 1), 1) * ROW;
  const parts = d.boxes.map((b) =>
    `<g><title>${xmlText(d.title(b.node))}</title><rect x="${b.x.toFixed(2)}" y="${TOP + b.row * ROW}" width="${Math.max(b.width - 0.5, 0.3).toFixed(2)}" height="${ROW - 1}" fill="${d.colour(b.node)}"/>${labelIn(b, d.label(b.node))}</g>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${d.width}" height="${height}" viewBox="0 0 ${d.width} ${height}" font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#fff"/><text x="4" y="16">${xmlText(d.heading)}</text>\n${parts.join("\n")}\n</svg>\n`;
}

function button(id: string, text: string, save: () => void): HTMLElement {
  return h("button", { type: "button", id: `save-${id}`, onclick: save }, text);
}

function fileName(app: App, words: string): string {
  return `${String(app.blocks.pack.header.stats?.["program"] ?? "midden")}.${words}`;
}

/** Buttons for the stacks that are shown; `drawing` adds the picture. */
export function makeSaving(app: App, shown: () => Shown, drawing: (() => string) | null): HTMLElement {
  const name = (ending: string) => fileName(app, `${app.state.figure}.${ending}`);
  return h("span.saving", {}, "Save: ",
    drawing && button("svg", "SVG", () => saveText(name("svg"), "image/svg+xml", drawing())), " ",
    button("csv", "CSV", () => saveText(name("csv"), "text/csv", csv(app, shown()))), " ",
    button("collapsed", "collapsed stacks", () => saveText(name("folded"), "text/plain", collapsed(app, shown()))),
    h("span.note", { hidden: true }, " Collapsed stacks cannot be less than nothing: they have what grew alone."));
}

/** What a file leaves out of what is shown now. */
export function tellSaving(app: App, saving: HTMLElement): void {
  saving.querySelector<HTMLElement>(".note")!.hidden = app.state.figure !== "growth";
}

export interface Sheet {
  head: string[];
  rows: (string | number)[][];
}

/** A button for what a page shows as a table, whole, in bytes and ns; `drawing` adds its picture. */
export function makeSheetSaving(app: App, name: string, sheet: () => Sheet, drawing: (() => string) | null = null): HTMLElement {
  const save = (): void => {
    const { head, rows } = sheet();
    saveText(fileName(app, `${name}.csv`), "text/csv", `${[head, ...rows].map((row) => row.map(csvCell).join(",")).join("\n")}\n`);
  };
  return h("span.saving", {}, "Save: ", drawing && button("svg", "SVG", () => saveText(fileName(app, `${name}.svg`), "image/svg+xml", drawing())), drawing && " ", button("csv", "CSV", save));
}

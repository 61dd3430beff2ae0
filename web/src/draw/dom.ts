// dom.ts -- elements made in one line. Texts go in as texts: a function's name is never markup.
// SPDX-License-Identifier: Apache-2.0

type Child = Node | string | null | undefined | false;
type Attributes = { [name: string]: string | number | boolean | ((e: Event) => void) | undefined };

/** A text as it is shown. Characters that act instead of being seen (control characters, those that
 * turn the direction of writing) become their numbers; line ends and tabs are left. */
export function plain(text: string): string {
  return ACTING.test(text) ? text.replace(ALL_ACTING, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`) : text;
}

const ACTING = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
const ALL_ACTING = new RegExp(ACTING, "g");

const shown = (child: Node | string): Node | string => (typeof child === "string" ? plain(child) : child);

const known = new Map<string, { name: string; classes: string }>();

/** "div.row.head": tables are made of thousands of a few kinds. */
export function partsOf(tag: string): { name: string; classes: string } {
  let parts = known.get(tag);
  if (!parts) {
    const [name, ...classes] = tag.split(".");
    known.set(tag, (parts = { name: name || "div", classes: classes.join(" ") }));
  }
  return parts;
}

export function h(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const { name, classes } = partsOf(tag);
  const element = document.createElement(name);
  if (classes) element.className = classes;
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key.replace(/^on/, ""), value);
    else element.setAttribute(key, value === true ? "" : key === "title" ? plain(String(value)) : String(value));
  }
  for (const child of children) if (child || child === "") element.append(shown(child));
  return element;
}

/** A text that is there already stays: what is put in anew has to be laid out anew. */
export function clear(element: Element, ...children: Child[]): void {
  const kept = children.filter((c): c is Node | string => Boolean(c)).map(shown);
  const isText = !element.firstElementChild && kept.every((c) => typeof c === "string");
  if (!isText || element.textContent !== kept.join("")) element.replaceChildren(...kept);
}

/** Of a button that stays pressed. */
export function press(button: Element, isPressed: boolean): void {
  if (button.getAttribute("aria-pressed") !== String(isPressed)) button.setAttribute("aria-pressed", String(isPressed));
}

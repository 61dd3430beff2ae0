// dom.ts -- elements made in one line. Texts go in as texts: a function's name is never markup.
// SPDX-License-Identifier: Apache-2.0

type Child = Node | string | null | undefined | false;
type Attributes = { [name: string]: string | number | boolean | ((e: Event) => void) | undefined };

export function h(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key.replace(/^on/, ""), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child || child === "") element.append(child);
  return element;
}

export function clear(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((c): c is Node | string => Boolean(c)));
}

// fit.ts -- elements that stay where they are and take on what they are to show next: to make them anew takes a browser
// three times as long, in style, layout and script.
// SPDX-License-Identifier: Apache-2.0

import { partsOf, plain } from "./dom.ts";

type Value = string | number | undefined;

/** What an element is to be like: "span.cell", attributes, and what is inside. */
export interface Part {
  tag: string;
  attributes: Record<string, Value>;
  inside: (Part | string)[];
}

export function part(tag: string, attributes: Record<string, Value> = {}, ...inside: (Part | string)[]): Part {
  return { tag, attributes, inside };
}

/** An element with what it shows. */
export class Fitted {
  readonly element: HTMLElement;
  private readonly inside: (Fitted | Text)[];

  constructor(private now: Part) {
    const { name, classes } = partsOf(now.tag);
    this.element = document.createElement(name);
    if (classes) this.element.className = classes;
    for (const key in now.attributes) this.setAttribute(key, now.attributes[key]);
    this.inside = now.inside.map((inner) => (typeof inner === "string" ? document.createTextNode(plain(inner)) : new Fitted(inner)));
    for (const inner of this.inside) this.element.append(inner instanceof Fitted ? inner.element : inner);
  }

  private setAttribute(key: string, value: Value): void {
    if (value === undefined) this.element.removeAttribute(key);
    else this.element.setAttribute(key, key === "title" ? plain(String(value)) : String(value));
  }

  /** Takes on another look, of the same elements. Only what differs is written: all else stays laid out as it is. */
  show(next: Part): void {
    const { now, inside } = this;
    this.now = next;
    if (next.tag !== now.tag) this.element.className = partsOf(next.tag).classes;
    for (const key in now.attributes) if (!(key in next.attributes)) this.setAttribute(key, undefined);
    for (const key in next.attributes) if (next.attributes[key] !== now.attributes[key]) this.setAttribute(key, next.attributes[key]);
    for (let i = 0; i < inside.length; i++) {
      const [inner, is, was] = [inside[i]!, next.inside[i]!, now.inside[i]!];
      if (inner instanceof Fitted) inner.show(is as Part);
      else if (is !== was) inner.nodeValue = plain(is as string);
    }
  }

  /** The same, for who wants the element. */
  as(next: Part): this {
    this.show(next);
    return this;
  }
}

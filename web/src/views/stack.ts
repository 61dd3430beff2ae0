// stack.ts -- one stack as a list, the allocating function first.
// SPDX-License-Identifier: Apache-2.0

import type { App } from "../app.ts";
import { h } from "../draw/dom.ts";
import { appendInPieces } from "../idle.ts";
import { FRAME_INLINED, type Profile } from "../model/profile.ts";
import { stackKey, type Opened } from "./opened.ts";

/** A frame's place, as a link to its source line. */
function placeLink(app: App, profile: Profile, frame: number): HTMLElement {
  const maps = profile !== app.blocks ? app.state.maps || "all" : "";
  const place = profile.place(frame);
  if (!place) return h("span.place", {}, profile.moduleName(frame));
  return h("a.place", { href: app.link({ page: "source", ...(maps ? { maps } : {}), file: profile.frameFile[frame]!, line: profile.frameLine[frame]! }) }, place);
}

/** `profile` is that of the site, if it is not that of the page. */
export function stackList(app: App, site: number, profile = app.profile): HTMLElement {
  return h("ol.stack", {}, ...profile.stack(site).map((frame) =>
    h("li", {}, profile.functionName(frame), " ", placeLink(app, profile, frame), profile.frameBits[frame]! & FRAME_INLINED ? h("span.note", {}, " inlined") : null)));
}

/** Of some sites, one below the other; those that are hardly in sight come a moment later. */
export function stackLists(sites: Uint32Array, make: (site: number) => HTMLElement): HTMLElement {
  const lists = h("div");
  appendInPieces(lists, sites.length, (i) => make(sites[i]!));
  return lists;
}

/** A stack that opens: `figures` and who allocated, then all of it. `opened`: those of its list. */
export function stackDetails(app: App, site: number, figures: string, opened: Opened): HTMLElement {
  const { profile } = app;
  const details = h("details", { "data-site": site }, h("summary", {}, `${figures} · ${profile.functionName(profile.stack(site)[0]!)}`));
  opened.follow(details, () => stackKey(profile, site), () => details.append(stackList(app, site)));
  return details;
}

// sparkline.ts -- a small line without axes.
// SPDX-License-Identifier: Apache-2.0

const WIDTH = 200;
const HEIGHT = 20;
const SVG = "http://www.w3.org/2000/svg";

/** `values` at `times`, the first of which is no earlier than `begin`; from 0 on, and `most` is the top. */
export function sparkline(times: Float64Array, values: Float64Array, most: number, begin = 0): SVGElement {
  const span = Math.max(1, (times[times.length - 1] ?? begin) - begin);
  const spots = Array.from(values, (v, i) => `${((WIDTH * (times[i]! - begin)) / span).toFixed(1)},${(HEIGHT - (HEIGHT - 1) * (Math.max(0, v) / most)).toFixed(1)}`);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "sparkline");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT + 1}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", spots.join(" "));
  svg.append(line);
  return svg;
}

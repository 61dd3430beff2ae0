// sparkline.ts -- a small line without axes.
// SPDX-License-Identifier: Apache-2.0

const WIDTH = 200;
const HEIGHT = 20;
const SVG = "http://www.w3.org/2000/svg";

/** `values` at `times`, both from 0 on; `most` is the top. */
export function sparkline(times: Float64Array, values: Float64Array, most: number): SVGElement {
  const end = Math.max(1, times[times.length - 1] ?? 1);
  const spots = Array.from(values, (v, i) => `${((WIDTH * times[i]!) / end).toFixed(1)},${(HEIGHT - (HEIGHT - 1) * (Math.max(0, v) / most)).toFixed(1)}`);
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

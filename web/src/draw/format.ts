// format.ts -- numbers for people.
// SPDX-License-Identifier: Apache-2.0

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

const COUNTS = new Intl.NumberFormat("en-US"); // made once: that takes longer than to use it

export function formatCount(n: number): string {
  return n < 0 ? `−${COUNTS.format(Math.round(-n))}` : COUNTS.format(Math.round(n));
}

/** "1 block", "2 blocks". */
export function formatCounted(n: number, one: string): string {
  return `${formatCount(n)} ${one}${Math.round(n) === 1 ? "" : "s"}`;
}

/** Of a change: with its sign. */
export function formatMore(n: number): string {
  return n > 0 ? `+${formatCount(n)}` : formatCount(n);
}

export function formatBytes(n: number): string {
  let value = Math.abs(n);
  let unit = 0;
  while (value >= 1023.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${n < 0 ? "−" : ""}${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** Of a change: with its sign. */
export function formatGrowth(n: number): string {
  return n > 0 ? `+${formatBytes(n)}` : formatBytes(n);
}

export function formatTime(ns: number): string {
  if (ns < 0) return "–";
  if (ns < 999.5) return `${Math.round(ns)} ns`;
  // Three digits, and never 1.00e+3: what rounds up to a thousand is one of the next unit.
  if (ns < 999.5e3) return `${(ns / 1e3).toPrecision(3)} µs`;
  if (ns < 999.5e6) return `${(ns / 1e6).toPrecision(3)} ms`;
  if (ns < 119.5e9) return `${(ns / 1e9).toPrecision(3)} s`;
  const seconds = Math.round(ns / 1e9);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function formatShare(part: number, whole: number): string {
  if (whole === 0) return "–";
  const percent = ((100 * part) / whole).toFixed(1);
  return `${percent === "-0.0" ? "0.0" : percent.replace("-", "−")} %`;
}

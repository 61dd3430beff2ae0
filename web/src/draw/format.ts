// format.ts -- numbers for people.
// SPDX-License-Identifier: Apache-2.0

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function formatCount(n: number): string {
  return Math.round(n).toLocaleString("en-US");
}

export function formatBytes(n: number): string {
  let value = Math.abs(n);
  let unit = 0;
  while (value >= 1023.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${n < 0 ? "-" : ""}${value.toFixed(digits)} ${UNITS[unit]}`;
}

export function formatTime(ns: number): string {
  if (ns < 0) return "–";
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toPrecision(3)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toPrecision(3)} ms`;
  if (ns < 120e9) return `${(ns / 1e9).toPrecision(3)} s`;
  const minutes = Math.floor(ns / 60e9);
  if (minutes < 120) return `${minutes} min ${Math.round((ns / 1e9) % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function formatShare(part: number, whole: number): string {
  return whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)} %`;
}

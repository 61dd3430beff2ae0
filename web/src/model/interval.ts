// interval.ts -- within what an estimate of a sampled profile lies: as src/model/interval.c has it.
// SPDX-License-Identifier: Apache-2.0

import type { Arrays } from "./memory.ts";
import type { Profile } from "./profile.ts";

const Z_95 = 1.959963984540054; // deviations that hold 95 % of a normal distribution

export interface Interval {
  low: number;
  high: number;
}

/** A quantile of the gamma distribution, `z` deviations from the middle (Wilson and Hilferty). */
function gammaQuantile(shape: number, z: number): number {
  const root = 1 - 1 / (9 * shape) + z / (3 * Math.sqrt(shape));
  return root > 0 ? shape * root * root * root : 0;
}

function around(sure: number, seen: number, unit: number): Interval {
  const low = Math.ceil(sure + unit * gammaQuantile(seen + 0.5, -Z_95));
  const high = Math.floor(sure + unit * gammaQuantile(seen + 0.5, Z_95));
  const middle = Math.round(sure + unit * seen);
  return low > high ? { low: middle, high: middle } : { low, high };
}

export function bytesWithin(bytes: number, variance: number, period: number): Interval {
  if (!period || variance <= 0) return { low: bytes, high: bytes };
  const chance = Math.min(variance / period, bytes);
  return around(bytes - chance, chance / period, period);
}

export function blocksWithin(blocks: number, variance: number): Interval {
  if (variance <= 0 || blocks <= 0) return { low: blocks, high: blocks };
  return around(0, (blocks * blocks) / variance, variance / blocks);
}

/** By how much a change may be off, either way. */
export function errorOf(variance: number): number {
  return variance > 0 ? Math.ceil(Z_95 * Math.sqrt(variance)) : 0;
}

/** Bytes of the longest period that blocks were sampled with; 0: all were recorded. */
export function samplePeriod(p: Profile): number {
  return Number(p.pack.header.stats?.["sample_period"] ?? 0);
}

/** By site: the variance of a column; null: it is exact. */
export function varianceOf(p: Profile, column: string): Float64Array | null {
  const name = `variance.${column}`;
  return p.pack.header.columns[name] ? p.pack.f64(name) : null;
}

/** The most that the variance of bytes can be, where nothing of it was kept. */
export function boundBytes(bytes: Float64Array, period: number, arrays: Arrays): Float64Array {
  const variance = arrays.f64(bytes.length);
  for (let i = 0; i < variance.length; i++) variance[i] = Math.abs(bytes[i]!) * period;
  return variance;
}

/** Where small objects of Python alone are samples, sites that have none of them are sure. */
export function withoutSure(p: Profile, variance: Float64Array): Float64Array {
  const ofAll = p.pack.header.stats?.["sampled_blocks"] === "small" ? varianceOf(p, "allocated_bytes") : null;
  if (ofAll) for (let i = 0; i < variance.length; i++) if (ofAll[i] === 0) variance[i] = 0;
  return variance;
}

/** The most that the variance of so many blocks can be: as many as go into the bytes. */
export function boundOfBlocks(blocks: number, bytes: number, period: number): number {
  return Math.abs(blocks) * period * Math.min(1, bytes ? Math.abs(blocks / bytes) : 1);
}

export function boundBlocks(blocks: Float64Array, bytes: Float64Array, period: number, arrays: Arrays): Float64Array {
  const variance = arrays.f64(blocks.length);
  for (let i = 0; i < variance.length; i++) variance[i] = boundOfBlocks(blocks[i]!, bytes[i]!, period);
  return variance;
}

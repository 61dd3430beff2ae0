// pack.test.mjs -- columns are read as they were written, however their bytes lie.
// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { Pack } from "../src/load/pack.ts";

const ROWS = 5000;
const IDS = Uint32Array.from({ length: ROWS }, (_, i) => Math.imul(i, 2654435761) >>> 0);
const NUMBERS = Float64Array.from({ length: ROWS }, (_, i) => (i % 7 ? i * 1234567.25 : -1));
const [OF_MAPS, BYTES_OF_MAPS] = [IDS.map((id) => id ^ 0x5a5a5a5a), NUMBERS.map((n) => n + 0.5)];

/** First all first bytes, then all second ones, and so on. */
function toPlanes(values) {
	const bytes = new Uint8Array(values.buffer);
	const each = values.BYTES_PER_ELEMENT;
	return bytes.map((_, i) => bytes[(i % values.length) * each + Math.floor(i / values.length)]);
}

function makePack(columns) {
	const described = {};
	let at = 0;
	for (const [name, { type, bytes, count, planes }] of Object.entries(columns)) {
		described[name] = { type, at, count, ...(planes ? { planes } : {}) };
		at += Math.ceil(bytes.length / 8) * 8;
	}
	let text = JSON.stringify({ schema: 1, stats: null, columns: described });
	text = text.padEnd(Math.ceil(text.length / 8) * 8);
	const all = new Uint8Array(16 + text.length + at);
	all.set(new TextEncoder().encode("MDNPACK1"));
	new DataView(all.buffer).setBigUint64(8, BigInt(text.length), true);
	all.set(new TextEncoder().encode(text), 16);
	for (const [name, { bytes }] of Object.entries(columns)) all.set(bytes, 16 + text.length + described[name].at);
	return new Pack(all.buffer);
}

const inPlanes = (type, values) => ({ type, bytes: toPlanes(values), count: values.length, planes: true });
const asTheyAre = (type, values) => ({ type, bytes: new Uint8Array(values.buffer), count: values.length });

test("numbers whose bytes lie in planes are put together once, whoever asks", () => {
	const pack = makePack({ "node.parent": inPlanes("u32", IDS), "map.node": inPlanes("u32", OF_MAPS), "map.live_bytes": inPlanes("f64", BYTES_OF_MAPS), "site.node": asTheyAre("u32", IDS), "site.live_bytes": inPlanes("f64", NUMBERS), "site.frees": asTheyAre("f64", NUMBERS) });
	const maps = pack.ofMaps();
	for (const [p, nodes, bytes] of [[pack, IDS, NUMBERS], [maps, OF_MAPS, BYTES_OF_MAPS], [pack.ofMaps(), OF_MAPS, BYTES_OF_MAPS], [pack, IDS, NUMBERS]]) {
		assert.deepEqual(p.u32("node.parent"), IDS);
		assert.deepEqual(p.u32("site.node"), nodes);
		assert.deepEqual(p.f64("site.live_bytes"), bytes);
	}
	assert.deepEqual(pack.f64("site.frees"), NUMBERS);
});

test("a column in planes that is cut off is told", () => {
	const pack = makePack({ "site.node": { ...inPlanes("u32", IDS), count: ROWS + 2 } });
	assert.throws(() => pack.u32("site.node"), /cut off/);
});

// profile.mjs -- small profiles for the tests, in the format of ../schema.md.
// SPDX-License-Identifier: Apache-2.0
import { Pack } from "../src/load/pack.ts";
import { Profile } from "../src/model/profile.ts";

const SITE = ["allocations", "allocated_bytes", "frees", "freed_bytes", "size_min", "size_max", "live_blocks", "live_bytes", "at_peak_blocks", "at_peak_bytes", "lifetime_min_ns", "lifetime_max_ns", "temporary"];
const PART = ["allocations", "allocated_bytes", "frees", "live_blocks", "live_bytes", "at_peak_blocks", "at_peak_bytes", "temporary"];
const ARRAYS = { u8: Uint8Array, u32: Uint32Array, f64: Float64Array };

function writePack(columns, header) {
	const described = {};
	let at = 0;
	for (const [name, [type, values]] of Object.entries(columns)) {
		described[name] = { type, at, count: values.length };
		at += Math.ceil((values.length * ARRAYS[type].BYTES_PER_ELEMENT) / 8) * 8;
	}
	let text = JSON.stringify({ schema: 1, live: false, generation: 0, duration_ns: 100, start_unix_ns: 0, stats: null, findings: null, diff: null, lines: null, ...header, columns: described });
	text = text.padEnd(Math.ceil(text.length / 8) * 8);
	const bytes = new ArrayBuffer(16 + text.length + at);
	new Uint8Array(bytes).set(new TextEncoder().encode("MDNPACK1"));
	new DataView(bytes).setBigUint64(8, BigInt(text.length), true);
	new Uint8Array(bytes).set(new TextEncoder().encode(text), 16);
	for (const [name, [type, values]] of Object.entries(columns)) new ARRAYS[type](bytes, 16 + text.length + described[name].at, values.length).set(values);
	return bytes;
}

/** Texts as numbers of rows. */
class Texts {
	all = [""];
	add(text) {
		if (!this.all.includes(text)) this.all.push(text);
		return this.all.indexOf(text);
	}
	columns() {
		const parts = this.all.map((t) => new TextEncoder().encode(t));
		let end = 0;
		return { "text.end": ["u32", parts.map((p) => (end += p.length))], "text.bytes": ["u8", parts.flatMap((p) => [...p])] };
	}
}

/** A profile of `sites`: {stack: "root leaf", …figures, thread, rule, parts: [{thread, …figures}]}; `points` are times,
 * `changes` [point, site, bytes, blocks], `more` further columns. A function is in the module "app" unless it is written module`function. */
export function makeProfile({ sites = [], points = [], changes = [], threads = [], header = {}, more = {} }) {
	const texts = new Texts();
	const frames = [];
	const nodes = [{ parent: 0, frame: 0 }];
	const frameOf = (word) => {
		if (!frames.includes(word)) frames.push(word);
		return frames.indexOf(word);
	};
	const leaves = sites.map((site) => site.stack.split(" ").filter(Boolean).reduce((parent, word) => nodes.push({ parent, frame: frameOf(word) }) - 1, 0));
	const parts = sites.flatMap((site, i) => (site.parts ?? []).map((part) => ({ ...part, site: i })));
	const u32 = (list) => ["u32", list];
	const split = frames.map((word) => (word.includes("`") ? word.split("`") : ["app", word]));
	const columns = {
		"frame.function": u32(split.map(([, name]) => texts.add(name))),
		"frame.module": u32(split.map(([module]) => texts.add(`/bin/${module}`))),
		"frame.file": u32(split.map(([, name]) => texts.add(`/src/${name}.c`))),
		"frame.line": u32(frames.map(() => 1)),
		"frame.group": u32(frames.map((_, i) => i)),
		"frame.offset": ["f64", frames.map(() => 0)],
		"frame.bits": ["u8", frames.map(() => 0)],
		"node.parent": u32(nodes.map((n) => n.parent)),
		"node.frame": u32(nodes.map((n) => n.frame)),
		"site.node": u32(leaves),
		"site.thread": u32(sites.map((s) => s.thread ?? (s.parts ? 0 : 1))),
		"site.rule": u32(sites.map((s) => texts.add(s.rule ?? ""))),
		"site.own": u32(sites.map((s) => (s.stack ? nodes[leaves[sites.indexOf(s)]].frame : 0xffffffff))),
		"part.site": u32(parts.map((p) => p.site)),
		"part.thread": u32(parts.map((p) => p.thread)),
		"thread.serial": u32(threads.map((t) => t.serial)),
		"thread.tid": u32(threads.map((t) => 1000 + t.serial)),
		"thread.name": u32(threads.map((t) => texts.add(t.name))),
		"point.time_ns": ["f64", points],
		"point.live_bytes": ["f64", points.map(() => 0)],
		"change.point": u32(changes.map((c) => c[0])),
		"change.site": u32(changes.map((c) => c[1])),
		"change.live_bytes": ["f64", changes.map((c) => c[2])],
		"change.live_blocks": ["f64", changes.map((c) => c[3])],
	};
	for (const name of SITE) columns[`site.${name}`] = ["f64", sites.map((s) => s[name] ?? 0)];
	for (const name of PART) columns[`part.${name}`] = ["f64", parts.map((p) => p[name] ?? 0)];
	return new Profile(new Pack(writePack({ ...columns, ...texts.columns(), ...more }, header)));
}

export const ALL = { figure: "peak", range: null, thread: null, functions: "", module: "" };

// model.test.mjs -- figures, trees and changes worked out of profiles that are written down here.
// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { cutRows } from "../src/draw/cuts.ts";
import { plain } from "../src/draw/dom.ts";
import { Highlighter, languageOf } from "../src/draw/syntax.ts";
import { columnsOver, ticksOver } from "../src/draw/timeaxis.ts";
import { Pack } from "../src/load/pack.ts";
import { allFunctions, findCallers, rankFunctions } from "../src/model/callers.ts";
import { BottomUp } from "../src/model/bottomup.ts";
import { blocksWithin, bytesWithin, errorOf } from "../src/model/interval.ts";
import { isLongEnough, isSteady } from "../src/model/growing.ts";
import { fillQuarters, findLeaks, findLeaksWithin, leakKinds } from "../src/model/leaks.ts";
import { allFiles, linesOf } from "../src/model/lines.ts";
import { LastChanges } from "../src/model/lastchanges.ts";
import { mappedIn } from "../src/model/maps.ts";
import { Memory, withArrays } from "../src/model/memory.ts";
import { Names } from "../src/model/names.ts";
import { carryPaths, carryState } from "../src/model/next.ts";
import { answer, COLUMNS, figuresOf, isTimed, pointsOf } from "../src/model/question.ts";
import { largestFew, largestFirst, largestOf } from "../src/model/order.ts";
import { bucketOf, bucketRange, sitesInCell, sizesIn } from "../src/model/sizes.ts";
import { chainOf, findLost } from "../src/model/lost.ts";
import { Holders, isWithin, listCells, listPins, lookOf } from "../src/model/resident.ts";
import { Profile } from "../src/model/profile.ts";
import { inRuns, inRunsBack } from "../src/runs.ts";
import { finish } from "../src/model/stacks.ts";
import { lineWithin, liveByThread, timeWithin } from "../src/model/threads.ts";
import { TopDown } from "../src/model/topdown.ts";
import { Union } from "../src/model/union.ts";
import { parseState, printState } from "../src/state.ts";
import { ALL, makeProfile } from "./profile.mjs";

const peak = (stack, bytes, more = {}) => ({ stack, at_peak_bytes: bytes, at_peak_blocks: 1, allocations: 1, ...more });
const shape = (p, tree, node) => tree.open(node).map((n) => [n.frame < p.frameCount ? p.functionName(n.frame) : p.threadName(n.frame - p.frameCount), n.value]);

test("a tree adds stacks up from the root and from the leaf", () => {
	const p = makeProfile({ sites: [peak("main load new", 60), peak("main save new", 30), peak("main save", 10)] });
	const down = new TopDown(p.shape("function", false), answer(p, ALL));
	assert.deepEqual(shape(p, down, down.root), [["main", 100]]);
	assert.deepEqual(shape(p, down, down.open(down.root)[0]), [["load", 60], ["save", 40]]);
	assert.equal(down.sum(down.open(down.open(down.root)[0])[1]).self, 10);
	const up = new BottomUp(p.reversed("function", false), answer(p, ALL));
	assert.deepEqual(shape(p, up, up.root), [["new", 90], ["save", 10]]);
	assert.equal(up.find(up.path(up.open(up.root)[0])), up.root.children[0]);
	assert.equal(up.find([999]), null);
});

test("calls to itself fold into one", () => {
	const p = makeProfile({ sites: [peak("main walk walk walk leaf", 7), peak("main walk leaf walk", 5)] });
	const tree = new TopDown(p.shape("function", true), answer(p, ALL));
	const walk = tree.open(tree.open(tree.root)[0])[0];
	assert.equal(walk.value, 12);
	assert.deepEqual(shape(p, tree, walk), [["leaf", 12]]);
});

test("numbers are put in order whatever they are, and equal ones stay as they are", () => {
	let state = 11;
	const draw = (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
	for (const count of [0, 1, 5, 500, 501, 3000]) {
		const keys = Float64Array.from({ length: count }, () => [0, -0, draw(10), -draw(10), draw(1e6) * 2 ** 40, -draw(1e6) / 7, draw(100) / 3, 1e300, 5e-324][draw(9)]);
		const wanted = [...keys.keys()].sort((a, b) => keys[b] - keys[a] || a - b);
		assert.deepEqual([...largestFirst(keys)], wanted);
		const numbers = Uint32Array.from(keys.keys()).reverse();
		for (const few of [0, 1, 7, 2000]) assert.deepEqual([...largestFew(numbers, keys, few)], [...largestOf(numbers, keys)].slice(0, few));
	}
});

/** Stacks as anyone would add them up: rows of [path, bytes], the root first. */
function addUp(p, stacks) {
	const sums = new Map();
	for (const [frames, value] of stacks)
		for (let depth = 0; depth <= frames.length; depth++) {
			const key = frames.slice(0, depth).join(" ");
			sums.set(key, [(sums.get(key)?.[0] ?? 0) + value, (sums.get(key)?.[1] ?? 0) + (depth === frames.length ? value : 0)]);
		}
	return sums;
}

/** The same of a tree. */
function writeOut(p, tree) {
	const sums = new Map();
	const add = (node) => {
		sums.set(tree.path(node).map((f) => p.functionName(f)).join(" "), [node.value, tree.sum(node).self]);
		tree.open(node).forEach(add);
	};
	add(tree.root);
	return sums;
}

test("trees of many stacks are what adding up gives, folded and not, both ways, filtered and not", () => {
	let state = 7;
	const draw = (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
	const names = ["a", "b", "c", "d", "libz`e"];
	const sites = Array.from({ length: 2500 }, () => peak(Array.from({ length: 1 + draw(9) }, () => names[draw(names.length)]).join(" "), 1 + draw(1000)));
	const p = makeProfile({ sites });
	const bare = (word) => word.replace("libz`", "");
	for (const functions of ["", "c"])
		for (const fold of [false, true])
			for (const inverted of [false, true]) {
				const chosen = sites.filter((s) => s.stack.includes(functions)).map((s) => [s.stack.split(" ").map(bare), s.at_peak_bytes]);
				const folded = chosen.map(([frames, value]) => [fold ? frames.filter((f, i) => f !== frames[i - 1]) : frames, value]);
				const wanted = addUp(p, inverted ? folded.map(([frames, value]) => [frames.toReversed(), value]) : folded);
				const a = answer(p, { ...ALL, functions });
				const tree = inverted ? new BottomUp(p.reversed("function", fold), a) : new TopDown(p.shape("function", fold), a);
				assert.deepEqual(writeOut(p, tree), wanted);
			}
});

test("what goes through functions, files and lines counts each of many stacks once", () => {
	let state = 3;
	const draw = (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
	const names = ["a", "b", "c", "d"];
	const sites = Array.from({ length: 2500 }, () => peak(Array.from({ length: 1 + draw(8) }, () => names[draw(names.length)]).join(" "), 1 + draw(1000)));
	const p = makeProfile({ sites });
	const a = answer(p, ALL);
	const files = new Map(allFiles(p, a).map((f) => [p.text(f.file), f]));
	const functions = allFunctions(p, a);
	for (const group of functions.groups) {
		const row = { group, total: functions.total[group], self: functions.self[group] };
		const name = p.functionName(group);
		const sum = (of) => of.reduce((n, s) => n + s.at_peak_bytes, 0);
		const stacks = sites.map((s) => ({ ...s, frames: s.stack.split(" ") }));
		const having = stacks.filter((s) => s.frames.includes(name));
		const self = sum(having.filter((s) => s.frames.at(-1) === name));
		assert.deepEqual([row.total, row.self], [sum(having), self]);
		const file = files.get(`/src/${name}.c`);
		assert.deepEqual([file.total, file.self], [sum(having), self]);
		assert.deepEqual([...linesOf(p, a, file.file).values()].map((l) => [l.total, l.self]), [[sum(having), self]]);
		const found = findCallers(p, a, row.group);
		assert.deepEqual([found.total, found.self], [sum(having), self]);
		for (const other of names) {
			const calls = having.filter((s) => s.frames[s.frames.lastIndexOf(name) + 1] === other);
			const called = having.filter((s) => s.frames[s.frames.indexOf(name) - 1] === other);
			const of = (list) => list.find((n) => n.group >= 0 && p.functionName(n.group) === other)?.value ?? 0;
			assert.deepEqual([of(found.callees), of(found.callers)], [sum(calls), sum(called)]);
		}
	}
});

test("threads are the first level of both directions, with their shares", () => {
	const p = makeProfile({
		threads: [{ serial: 1, name: "one" }, { serial: 2, name: "two" }],
		sites: [peak("main a", 10, { thread: 1 }), peak("main b", 30, { parts: [{ thread: 1, at_peak_bytes: 5 }, { thread: 2, at_peak_bytes: 25 }] })],
	});
	for (const inverted of [false, true]) {
		const threads = p.byThread(isTimed(ALL));
		const dealt = threads.deal(answer(p, ALL), COLUMNS.peak);
		const tree = inverted ? new BottomUp(p.reversed("function", false), dealt, threads) : new TopDown(p.shape("function", false), dealt, threads);
		assert.deepEqual(shape(p, tree, tree.root), [["two (1002)", 25], ["one (1001)", 15]]);
		assert.equal(tree.root.value, 40);
		assert.equal(threads.column("at_peak_bytes").reduce((a, b) => a + b), 40);
	}
	const live = { ...ALL, figure: "live" };
	const timed = p.byThread(isTimed(live));
	const tree = new TopDown(p.shape("function", false), timed.deal(answer(p, live), [null, "allocations"]), timed);
	assert.equal(tree.rows(tree.root).length, 2);
});

test("a thread's answer has its parts alone", () => {
	const p = makeProfile({ sites: [peak("a", 10, { thread: 1 }), peak("b", 30, { parts: [{ thread: 1, at_peak_bytes: 5 }, { thread: 2, at_peak_bytes: 25 }] })] });
	assert.equal(answer(p, { ...ALL, thread: 2 }).total, 25);
	assert.equal(answer(p, { ...ALL, thread: 1 }).total, 15);
});

const timed = () => makeProfile({ sites: [peak("main up", 0), peak("main down", 0)], points: [0, 50, 100], changes: [[0, 0, 10, 1], [0, 1, 100, 4], [1, 0, 40, 1], [2, 1, 70, 2]] });

test("growth keeps what shrank beside what grew", () => {
	const p = timed();
	const a = answer(p, { ...ALL, figure: "growth", range: { from: 0, to: 2 } });
	assert.deepEqual([...a.values], [30, -30]);
	const tree = new TopDown(p.shape("function", false), a);
	assert.deepEqual([tree.root.value, tree.root.size], [0, 60]);
	assert.deepEqual(tree.open(tree.open(tree.root)[0]).map((n) => n.size), [30, 30]);
});

test("live at a moment is the last change until then", () => {
	const at = (to) => [...answer(timed(), { ...ALL, figure: "live", range: { from: to, to } }).bytes];
	assert.deepEqual([at(0), at(1), at(2)], [[10, 100], [40, 100], [40, 70]]);
});

test("the last change before any place is what going through all of them gives", () => {
	const sites = Uint32Array.from({ length: 103 }, (_, i) => (i * 7919) % 13);
	const changes = new LastChanges(sites, 14);
	for (const isPrepared of [false, true]) {
		if (isPrepared) finish(changes);
		for (let end = 0; end <= sites.length; end++) {
			const last = Array.from({ length: 14 }, (_, site) => sites.lastIndexOf(site, end - 1) + 1);
			assert.deepEqual(end ? last : new Array(14).fill(0), withArrays(new Memory(), (arrays) => [...changes.before(end, arrays)]));
		}
	}
});

test("runs of rows are one after the other, and nothing is left out", () => {
	for (const count of [0, 1, 1023, 1024, 1025, 5000]) {
		const there = [];
		inRuns(count, (from, to, list) => { for (let i = from; i < to; i++) list.push(i); }, there);
		assert.deepEqual(there, Array.from({ length: count }, (_, i) => i));
		const back = [];
		inRunsBack(count, (from, to, list) => { for (let i = to - 1; i >= from; i--) list.push(i); }, back);
		assert.deepEqual(back, there.toReversed());
	}
});

test("a text is found wherever it is in a name, and never across two", () => {
	const names = ["Step19", "step1", "9lives", "xstep19x", "", "s", "pets", "čaša 19", "stestep19"];
	const found = new Names(Uint32Array.from(names, (_, i) => i), (i) => names[i]);
	for (const text of ["s", "step19", "STEP1", "9", "19", "ts", "tep", "1\n9", "9l", "š", "zzz", "ste", "x"])
		assert.deepEqual([...found.find(text)], names.map((name) => Number(name.toLowerCase().includes(text.toLowerCase()))), text);
});

test("names have their places whatever their case, also after they were searched", () => {
	const names = ["b", "A", "c", "", "a", "B2"];
	const all = new Names(Uint32Array.from([0, 1, 2, 3, 4, 5, 2]), (i) => names[i]);
	all.find("a");
	const places = [...all.places()];
	assert.equal(places[6], places[2]);
	assert.equal(places[1], places[4]);
	assert.deepEqual([1, 0, 5, 2].map((i) => places[i]), [1, 0, 5, 2].map((i) => places[i]).sort((x, y) => x - y));
	assert.equal(new Set([1, 0, 5, 2].map((i) => places[i])).size, 4);
});

test("functions with as much of one figure go by the other, and then stay as they are", () => {
	const count = 2000;
	const of = (step, most) => Float64Array.from({ length: count }, (_, i) => ((i * step) % most) * (i % 3 ? 1 : -1));
	const f = { groups: Uint32Array.from({ length: count }, (_, i) => i), self: of(7, 5), total: of(11, 40) };
	for (const [by, other] of [["self", "total"], ["total", "self"]]) {
		const compare = (x, y) => Math.abs(f[by][y]) - Math.abs(f[by][x]) || Math.abs(f[other][y]) - Math.abs(f[other][x]) || x - y;
		assert.deepEqual(rankFunctions(f, f.groups, by).slice(Infinity), [...f.groups].sort(compare));
	}
});

test("filters go by functions and modules", () => {
	const p = makeProfile({ sites: [peak("main libz`Inflate", 3), peak("main other", 4)] });
	assert.equal(answer(p, { ...ALL, functions: "inFL" }).total, 3);
	assert.equal(answer(p, { ...ALL, module: "libz" }).total, 3);
	assert.deepEqual(p.modules(), ["app", "libz"]);
});

test("a function's callers and callees count each stack once", () => {
	const p = makeProfile({ sites: [peak("main f f g", 6), peak("main f", 2)] });
	const a = answer(p, ALL);
	const { groups, self, total } = allFunctions(p, a);
	const rows = Object.fromEntries(Array.from(groups, (g) => [p.functionName(g), [self[g], total[g]]]));
	const order = rankFunctions({ self, total }, groups, "self").slice(3);
	assert.deepEqual(order.map((place) => p.functionName(groups[place])), ["g", "f", "main"]); // by what they have themselves
	assert.deepEqual(rows, { main: [0, 8], f: [2, 8], g: [6, 6] });
	const f = findCallers(p, a, 1);
	assert.deepEqual([f.total, f.self, f.callers.map((c) => c.value), f.callees.map((c) => c.value)], [8, 2, [8], [6]]);
});

test("what grows is found again where lines, names or frames of one's own are not known", () => {
	const sites = ["plain", "other", "nameless", "leaf"].map((name) => ({ stack: `main ${name}`, live_bytes: 5, live_blocks: 1 }));
	const unknown = { function: null, file: null, line: null, module: "/bin/app", offset: null };
	const places = [{ ...unknown, function: "plain" }, { ...unknown, function: "other", file: "/src/other.c", line: 7 }, { ...unknown, offset: 77 }, { ...unknown, function: "leaf", file: "/src/leaf.c", line: 1 }];
	const p = makeProfile({ sites, header: { findings: { findings: places.map((frame) => ({ kind: "growing-leak", own_frame: 0, stack: [frame] })) } } });
	const [plain, nameless] = ["plain", "nameless"].map((name) => [...p.frames.keys()].find((frame) => p.functionName(frame) === name));
	for (const frame of [plain, nameless]) p.frameFile[frame] = p.frameLine[frame] = 0;
	p.frameFunction[nameless] = 0;
	p.pack.f64("frame.offset")[nameless] = 77;
	p.pack.u32("site.own")[3] = 0xffffffff; // the leaf stands for it
	const { growing, "one-off": others } = findLeaks(p, 10);
	assert.deepEqual([growing, others].map(sitesOf), [[0, 2, 3], [1]]); // line 7 of the other is another place
});

const sitesOf = ({ places }) => places.flatMap((place) => place.largest.map((leak) => leak.site));

test("leaks are growing, one-off or suppressed", () => {
	const leaked = (stack, bytes, more = {}) => ({ stack, live_bytes: bytes, live_blocks: 1, ...more });
	const findings = { findings: [{ kind: "growing-leak", own_frame: 0, stack: [{ function: "g", file: "/src/g.c", line: 1, module: "/bin/app", offset: null }] }] };
	const p = makeProfile({ sites: [leaked("g", 5), leaked("o", 7), leaked("s", 9, { rule: "libc" }), { stack: "none" }], header: { findings } });
	const groups = findLeaks(p, 10);
	assert.deepEqual(["growing", "one-off", "suppressed"].map((k) => [groups[k].bytes, groups[k].stacks]), [[5, 1], [7, 1], [9, 1]]);
	assert.equal(groups.suppressed.places[0].largest[0].rule, "libc");
	assert.deepEqual(leakKinds(p, null, { bytes: p.pack.f64("site.live_bytes"), blocks: p.pack.f64("site.live_blocks") }, null), ["growing", "one-off", "suppressed", ""]);
	assert.equal(findLeaks(p, 0)["one-off"].places.length, 0);
	assert.equal(findLeaks(p, 0)["one-off"].placeCount, 1);
});

test("a function that was called at several of its lines has no line of its own", () => {
	const p = makeProfile({ sites: [peak("main f", 1), peak("main g", 1), peak("main h", 1)] });
	const [f, g, h] = ["f", "g", "h"].map((name) => [...p.frames.keys()].find((frame) => p.functionName(frame) === name));
	p.frameGroup[g] = p.frameGroup[f];
	[p.frameFile[g], p.frameLine[g]] = [p.frameFile[f], p.frameLine[f] + 1];
	assert.deepEqual([f, g, h].map((frame) => p.functionPlace(frame)), ["f.c", "f.c", "h.c:1"]);
	assert.deepEqual([f, g].map((frame) => p.place(frame)), ["f.c:1", "f.c:2"]);
});

test("a leak's quarters are what was live when they were over", () => {
	const p = makeProfile({ sites: [{ stack: "a", live_bytes: 9, live_blocks: 1 }], points: [0, 30, 60, 100], changes: [[0, 0, 1, 1], [1, 0, 4, 1], [3, 0, 9, 1]] });
	assert.deepEqual(findLeaks(p, 5)["one-off"].places[0].quarters, [1, 4, 4, 9]);
});

const SECOND = 1e9;

/** 31 points in 3 s; `lines`: by site, what it has live at a point, in blocks of 1,000 bytes. */
function overTime(sites, lines, header = {}) {
	const points = Array.from({ length: 31 }, (_, k) => (k * SECOND) / 10);
	const changes = points.flatMap((_, k) => lines.flatMap((line, i) => (k && line(k) === line(k - 1) ? [] : [[k, i, 1000 * line(k), line(k)]])));
	const live = points.map((_, k) => lines.reduce((sum, line) => sum + 1000 * line(k), 0));
	const zeros = ["f64", points.map(() => 0)];
	const more = { "point.live_bytes": ["f64", live], "point.peak_bytes": ["f64", live], "point.allocations": zeros, "point.allocated_bytes": zeros, "point.rss_bytes": zeros };
	return makeProfile({ sites, points, changes, more, header });
}

function leaksWithin(p, from, to) {
	const live = answer(p, { ...ALL, figure: "live", range: { from: to, to } });
	const growth = from < to ? answer(p, { ...ALL, figure: "growth", range: { from, to } }) : null;
	const found = findLeaksWithin(p, { from, to }, live, growth, 10);
	if (growth) fillQuarters(p, found, { from, to }, live, growth);
	return found;
}
const told = (groups) => Object.fromEntries(Object.entries(groups).map(([kind, g]) => [kind, g.places.flatMap((place) => place.largest).map((l) => [l.site, l.bytes, l.blocks, l.within.growth])]));

/** Steady from the start, from 1 s on, long before, steady but harmless, gone at 2 s. */
const five = (header) => overTime([{ stack: "a" }, { stack: "b" }, { stack: "c" }, { stack: "d", rule: "libc" }, { stack: "e" }], [(k) => k + 1, (k) => (k >= 10 ? 50 : 0), () => 70, (k) => k + 1, (k) => (k < 20 ? k : 0)], header);

test("what was not freed at the end of a range grows, or does not, or is harmless", () => {
	const { groups, isTold } = leaksWithin(five(), 5, 30);
	assert.ok(isTold);
	assert.deepEqual(told(groups), { growing: [[0, 31000, 31, 25000]], "one-off": [[2, 70000, 70, 0], [1, 50000, 50, 50000]], suppressed: [[3, 31000, 31, 25000]] });
	assert.deepEqual(["growing", "one-off", "suppressed"].map((k) => [groups[k].bytes, groups[k].blocks, groups[k].growth]), [[31000, 31, 25000], [120000, 120, 50000], [31000, 31, 25000]]);
	// Quarters of 0.5 s to 3 s end at 1.125, 1.75, 2.375 and 3 s.
	assert.deepEqual(groups.growing.places[0].quarters, [12000, 18000, 24000, 31000]);
	assert.deepEqual(groups["one-off"].places.map((place) => place.quarters), [[70000, 70000, 70000, 70000], [50000, 50000, 50000, 50000]]);
});

test("what a range is too short for is not told of it", () => {
	const p = five();
	const { groups, isTold } = leaksWithin(p, 5, 20); // 16 points
	assert.ok(!isTold);
	assert.deepEqual(told(groups), { growing: [], "one-off": [[2, 70000, 70, 0], [1, 50000, 50, 50000], [0, 21000, 21, 15000]], suppressed: [[3, 21000, 21, 15000]] });
	assert.deepEqual([[0, 19], [1, 19], [11, 30]].map(([from, to]) => isLongEnough(p, { from, to })), [true, false, true]);
	assert.ok(!isLongEnough(makeProfile({ points: Array.from({ length: 30 }, (_, k) => k * 1e7) }), { from: 0, to: 29 })); // 0.29 s
});

test("at a moment there is what was alive, and nothing grows", () => {
	const { groups, isTold } = leaksWithin(five(), 15, 15);
	assert.ok(!isTold);
	assert.deepEqual(told(groups), { growing: [], "one-off": [[2, 70000, 70, 0], [1, 50000, 50, 0], [0, 16000, 16, 0], [4, 15000, 15, 0]], suppressed: [[3, 16000, 16, 0]] });
	assert.deepEqual(groups["one-off"].places[0].quarters, []);
});

test("what grows has a hundredth of all that came in the range, 16 KiB in 16 blocks", () => {
	const growing = (...lines) => sitesOf(leaksWithin(overTime(lines.map((_, i) => ({ stack: `f${i}` })), lines), 0, 30).groups.growing);
	assert.deepEqual(growing((k) => k, () => 1e6), [0]); // what was there before does not count
	assert.deepEqual(growing((k) => k, (k) => 99 * k), [1, 0]); // the most growth first: 30,000 of 3,000,000 bytes
	assert.deepEqual(growing((k) => k, (k) => 100 * k), [1]); // of 3,030,000
	assert.deepEqual(growing((k) => k / 2), []); // 15,000 bytes
});

test("two stacks of one line grow together", () => {
	const { groups } = leaksWithin(overTime([{ stack: "main f" }, { stack: "g f" }], [(k) => (k < 15 ? 2 * k : 30), (k) => (k < 15 ? 0 : 2 * (k - 15))]), 0, 30);
	assert.deepEqual(sitesOf(groups.growing).sort(), [0, 1]);
	const [place] = groups.growing.places;
	assert.deepEqual([groups.growing.placeCount, place.stacks, place.bytes, place.blocks, place.growth], [1, 2, 60000, 60, 60000]);
	assert.deepEqual(place.quarters, [14000, 30000, 44000, 60000]); // of both together
});

test("steady is what goes on from the first fifth to the last tenth", () => {
	const times = Float64Array.from({ length: 31 }, (_, k) => 7 * SECOND + (k * SECOND) / 10);
	const line = (f) => times.map((_, k) => f(k));
	assert.ok(isSteady(times, line((k) => 5 * k)));
	assert.ok(!isSteady(times, line(() => 5)));
	assert.ok(!isSteady(times, line((k) => -k)));
	assert.ok(!isSteady(times, line((k) => Math.min(k, 26)))); // 98 % of it are there before 2.7 s
	assert.ok(!isSteady(times, line((k) => Math.max(0, k - 6)))); // 5 % of it come after 0.6 s
});

test("leaks of a range are as doubtful as what was live at its ends", () => {
	const { groups } = leaksWithin(five({ stats: { sample_period: 100 } }), 5, 30);
	assert.deepEqual(groups.growing.places[0].largest[0].within, { growth: 25000, bytesVariance: 3100000, growthVariance: 3700000 });
	assert.deepEqual([groups["one-off"].bytesVariance, groups["one-off"].growthVariance], [12000000, 19000000]);
});

test("buckets are powers of two", () => {
	assert.deepEqual([0, 1, 2, 3, 4, 2 ** 52].map(bucketOf), [0, 1, 2, 2, 3, 53]);
	for (let i = 1; i < 50; i++) assert.deepEqual(bucketRange(i).map(bucketOf), [i, i]);
});

test("a cell has the stacks whose sizes and lifetimes span it", () => {
	const freed = (stack, size, life, frees) => ({ stack, frees, size_min: size, size_max: size, lifetime_min_ns: life, lifetime_max_ns: 4 * life });
	const p = makeProfile({ sites: [freed("a", 8, 100, 2), freed("b", 8, 100, 9), freed("c", 64, 100, 1), freed("d", 8, 9000, 1)] });
	assert.deepEqual([...sitesInCell(p, { size: bucketOf(8), life: bucketOf(200) }, 9).few], [1, 0]);
});

test("sizes over time add up to what is live", () => {
	const { bytes: rows } = timed().sizesOverTime();
	assert.deepEqual([0, 1, 2].map((at) => rows.reduce((sum, row) => sum + row[at], 0)), [110, 140, 110]);
});

test("sizes of a range are those at its ends, and the most at its points", () => {
	// a's blocks are of 10 bytes, then of 64, then there are more of them; b's only one is of 3000.
	const changes = [[0, 0, 100, 10], [1, 1, 3000, 1], [2, 0, 640, 10], [3, 0, 6400, 100], [3, 1, 0, 0]];
	const over = makeProfile({ sites: [peak("a", 0), peak("b", 0)], points: [0, 10, 40, 100], changes }).sizesOverTime();
	const told = (b) => [b.first.bytes, b.first.blocks, b.last.bytes, b.last.blocks, b.mostBytes];
	const rows = (range) => {
		const { buckets, all } = sizesIn(over, range);
		return [...[10, 64, 3000].map((size) => told(buckets[bucketOf(size)])), told(all)];
	};
	assert.deepEqual(rows({ from: 0, to: 3 }), [[100, 10, 0, 0, 100], [0, 0, 6400, 100, 6400], [0, 0, 0, 0, 3000], [100, 10, 6400, 100, 6400]]);
	assert.deepEqual(rows({ from: 0, to: 2 }), [[100, 10, 0, 0, 100], [0, 0, 640, 10, 640], [0, 0, 3000, 1, 3000], [100, 10, 3640, 11, 3640]]);
	assert.deepEqual(rows({ from: 1, to: 1 }), [[100, 10, 100, 10, 100], [0, 0, 0, 0, 0], [3000, 1, 3000, 1, 3000], [3100, 11, 3100, 11, 3100]]);
	assert.deepEqual(told(sizesIn(makeProfile({ sites: [] }).sizesOverTime(), { from: 0, to: 0 }).all), [0, 0, 0, 0, 0]);
});

test("points are as wide as the time until the next, and share a pixel rather than hide one another", () => {
	const times = Float64Array.of(0, 10, 40, 100);
	assert.deepEqual(columnsOver(times, [0, 3], [0, 100], 10), { first: [0, 1, 2, 3, 4], left: [0, 0.1, 0.4, 0.9, 1] });
	assert.deepEqual(columnsOver(times, [0, 3], [0, 100], 5), { first: [0, 2, 3, 4], left: [0, 0.4, 0.8, 1] });
	assert.deepEqual(columnsOver(times, [1, 2], [0, 80], 8), { first: [1, 2, 3], left: [0.125, 0.5, 1] });
	assert.deepEqual(columnsOver(times, [1, 1], [10, 10], 8), { first: [1, 2], left: [0, 1] });
	assert.deepEqual(columnsOver(Float64Array.of(), [0, -1], [0, 100], 8), { first: [0], left: [1] });
});

test("times below a chart are round, and told from the first on where they would be alike", () => {
	const told = (span, most) => ticksOver(span, most).map(({ at, text }) => [Math.round(100 * at), text]);
	assert.deepEqual(told([0, 50e6], 3), [[0, "0 ns"], [40, "20.0 ms"], [80, "40.0 ms"]]);
	assert.deepEqual(told([15e6, 65e6], 3), [[10, "20.0 ms"], [50, "40.0 ms"], [90, "60.0 ms"]]);
	assert.deepEqual(told([10e9, 10.002e9], 2), [[0, "10.0 s"], [50, "+1.00 ms"], [100, "+2.00 ms"]]);
	assert.deepEqual(told([5, 5], 9), [[0, "5 ns"]]);
});

test("threads over time add up to what is live, shared stacks apart", () => {
	const p = makeProfile({ sites: [peak("a", 0, { thread: 7 }), peak("b", 0, { parts: [] })], points: [0, 1, 2], changes: [[0, 0, 5, 1], [1, 1, 6, 1], [2, 0, 0, 0]] });
	const lines = liveByThread(p);
	assert.deepEqual([...lines.get(7)], [5, 5, 0]);
	assert.deepEqual([...lines.get(0)], [0, 6, 6]);
});

test("threads within a range come to what was live at its ends", () => {
	const sites = [peak("a", 0, { thread: 7 }), peak("b", 0, { parts: [] }), peak("c", 0, { thread: 8 })];
	const p = makeProfile({ sites, points: [0, 1, 2, 3, 4], changes: [[0, 0, 5, 1], [1, 1, 6, 1], [2, 0, 20, 2], [2, 2, 3, 1], [3, 0, 1, 1], [3, 1, 8, 2]] });
	const lines = [...liveByThread(p)].map(([serial, line]) => [serial, lineWithin(line, { from: 1, to: 3 })]);
	assert.deepEqual(Object.fromEntries(lines), { 0: { start: 6, end: 8, most: 8 }, 7: { start: 5, end: 1, most: 20 }, 8: { start: 0, end: 3, most: 3 } });
	assert.equal(lines.reduce((sum, [, { start, end }]) => sum + end - start, 0), answer(p, { ...ALL, figure: "growth", range: { from: 1, to: 3 } }).total);
	assert.deepEqual(lineWithin(liveByThread(p).get(7), { from: 2, to: 2 }), { start: 20, end: 20, most: 20 });
});

test("a thread's time within a range is what both have in common", () => {
	assert.deepEqual([[0, 9], [3, 5], [0, 4], [6, 9], [8, 9], [0, 1]].map((life) => timeWithin(life, [2, 7])), [5, 2, 2, 1, 0, 0]);
});

test("two profiles pair by function and module", () => {
	const now = makeProfile({ sites: [peak("main a", 10), peak("main b", 5)] });
	const old = makeProfile({ sites: [peak("main b", 8), peak("main gone", 2), peak("main libz`a", 1)] });
	const union = new Union(now, old);
	const data = union.answer(ALL);
	assert.deepEqual(data.totals, [15, 11]);
	const wanted = [["a", "app", 10], ["a", "libz", 1], ["b", "app", 13], ["gone", "app", 2]];
	const down = new TopDown(union.shape(), data.both);
	for (const [tree, from] of [[down, down.open(down.root)[0]], ...[new BottomUp(union.reversed(), data.both)].map((up) => [up, up.root])])
		assert.deepEqual(tree.open(from).map((n) => [union.functionName(n.frame), union.moduleName(n.frame), n.value]).sort(), wanted);
	const nowOf = down.adderOfFirst(now.siteCount);
	assert.deepEqual(down.open(down.open(down.root)[0]).map((n) => [union.functionName(n.frame), nowOf(n)]).sort(), [["a", 0], ["a", 10], ["b", 5], ["gone", 0]]);
	const changes = union.changes(data);
	assert.deepEqual(changes.order.slice(Infinity).map((place) => changes.differing[place]).map((id) => [union.functionName(id), changes.old[id], changes.now[id]]), [["a", 0, 10], ["b", 8, 5], ["gone", 2, 0], ["a", 1, 0]]);
});

test("what is looked at is found again in the next profile, below a thread too", () => {
	const two = [{ serial: 1, name: "one" }, { serial: 2, name: "two" }];
	const before = makeProfile({ threads: two, sites: [peak("main a", 1)] });
	const after = makeProfile({ threads: [{ serial: 9, name: "new" }, ...two], sites: [peak("main b", 1), peak("main a", 1)] });
	const zoom = (path) => carryState({ ...parseState(""), byThread: true, zoom: path }, before, after).zoom;
	const [main, a] = ["main", "a"].map((name) => Array.from(after.frameGroup.keys()).find((f) => after.functionName(f) === name));
	assert.notEqual(a, 1);
	assert.deepEqual(zoom([0, 1]), [main, a]);
	assert.deepEqual(zoom([2 + 1, 0, 1]), [after.frameCount + 2, main, a]); // the second thread is the third now
	assert.deepEqual(zoom([2 + 2, 0]), [after.frameCount + 3, main]); // several threads
	assert.deepEqual(carryState({ ...parseState(""), zoom: [3] }, after, before).zoom, []); // the new one was not there
});

test("a high picture is cut where it is in sight, and nothing is left out", () => {
  assert.deepEqual(cutRows(1, 0, 1), [[0, 8]]);
  assert.deepEqual(cutRows(60, 0, 35), [[0, 40], [40, 64]]);
  assert.deepEqual(cutRows(200, 100, 131), [[0, 64], [64, 96], [96, 136], [136, 200]]);
  assert.deepEqual(cutRows(20, 20, 20), [[0, 16], [16, 24]]); // all of it is above the window
});

test("an address holds the state, and rubbish is as if it were not there", () => {
	const state = { ...parseState(""), page: "flame", fold: true, byThread: true, zoom: [1, 2], pair: [3], from: 1, to: 4, search: "a&b=c" };
	assert.deepEqual(parseState(printState(state)), state);
	assert.deepEqual(parseState("#flame?from=x&zoom=a.b&figure=none&thread=-1"), { ...parseState(""), page: "flame" });
	for (const rubbish of ["from=9ns&to=1ns", "from=1ns", "to=1ns", "from=-1ns&to=1ns", "from=1h&to=2h", "from=1e400&to=1e401", "from=ns&to=ns"]) assert.deepEqual(parseState(`#overview?${rubbish}`), parseState(""), rubbish);
});

test("a range in an address is times, with their unit", () => {
	assert.equal(printState({ ...parseState(""), page: "time", from: 0, to: 1220000001 }), "#time?from=0ns&to=1220000001ns");
	const times = (words) => (({ from, to }) => [from, to])(parseState(`#time?${words}`));
	assert.deepEqual(times("from=0ns&to=1220000001ns"), [0, 1220000001]);
	assert.deepEqual(times("from=1.5us&to=20ms"), [1500, 20000000]);
	assert.deepEqual(times("from=1.25s&to=3"), [1250000000, 3000000000]); // as commands have it, a number alone is seconds
});

test("a range stays where it was in time when points are thinned out, however often", () => {
	const full = Array.from({ length: 64 }, (_, i) => 10 * i);
	const state = { ...parseState(""), from: 130, to: 390 };
	let before = makeProfile({ points: full });
	assert.deepEqual(pointsOf(before, state.from, state.to), { from: 13, to: 39 });
	let [kept, last] = [state, before];
	for (let apart = 2; apart <= 16; apart *= 2) {
		const points = full.filter((_, i) => i % apart === 0);
		const next = makeProfile({ points });
		kept = carryState(kept, last, next);
		last = next;
		const { from, to } = pointsOf(next, kept.from, kept.to);
		for (const [time, point] of [[130, from], [390, to]]) assert.ok(points[point] <= time && !(points[point + 1] <= time)); // the last at or before
	}
	assert.deepEqual([kept.from, kept.to], [130, 390]);
	assert.deepEqual(pointsOf(before, 5, 15), { from: 0, to: 1 });
	assert.deepEqual(pointsOf(makeProfile({ points: [10, 20] }), 5, 99), { from: 0, to: 1 }); // there is nothing before the first, or after the last
	assert.equal(pointsOf(makeProfile({}), 0, 1), null);
});

test("what is open in a tree is found again in the next profile", () => {
	const before = makeProfile({ sites: [peak("main a", 1), peak("main gone", 1)] });
	const after = makeProfile({ sites: [peak("main b", 1), peak("main a", 1)] });
	const frame = (p, name) => Array.from(p.frameGroup.keys()).find((f) => p.functionName(f) === name);
	const path = (p, ...names) => names.map((name) => frame(p, name));
	assert.deepEqual(carryPaths([[], path(before, "main", "a"), path(before, "main", "gone")], true, before, after), [[], path(after, "main", "a")]);
});

test("what a damaged file has lost is not 0, but not known", () => {
	const file = { points: [0, 1], sites: [peak("main a", 7)] };
	const [whole, cut] = [makeProfile(file), makeProfile({ ...file, header: { lost_stacks_over_time: true } })];
	const missing = "the stacks over time are missing from this file";
	for (const q of [{ ...ALL, range: { from: 0, to: 1 } }, { ...ALL, figure: "live" }, { ...ALL, figure: "growth" }]) {
		assert.deepEqual([answer(whole, q).lost, answer(cut, q).lost, answer(cut, q).note], ["", missing, missing]);
	}
	assert.deepEqual([answer(cut, ALL).lost, answer(cut, ALL).total], ["", 7]); // the peak is known
	assert.equal(new Union(cut, whole).answer({ ...ALL, figure: "live" }).both.lost, missing);
});

test("characters that act are shown as numbers", () => {
	assert.equal(plain("a\u202eb\u0007\u2066c\u200f"), "a\\u202eb\\u0007\\u2066c\\u200f");
	assert.equal(plain("tab\tand\nna\u00efve <b>"), "tab\tand\nna\u00efve <b>");
});

test("a comment goes on in the next lines, wherever one begins to look", () => {
	const lines = ["int a; /* one", "two", "three */ return 1;"];
	const look = () => new Highlighter(languageOf("x.c"), lines);
	assert.deepEqual(look().at(1), [{ text: "two", kind: "comment" }]);
	assert.deepEqual(look().at(2).filter((t) => t.kind).map((t) => t.kind), ["comment", "keyword", "number"]);
});

test("data that is cut off or strange is refused", () => {
	assert.throws(() => new Pack(new ArrayBuffer(4)), /not a midden profile/);
	const bytes = new Uint8Array(24);
	bytes.set(new TextEncoder().encode("MDNPACK1"));
	bytes[8] = 255;
	assert.throws(() => new Pack(bytes.buffer), /cut off/);
});

test("intervals are those that the commands print", () => {
	// Numbers of src/model/interval.c: 18 samples of 64 KiB, 16 samples of blocks; nothing to doubt.
	assert.deepEqual(bytesWithin(18 * 65536, 18 * 65536 ** 2, 65536), { low: 724007, high: 1824224 });
	assert.deepEqual(bytesWithin(5000, 0, 65536), { low: 5000, high: 5000 });
	assert.deepEqual(blocksWithin(0, 0), { low: 0, high: 0 });
	assert.deepEqual(blocksWithin(1000, (1000 * 1000) / 16), { low: 595, high: 1585 });
	assert.equal(errorOf(100 * 100), 196);
});

const u32 = (...list) => ["u32", list];
const f64 = (...list) => ["f64", list];
const PINS = {
	"pin.survey": u32(0, 0, 2), "pin.site": u32(0, 1, 1), "pin.resident_bytes": f64(4096, 8192, 100), "pin.pinned_bytes": f64(4000, 10, 1),
	"pin.live_bytes": f64(96, 8182, 99), "pin.live_blocks": f64(1, 2, 3), "pin.lone_pages": f64(1, 0, 0), "pin.alone_bytes": f64(4096, 8192, 0),
	"cell.survey": u32(0, 2), "cell.pages": u32(2, 3), "cell.resident_pages": u32(1, 3), "cell.held_pages": u32(1, 0), "cell.site": u32(2, 0), "cell.start": f64(65536, 0), "cell.live_bytes": f64(8182, 0),
};

test("what is resident goes by look, and one that failed is none", () => {
	const rss = [{ reason: "end", time_ns: 5 }, { reason: "snapshot", time_ns: 6, fault: "gone" }, { reason: "peak", time_ns: 7 }];
	const p = makeProfile({ sites: [peak("main a", 1), peak("main b", 1)], more: PINS, header: { stats: { rss } } });
	assert.deepEqual(p.looks().map((l) => l.index), [0, 2]);
	assert.equal(lookOf(p, 1, null).index, 2);
	assert.ok(figuresOf(p).includes("pinned") && !figuresOf(p).includes("live"));
	assert.deepEqual([...answer(p, { ...ALL, figure: "resident", look: 0 }).bytes], [4096, 8192]);
	assert.deepEqual([...answer(p, { ...ALL, figure: "pinned" }).bytes], [0, 1]);
	const holders = new Holders(p, p.looks()[0]);
	const told = (sum) => [...holders.order(sum)].map((i) => [p.functionName(holders.at(i).frame), holders.at(i)[sum]]);
	assert.deepEqual([told("alone"), told("pinned")], [[["b", 8192], ["a", 4096]], [["a", 4000], ["b", 10]]]);
	assert.deepEqual(listPins(p, p.looks()[0], holders.at(holders.order("resident")[0]), 9), { count: 1, pins: [{ site: 1, resident: 8192, pinned: 10, live: 8182, blocks: 2, lone: 0, alone: 8192 }] });
	assert.deepEqual(listCells(p, p.looks()[0]), [{ start: 65536, pages: 2, resident: 1, held: 1, live: 8182, site: 1 }]);
	assert.equal(makeProfile({ sites: [] }).looks().length, 0);
});

test("the peak of the resident size is where it was highest of all looks, whatever they were made for", () => {
	const titles = (...rss) => makeProfile({ sites: [peak("main a", 1)], more: { ...PINS, "snapshot.name": u32(0), "snapshot.point": u32(0) }, header: { stats: { rss } } }).looks().map((look) => look.title + look.aside);
	const [first, second, end] = [{ reason: "peak", rss_bytes: 5 }, { reason: "snapshot", snapshot: 1, rss_bytes: 7 }, { reason: "end", rss_bytes: 7 }];
	assert.deepEqual(titles(first, { ...end, rss_bytes: 5 }), ["at the peak of the resident size", "at the end"]);
	assert.deepEqual(titles(first, end), ["at a peak of the resident size", "at the end, where the resident size was highest of 2 looks"]);
	assert.deepEqual(titles(first, second, end), ["at a peak of the resident size", "at snapshot 1, where the resident size was highest of 3 looks", "at the end"]);
	assert.deepEqual(titles(first, { ...end, fault: "gone" }), ["at the peak of the resident size"]);
	assert.deepEqual(titles(end), ["at the end"]);
});

test("of a range it is the last look within, or else the last before its end, or else the first", () => {
	// The look of the snapshot, which is of point 2, took its time; so did the one at the end.
	const rss = [{ reason: "peak", time_ns: 5, rss_bytes: 9 }, { reason: "snapshot", snapshot: 1, time_ns: 21.5, rss_bytes: 8 }, { reason: "end", time_ns: 31, rss_bytes: 7 }];
	const more = { ...PINS, "snapshot.name": u32(0), "snapshot.point": u32(2) };
	const p = makeProfile({ sites: [peak("main a", 1), peak("main b", 1)], points: [0, 10, 20, 30], more, header: { stats: { rss } } });
	const shown = (from, to, index = -1) => lookOf(p, index, { from, to }).index;
	assert.deepEqual([shown(0, 1), shown(0, 2), shown(2, 2), shown(0, 3), shown(3, 3)], [0, 1, 1, 2, 2]);
	assert.deepEqual([shown(1, 1), shown(0, 0), shown(0, 1, 2)], [0, 0, 2]);
	assert.deepEqual(p.looks().map((look) => isWithin(p, look, { from: 1, to: 2 })), [false, true, false]);
	const note = (range) => answer(p, { ...ALL, figure: "resident", range }).note;
	assert.deepEqual([note({ from: 0, to: 1 }), note({ from: 1, to: 1 })], ["at the peak of the resident size", "resident is as of a look outside of the range, at the peak of the resident size"]);
	assert.deepEqual([...answer(p, { ...ALL, figure: "resident", range: { from: 0, to: 1 } }).bytes], [4096, 8192]);
	assert.deepEqual([...answer(p, { ...ALL, figure: "resident", range: { from: 3, to: 3 } }).bytes], [0, 100]);
});

test("maps take the place of blocks and have kinds", () => {
	const blocks = makeProfile({ sites: [peak("main a", 1), peak("main b", 2)], more: { "map.node": u32(1, 2, 2), "map.kind": u32(0, 1, 4), "map.thread": u32(0, 0, 0), "map.at_peak_bytes": f64(10, 20, 30), "map.at_peak_blocks": f64(1, 1, 1) }, header: { stats: { sample_period: 512, peak_bytes: 3, maps: { peak_bytes: 60 } } } });
	const p = new Profile(blocks.pack.ofMaps(), blocks);
	assert.equal(p.siteCount, 3);
	assert.deepEqual([0, 1, 2, 3].map((site) => p.stack(site).map((f) => p.functionName(f))), [["main"], ["a", "main"], ["a", "main"], []]);
	assert.deepEqual(shape(p, ...[new TopDown(p.shape("function", false), answer(p, ALL))].flatMap((tree) => [tree, tree.root])), [["main", 60]]);
	assert.equal(answer(p, { ...ALL, maps: "all" }).total, 60);
	assert.equal(answer(p, { ...ALL, maps: "break" }).total, 30);
	assert.equal(answer(p, { ...ALL, maps: "break", functions: "b" }).total, 0);
	assert.equal(answer(p, ALL).variance, null);
	assert.equal(p.pack.header.stats.peak_bytes, 60);
	assert.deepEqual([answer(blocks, ALL).total, p.pack.u32("thread.serial").length], [3, 0]);
	assert.equal(makeProfile({ sites: [] }).pack.ofMaps(), null);
});

test("of a range, all maps together are what the time line has", () => {
	const more = { "point.mapped_bytes": f64(10, 20, 0, 5), "point.mapped_count": f64(1, 2, 0, 1), "point.mapped_peak_bytes": f64(99, 30, 25, 5) };
	const p = makeProfile({ sites: [], points: [0, 1, 2, 3], more });
	assert.deepEqual(mappedIn(p, { from: 0, to: 2 }), { first: { bytes: 10, maps: 1 }, last: { bytes: 0, maps: 0 }, most: 30 });
	assert.deepEqual(mappedIn(p, { from: 1, to: 1 }), { first: { bytes: 20, maps: 2 }, last: { bytes: 20, maps: 2 }, most: 20 });
	assert.equal(mappedIn(makeProfile({ sites: [], points: [0] }), { from: 0, to: 0 }), null);
});

test("lost rows that a rule names do not count, and a chain ends", () => {
	const more = {
		"lost.site": u32(0, 1, 1), "lost.class": u32(0, 0, 3), "lost.chain": u32(0, 0, 2), "lost.bytes": f64(10, 20, 30), "lost.blocks": f64(1, 1, 1), "lost.held_bytes": f64(0, 0, 0), "lost.held_blocks": f64(0, 0, 0),
		"link.block": u32(0, 1), "link.site": u32(0, 2), "link.holder": u32(2, 1), "link.text": u32(0, 0), "link.offset": f64(0, 8), "link.inside": f64(0, 16),
	};
	const p = makeProfile({ sites: [peak("main a", 1), peak("main b", 1, { rule: "leak:b" })], more });
	const lost = findLost(p, 10);
	assert.deepEqual([lost.definite.bytes, lost.definite.stacks, lost.reachable.bytes], [10, 1, 30]);
	assert.deepEqual(chainOf(p, lost.reachable.largest[0]).map((l) => [l.isBlock, l.site, l.offset]), [[true, 1, 8], [false, -1, 0]]);
});

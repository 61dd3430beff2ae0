// answers.test.mjs -- answers whose memory is used again: they stay right, and nobody's is taken too early.
// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { Answers } from "../src/model/answers.ts";
import { allFunctions } from "../src/model/callers.ts";
import { FIGURE_COLUMNS, figureColumn } from "../src/model/figures.ts";
import { Arrays, Memory, withArrays } from "../src/model/memory.ts";
import { drawings, rehearsals } from "../src/model/rehearsals.ts";
import { answer } from "../src/model/question.ts";
import { Union } from "../src/model/union.ts";
import { ALL, makeProfile } from "./profile.mjs";

const FLAME = { inverted: false, by: "function", fold: false, byThread: false };
const SHAPES = [FLAME, { ...FLAME, inverted: true }, { ...FLAME, byThread: true }, { ...FLAME, inverted: true, byThread: true }, { ...FLAME, fold: true }];
const NAMES = ["a", "b", "c", "d", "e"];

/** Always the same one: 300 stacks of two threads, 20 points of time, sampled if there is a period. */
function makeBusyProfile(sample_period = 0) {
	let state = 5;
	const draw = (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
	const sites = Array.from({ length: 300 }, (_, i) => {
		const stack = Array.from({ length: 1 + draw(6) }, () => NAMES[draw(NAMES.length)]).join(" ");
		const parts = [1, 2].map((thread) => ({ thread, at_peak_bytes: draw(100), at_peak_blocks: draw(9), allocations: draw(50) }));
		return { stack, at_peak_bytes: draw(1000), at_peak_blocks: draw(10), live_bytes: draw(500), allocations: draw(90), ...(i % 3 ? { thread: 1 + (i % 2) } : { parts }) };
	});
	const changes = Array.from({ length: 2000 }, (_, i) => [Math.floor(i / 100), draw(300), draw(5000), draw(50)]);
	const threads = [1, 2].map((serial) => ({ serial, name: `t${serial}` }));
	return makeProfile({ sites, changes, threads, points: Array.from({ length: 20 }, (_, i) => i), header: { stats: { sample_period } } });
}

const QUESTIONS = [
	...Array.from({ length: 12 }, (_, i) => ({ ...ALL, figure: "growth", range: { from: i, to: 19 - (i % 4) }, functions: i % 3 ? "" : NAMES[i % 5] })),
	...Array.from({ length: 8 }, (_, i) => ({ ...ALL, range: { from: i, to: i + 5 } })),
	...NAMES.flatMap((functions) => [{ ...ALL, functions }, { ...ALL, figure: "calls", functions }]),
	...[1, 2].flatMap((thread) => [{ ...ALL, thread }, { ...ALL, figure: "temporary", thread, functions: "b" }]),
	ALL,
];

function writeOut(tree) {
	const rows = [];
	const add = (node) => {
		rows.push([tree.path(node).join(), node.value, node.size, tree.count(node), ...Object.values(tree.sum(node))]);
		tree.open(node).forEach(add);
	};
	add(tree.root);
	return rows;
}

function functionsOf(p, a) {
	const { groups, ...figures } = allFunctions(p, a);
	return Array.from(groups, (g) => [g, ...Object.values(figures).map((of) => of?.[g])]);
}

/** All that pages show of a question. */
function tell(p, answers, q) {
	const a = answers.of(p, q);
	const trees = SHAPES.map((options) => writeOut(answers.tree(p, q, options)));
	const tree = answers.tree(p, q, FLAME);
	const columns = FIGURE_COLUMNS.map(({ column }) => tree.total(tree.root, figureColumn(p, column, a)));
	return { total: a.total, values: [...a.values], blocks: [...a.blocks], variance: a.variance && [...a.variance], trees, columns, functions: functionsOf(p, a) };
}

test("memory that was given back is used again, and all 0", () => {
	const memory = new Memory();
	const first = new Arrays(memory);
	const array = first.f64(1000).fill(7);
	const kept = new Arrays(memory).f64(1000);
	assert.ok(first.has(array) && !first.has(kept));
	first.giveBack();
	const again = new Arrays(memory).f64(1001); // a sum has one more
	assert.equal(again.buffer, array.buffer);
	assert.ok(again !== array && again.length === 1001 && again.every((n) => n === 0));
	assert.notEqual(new Arrays(memory).f64(1000).buffer, again.buffer);
	const own = withArrays(memory, (arrays) => arrays.u32(2000).fill(1));
	assert.equal(new Arrays(memory).u8(8000).buffer, own.buffer);
	first.giveBack(); // has nothing any more
	assert.notEqual(new Arrays(memory).f64(1000).buffer, again.buffer);
});

test("what the last two questions are answered with is nobody else's", () => {
	const p = makeBusyProfile();
	const answers = new Answers(0); // forgets as soon as it may
	const buffers = QUESTIONS.map((q) => answers.of(p, q).values.buffer);
	for (let i = 2; i < buffers.length; i++) assert.ok(p.pack.f64("site.at_peak_bytes").buffer === buffers[i] || ![buffers[i - 1], buffers[i - 2]].includes(buffers[i]));
	assert.ok(new Set(buffers).size < QUESTIONS.length / 2, "memory is used again");
	const a = answers.of(p, QUESTIONS[0]);
	answers.of(p, QUESTIONS[1]);
	assert.equal(answers.of(p, QUESTIONS[0]), a); // which makes it the last
	answers.of(p, QUESTIONS[2]);
	assert.equal(answers.of(p, QUESTIONS[0]), a);
});

test("trees are kept for the last four questions alone", () => {
	const p = makeBusyProfile();
	const answers = new Answers();
	const whole = ["peak", "leaked", "allocated", "calls", "temporary"].map((figure) => ({ ...ALL, figure }));
	const trees = whole.map((q) => answers.tree(p, q, FLAME));
	const first = answers.of(p, whole[0]);
	assert.equal(answers.tree(p, whole[1], FLAME), trees[1]);
	assert.equal(first, trees[0].answer); // which is known still
	assert.notEqual(answers.tree(p, whole[0], FLAME), trees[0]);
});

test("what is drawn ahead are trees of every kind, from their own nodes", () => {
	const p = makeBusyProfile();
	const seen = new Set();
	const draw = (tree, root, search) => {
		assert.ok(root === tree.root || root.parent === tree.root);
		seen.add(JSON.stringify([tree.inverted, tree.by, tree.threads !== null, tree.answer.question.figure, tree.answer.chosen !== null, search]));
	};
	for (const work of drawings(p, draw)) while (!work.step());
	assert.equal(seen.size, 2 * 7);
});

test("answers stay right after many questions, exact and sampled", () => {
	for (const period of [0, 512]) {
		const p = makeBusyProfile(period);
		const columns = () => ["site.at_peak_bytes", "site.allocations", "change.live_bytes", "part.at_peak_bytes"].map((name) => [...p.pack.f64(name)]);
		const before = columns();
		const wanted = QUESTIONS.map((q) => tell(makeBusyProfile(period), new Answers(), q)); // each of a profile of its own
		const answers = new Answers(0);
		for (const work of rehearsals(p)) while (!work.step());
		for (let round = 0; round < 2; round++) QUESTIONS.forEach((q, i) => assert.deepEqual(tell(p, answers, q), wanted[i]));
		assert.deepEqual(tell(p, answers, QUESTIONS[0]), wanted[0]);
		assert.deepEqual(columns(), before);
	}
});

test("two profiles stay right after many questions", () => {
	const union = new Union(makeBusyProfile(512), makeBusyProfile());
	const questions = NAMES.flatMap((functions) => [{ ...ALL, functions }, { ...ALL, figure: "calls", functions }]);
	const ask = (u, q) => u.answer(q);
	const copy = ({ both, totals }) => [[...both.values], [...both.variance], totals];
	const wanted = questions.map((q) => copy(ask(new Union(makeBusyProfile(512), makeBusyProfile()), q)));
	let last = null;
	for (let i = 0; i < 30; i++) {
		last?.both.arrays.giveBack();
		const question = questions[i % questions.length];
		const known = i % 3 ? null : answer(union.now, question);
		const values = known && [...known.values];
		last = union.answer(question, known);
		assert.deepEqual(copy(last), wanted[i % questions.length]);
		if (known) assert.deepEqual([...known.values], values); // it is still somebody else's
		known?.arrays.giveBack();
	}
});

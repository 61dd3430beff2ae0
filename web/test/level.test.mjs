// level.test.mjs -- rows of tables are the nodes of trees, in whatever order, with whatever is open.
// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { BottomUp } from "../src/model/bottomup.ts";
import { OpenRows } from "../src/model/level.ts";
import { answer } from "../src/model/question.ts";
import { TopDown } from "../src/model/topdown.ts";
import { ALL, makeProfile } from "./profile.mjs";

/** Stacks of a few functions, of which many end alike, with figures that are often the same. */
function makeMany(count) {
	let state = 7;
	const draw = (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
	const stack = () => ["main", ...Array.from({ length: 1 + draw(5) }, () => `f${draw(40)}`)].join(" ");
	return makeProfile({ sites: Array.from({ length: count }, () => ({ stack: stack(), at_peak_bytes: draw(6) * 8, at_peak_blocks: draw(3), allocations: 1 + draw(9), allocated_bytes: draw(1000) })) });
}

const trees = (p) => ["function", "line"].flatMap((by) => [false, true].flatMap((fold) => ["", "f1"].flatMap((functions) => {
	const a = () => answer(p, { ...ALL, functions });
	return [new TopDown(p.shape(by, fold), a()), new BottomUp(p.reversed(by, fold), a())];
})));

const column = (p, name) => p.pack.f64(`site.${name}`);
const facts = ({ frame, value, size, from, to, depth }) => ({ frame, value, size, from, to, depth });

test("a level has the children that opening the node gives, in the same order", () => {
	const p = makeMany(1500);
	for (const tree of trees(p)) {
		const level = tree.level(tree.root);
		assert.deepEqual(level.order.slice(Infinity).map((child) => facts(level.node(child))), tree.open(tree.root).map(facts));
		const first = level.node(level.order.at(0));
		assert.equal(tree.seek(tree.path(first)), first);
		assert.equal(tree.seek([first.frame, 999]), null);
	}
});

test("what is told of rows is what their nodes come to, whether or not their figures were added up before", () => {
	const p = makeMany(1500);
	for (const tree of trees(p)) {
		const level = tree.level(tree.root);
		const top = level.order.slice(20).map((child) => level.node(child));
		const inner = top.flatMap((node) => tree.level(node).order.slice(3).map((child) => tree.level(node).node(child)));
		const nodes = [tree.root, ...top.slice(3), ...inner];
		const others = [column(p, "allocated_bytes"), column(p, "allocations")];
		const told = tree.tell(nodes, others);
		assert.deepEqual(told.map((one) => one.others), nodes.map((node) => others.map((values) => tree.total(node, values))));
		assert.deepEqual(told.map((one) => one.bytes), nodes.map((node) => node.value));
		assert.deepEqual(tree.tell(nodes, others), told);
	}
});

test("rows are in the order of a figure, those inside of an open one below it", () => {
	const p = makeMany(1500);
	for (const tree of trees(p)) {
		const level = tree.level(tree.root);
		const open = new Set([level.node(level.order.at(2)), level.node(level.order.at(level.order.length - 1))]);
		open.add(tree.level([...open][0]).node(0));
		const calls = column(p, "allocations");
		const rows = new OpenRows((node) => tree.level(node), (node) => open.has(node), (l) => l.sorted("calls", () => tree.amountsOf(l, calls)), tree.root);
		const wanted = [];
		const addInside = (node) => {
			const l = tree.level(node);
			const children = l.order.slice(Infinity).map((child) => l.node(child));
			for (const child of children.sort((a, b) => tree.total(b, calls) - tree.total(a, calls))) {
				wanted.push(child);
				if (open.has(child)) addInside(child);
			}
		};
		addInside(tree.root);
		assert.equal(rows.count, wanted.length);
		assert.ok(wanted.every((node, i) => rows.at(i) === node && rows.indexOf(node) === i));
		assert.deepEqual([rows.at(-1), rows.at(rows.count), rows.indexOf(tree.root)], [undefined, undefined, -1]);
	}
});

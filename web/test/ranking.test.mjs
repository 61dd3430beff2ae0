// ranking.test.mjs -- what is put in order for those who look at a part of it is where sorting all would put it.
// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { Ranking } from "../src/model/ranking.ts";

/** Keys of which many are equal, and frames of which some are. */
function makeKeys(count, kinds, seed) {
	let state = seed;
	const draw = (below) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % below;
	const column = (of) => Float64Array.from({ length: count }, () => (draw(of) - (of >> 1)) * 0.5);
	return { keys: [column(kinds), column(3)], last: Uint32Array.from({ length: count }, () => draw(count)) };
}

function sortAll({ keys, last }, depth) {
	const by = (a, b) => keys.slice(0, depth).reduce((found, column) => found || column[b] - column[a], 0) || last[a] - last[b] || a - b;
	return Array.from(last, (_, i) => i).sort(by);
}

const rankingOf = ({ keys, last }, depth) => new Ranking(last.length, keys.slice(0, depth).map((column) => (room) => room.set(column)), last);

/** Everything equal, few kinds, nearly all different; a few rows and very many. */
const CASES = [0, 1, 2, 63, 64, 65, 130, 1500, 5000].flatMap((count) => [1, 2, 40, 100000].map((kinds) => makeKeys(count, kinds, 1 + count + kinds)));

test("the number at a place is the one that sorting all puts there, wherever one looks first", () => {
	for (const made of CASES)
		for (const depth of [1, 2]) {
			const wanted = sortAll(made, depth);
			const { length } = wanted;
			for (const places of [[0, 30, 64, 200, 1023, 1024], [length - 1, length - 70, 5], [length >> 1, 0, length - 1]]) {
				const ranking = rankingOf(made, depth);
				for (const place of places) assert.equal(ranking.at(place), wanted[place]);
			}
			assert.deepEqual(rankingOf(made, depth).slice(Infinity), wanted);
		}
});

test("numbers that come in rising or falling order are chosen as well", () => {
	for (const sign of [1, -1]) {
		const made = { keys: [Float64Array.from({ length: 4000 }, (_, i) => sign * (i >> 2))], last: new Uint32Array(4000) };
		const [ranking, wanted] = [rankingOf(made, 1), sortAll(made, 1)];
		for (const place of [0, 63, 100, 3999, 3900, 2000]) assert.equal(ranking.at(place), wanted[place]);
	}
});

test("a number's place is where it stands among all; what is none of them has none", () => {
	for (const made of CASES.filter(({ last }) => last.length < 1000)) {
		const wanted = sortAll(made, 2);
		const [fresh, looked, sorted] = [rankingOf(made, 2), rankingOf(made, 2), rankingOf(made, 2)];
		looked.at(0);
		sorted.slice(Infinity);
		for (const ranking of [fresh, looked, sorted]) {
			assert.deepEqual(wanted.map((number) => ranking.placeOf(number)), wanted.map((_, place) => place));
			assert.equal(ranking.placeOf(wanted.length), -1);
			assert.deepEqual([ranking.at(-1), ranking.at(wanted.length)], [undefined, undefined]);
		}
	}
});

test("0 and -0 are the same", () => {
	const made = { keys: [Float64Array.of(-0, 0, -0, 0)], last: Uint32Array.of(3, 2, 1, 0) };
	assert.deepEqual(rankingOf(made, 1).slice(4), [3, 2, 1, 0]);
});

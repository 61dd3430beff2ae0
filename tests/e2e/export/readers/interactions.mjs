// interactions.mjs -- opens the viewer's page in a browser, does one thing after the other, and prints
// how long each took: until the picture is on the screen, and in processor time of the page's thread,
// which other programs on the machine change less.
// usage: node interactions.mjs BROWSER ADDRESS [TIMES] < STEPS
// TIMES: so much slower than it is the page's thread is made.
// STEPS: JSON, a list of [name, what, ...]: ["goto", hash], ["back"], ["click", selector], ["key", key, selector] (of what has the focus),
// ["move", selector, x, y], ["at", selector, x, y] (a click there), ["drag", selector, x, y, to x] (letting go counts),
// ["type", selector, text] (the last letter counts), ["choose", selector, value], ["scroll", selector, y].
// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [executablePath, address, times = "1"] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(0, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--enable-precise-memory-info"] });

const doSteps = {
	goto: (page, hash) => page.evaluate((h) => void (location.hash = h), hash),
	click: (page, selector) => page.evaluate((s) => document.querySelector(s).click(), selector),
	key: (page, key) => page.keyboard.press(key),
	move: (page, _selector, x, y) => page.mouse.move(x, y),
	at: (page, _selector, x, y) => page.mouse.click(x, y),
	drag: (page) => page.mouse.up(),
	back: (page) => page.evaluate(() => history.back()),
	scroll: (page, selector, y) => page.evaluate(([s, top]) => void ((document.querySelector(s) ?? document.documentElement).scrollTop = top), [selector, y]),
	choose: (page, selector, value) => page.evaluate(([s, v]) => {
		const input = document.querySelector(s);
		input.value = v;
		input.dispatchEvent(new Event("change"));
	}, [selector, value]),
	type: (page, selector, text) => page.evaluate(([s, t]) => {
		const input = document.querySelector(s);
		input.value = t;
		input.dispatchEvent(new Event("input"));
	}, [selector, text]),
};

/** Where on the screen the pointer has to go: to find that out is not what is measured. */
const aim = async (page, what, words) => {
	if (what === "key" && words[1]) await page.focus(words[1]);
	if (what !== "move" && what !== "at" && what !== "drag") return words;
	const [selector, x, y, to] = words;
	await page.locator(selector).scrollIntoViewIfNeeded();
	const box = await page.locator(selector).boundingBox();
	if (what === "drag") {
		await page.mouse.move(box.x + x, box.y + y);
		await page.mouse.down();
		await page.mouse.move(box.x + to, box.y + y, { steps: 5 });
	}
	return [selector, box.x + x, box.y + y];
};

/** Until the frame after the one that shows it. */
const painted = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));

/** When the first of the overview was on the screen: the page has nothing else to show before. */
const firstPaint = (page) => page.evaluate(() => new Promise((done) => {
	const look = () => {
		const [paint] = performance.getEntriesByName("first-contentful-paint");
		if (paint) done(paint.startTime);
		else setTimeout(look, 20);
	};
	look();
}));

try {
	const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
	page.setDefaultTimeout(120000);
	const session = await page.context().newCDPSession(page);
	await session.send("Performance.enable", { timeDomain: "threadTicks" });
	const processor = async () => {
		const { metrics } = await session.send("Performance.getMetrics");
		return metrics.find((m) => m.name === "TaskDuration").value * 1000;
	};
	const result = { steps: [] };
	const start = performance.now();
	await page.goto(address, { waitUntil: "commit" });
	await page.waitForSelector("main:not([aria-busy]) *");
	result.whole_ms = performance.now() - start;
	result.first_paint_ms = await firstPaint(page);
	// What the page does ahead while it is looked at.
	await page.waitForSelector("html[data-ready]", { state: "attached" });
	result.ready_ms = performance.now() - start;
	await session.send("Emulation.setCPUThrottlingRate", { rate: Number(times) });
	for (const [name, what, ...where] of steps) {
		const words = await aim(page, what, where);
		const used = await processor();
		const began = performance.now();
		await doSteps[what](page, ...words);
		await painted(page);
		result.steps.push({ name, wall_ms: performance.now() - began, cpu_ms: (await processor()) - used });
	}
	await session.send("HeapProfiler.collectGarbage");
	result.heap_bytes = await page.evaluate(() => performance.memory.usedJSHeapSize);
	// Columns are outside of the script's heap: what the page's process has of its own counts too.
	const { processInfo } = await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
	const own = (id) => Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0) * 1024;
	result.process_bytes = Math.max(...processInfo.filter((p) => p.type === "renderer").map((p) => own(p.id)));
	console.log(JSON.stringify(result));
} finally {
	await browser.close();
}

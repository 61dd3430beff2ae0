// viewer.mjs -- opens the viewer's page in a browser, does what it is told, and prints what it saw.
// usage: node viewer.mjs BROWSER ADDRESS < STEPS
// STEPS: JSON, a list of [what, ...]; every step that looks at something adds to `seen`.
// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [executablePath, address] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(0, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const result = { seen: [], faults: [], requests: [] };

const doSteps = {
	size: (page, width, height) => page.setViewportSize({ width, height }),
	dark: (page) => page.emulateMedia({ colorScheme: "dark" }),
	// The page hears of it later.
	goto: (page, hash) =>
		page.evaluate(
			(h) =>
				new Promise((heard) => {
					const before = location.href;
					addEventListener("hashchange", heard, { once: true });
					location.hash = h;
					if (location.href === before) heard();
				}),
			hash,
		),
	wait: (page, selector) => page.waitForSelector(selector, { state: "attached" }),
	click: (page, selector) => page.click(selector),
	choose: (page, selector, value) => page.selectOption(selector, value),
	fill: (page, selector, text) => page.fill(selector, text),
	change: async (page, selector, text) => {
		await page.fill(selector, text);
		await page.dispatchEvent(selector, "change");
	},
	press: (page, key) => page.keyboard.press(key),
	focus: (page, selector) => page.focus(selector),
	// From and to: shares of the element's width; y a share of its height.
	drag: async (page, selector, from, to) => {
		const box = await page.locator(selector).boundingBox();
		const y = box.y + box.height / 2;
		await page.mouse.move(box.x + box.width * from, y);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * to, y, { steps: 8 });
		await page.mouse.up();
	},
	// At pixels of the element.
	clickAt: (page, selector, x, y) => page.click(selector, { position: { x, y } }),
	hoverAt: (page, selector, x, y) => page.hover(selector, { position: { x, y } }),
	// At a share of the element's width, in the middle of its height.
	hoverShare: async (page, selector, share) => {
		const box = await page.locator(selector).boundingBox();
		await page.mouse.move(box.x + box.width * share, box.y + box.height / 2);
	},
	back: (page) => page.goBack(),
	reload: (page) => page.reload(),
	shot: (page, path) => page.screenshot({ path }),
};
const lookSteps = {
	text: (page, selector) => page.locator(selector).first().innerText(),
	texts: (page, selector) => page.locator(selector).allInnerTexts(),
	count: (page, selector) => page.locator(selector).count(),
	data: (page, selector, name) => page.locator(selector).first().getAttribute(`data-${name}`),
	hash: (page) => page.evaluate(() => location.hash),
	eval: (page, script) => page.evaluate(script),
	// The pointer over an element from left to right: what another one says meanwhile.
	sweep: async (page, selector, told) => {
		const box = await page.locator(selector).boundingBox();
		const texts = new Set();
		for (let x = 0; x < box.width; x += 4) {
			await page.mouse.move(box.x + x, box.y + box.height / 2);
			texts.add(await page.locator(told).textContent());
		}
		return [...texts];
	},
	// Whether a script that is written into the page runs. That it is refused is no fault.
	inject: async (page, script) => {
		const before = result.faults.length;
		await page.evaluate((text) => {
			const element = document.createElement("script");
			element.textContent = text;
			document.body.append(element);
		}, script);
		result.faults.length = before;
		return page.evaluate(() => "injected" in window);
	},
	// The text of the file that a click hands over.
	save: async (page, selector) => {
		const [download] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
		return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
	},
};

// What a step leads to (a toggle that is told, a resize) is not done when it returns.
const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));

try {
	const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
	page.setDefaultTimeout(60000);
	page.on("pageerror", (error) => result.faults.push(String(error)));
	page.on("console", (message) => message.type() === "error" && result.faults.push(message.text()));
	page.on("dialog", (dialog) => {
		result.faults.push(`dialog: ${dialog.message()}`);
		dialog.dismiss();
	});
	page.on("request", (request) => result.requests.push(request.url()));
	// What a large profile's page shows before all of it is there.
	await page.addInitScript(() => {
		new MutationObserver(() => {
			const begun = document.querySelector("main[aria-busy]");
			if (!begun || window.begun) return;
			window.begun = document.getElementById("app").cloneNode(true);
			if (window.name) location.hash = window.name;
		}).observe(document, { childList: true, subtree: true });
	});
	await page.goto(address);
	await page.waitForSelector("main:not([aria-busy]), p.error");
	for (const [what, ...arguments_] of steps) {
		await settle(page);
		if (what in doSteps) await doSteps[what](page, ...arguments_);
		else result.seen.push(await lookSteps[what](page, ...arguments_));
	}
} finally {
	await browser.close();
}
console.log(JSON.stringify(result));

// svg.mjs -- opens a flame graph in a browser, searches, zooms and flips it, and prints what is
// to be seen after each. usage: node svg.mjs BROWSER FILE WORDS NAME
// WORDS: what to search for; NAME: of the box to click
// SPDX-License-Identifier: Apache-2.0
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file, words, name] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const faults = [];
const requests = [];

// The boxes that are on show.
const look = (page) =>
	page.evaluate(() =>
		Array.from(document.querySelectorAll("g.f"))
			.filter((group) => group.style.display !== "none")
			.map((group) => ({
				name: group.querySelector("title").textContent.split("\n")[0],
				value: group.dataset.v,
				hit: group.classList.contains("hit"),
				text: group.querySelector("text")?.textContent ?? "",
				x: Number(group.querySelector("rect").getAttribute("x")),
				y: Number(group.querySelector("rect").getAttribute("y")),
				width: Number(group.querySelector("rect").getAttribute("width")),
				overflow: (group.querySelector("text")?.getBBox().width ?? 0) -
					Number(group.querySelector("rect").getAttribute("width")),
			})),
	);

try {
	const page = await browser.newPage();
	page.setDefaultTimeout(30000);
	page.on("pageerror", (error) => faults.push(String(error)));
	page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
	page.on("dialog", (dialog) => {
		faults.push(`dialog: ${dialog.message()}`);
		dialog.dismiss();
	});
	page.on("request", (request) => requests.push(request.url()));
	await page.goto(pathToFileURL(file).href);
	const seen = { start: await look(page) };
	if (seen.start.length) {
		await page.fill("#search", words);
		seen.matched = await page.textContent("#matched");
		seen.searched = await look(page);
		await page.fill("#search", "");
		const index = seen.start.findIndex((box) => box.name === name);
		const box = page.locator("g.f").nth(index);
		await box.hover();
		seen.details = await page.textContent("#details");
		await box.click();
		seen.zoomed = await look(page);
		await page.click("#reset");
		seen.reset = await look(page);
		await page.click("#flip");
		seen.flipped = await look(page);
	}
	console.log(JSON.stringify({ ...seen, faults, requests }));
} finally {
	await browser.close();
}

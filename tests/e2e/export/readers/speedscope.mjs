// speedscope.mjs -- opens a file in speedscope and prints what speedscope itself saves of it.
// usage: node speedscope.mjs BROWSER FILE
// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file] = process.argv.slice(2);
const home = path.dirname(createRequire(import.meta.url).resolve("speedscope/package.json"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
	const page = await browser.newPage();
	page.on("dialog", (dialog) => {
		console.error(dialog.message());
		dialog.dismiss();
	});
	page.setDefaultTimeout(30000);
	await page.goto(pathToFileURL(path.join(home, "dist/release/index.html")).href);
	await page.setInputFiles("input[type=file]", file);
	const button = page.getByText("Export", { exact: false });
	await button.waitFor();
	const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
	process.stdout.write(await readFile(await download.path()));
} finally {
	await browser.close();
}

// Bundles the tests and runs them: `npm test`.
// SPDX-License-Identifier: Apache-2.0
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "midden-web-"));
const tests = readdirSync(here).filter((name) => name.endsWith(".test.mjs"));
await build({ entryPoints: tests.map((name) => join(here, name)), bundle: true, platform: "node", format: "esm", outdir: out, outExtension: { ".js": ".mjs" }, logLevel: "warning" });
const done = spawnSync(process.execPath, ["--test", ...tests.map((name) => join(out, name))], { stdio: "inherit" });
rmSync(out, { recursive: true });
process.exit(done.status ?? 1);

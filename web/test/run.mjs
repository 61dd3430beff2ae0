// Bundles the tests and runs them: `npm test`.
// SPDX-License-Identifier: Apache-2.0
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "midden-web-"));
const outfile = join(out, "model.test.mjs");
await build({ entryPoints: [join(here, "model.test.mjs")], bundle: true, platform: "node", format: "esm", outfile, logLevel: "warning" });
const done = spawnSync(process.execPath, ["--test", outfile], { stdio: "inherit" });
rmSync(out, { recursive: true });
process.exit(done.status ?? 1);

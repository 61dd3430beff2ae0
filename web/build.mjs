// Bundles the page into one file: dist/page.html. `node build.mjs --check` compares instead of writing.
// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { build } from "esbuild";
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const result = await build({
  entryPoints: [join(here, "src/main.ts")],
  bundle: true,
  minify: true,
  write: false,
  outdir: join(here, "dist"),
  format: "iife",
  target: "es2022",
  legalComments: "eof",
  charset: "ascii",
  metafile: true,
  logLevel: "warning",
});
// What is bundled is listed with its licence, in the version that is bundled.
const licences = readFileSync(join(here, "LICENSES.md"), "utf8");
const packages = new Set(Object.keys(result.metafile.inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
for (const name of packages) {
  const { version, license } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
  if (licences.includes(`## ${name} ${version} (${license})`)) continue;
  console.error(`web/LICENSES.md does not list ${name} ${version} (${license}), which is bundled`);
  process.exit(1);
}
const text = (suffix) => result.outputFiles.find((f) => f.path.endsWith(suffix)).text;
// A script ends at the first "</script", whatever language it is in.
const script = text(".js").replaceAll("</script", "<\\/script").trim();
const page = readFileSync(join(here, "src/page.html"), "utf8")
  .replace("/*style*/", () => text(".css").trim())
  .replace("sha256-SCRIPT", () => `sha256-${createHash("sha256").update(script).digest("base64")}`) // no other script runs
  .replace("/*script*/", () => script);

const out = join(here, "dist/page.html");
if (process.argv.includes("--check")) {
  if (readFileSync(out, "utf8") !== page) {
    console.error("web/dist/page.html is not what web/src gives: run `make web`");
    process.exit(1);
  }
} else {
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, page);
  console.log(`web/dist/page.html: ${page.length} bytes`);
}

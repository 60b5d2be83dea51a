// Opens each page of a folder in Chromium: samples of a review, and reports. README.md describes what is expected.
import { readFileSync, readdirSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const folder = resolve(process.argv[2] ?? "../../target/forms");
const pictures = process.env.PICTURES;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const samples = readdirSync(folder).filter((name) => name.endsWith(".html"));
const problems = [];

const expect = (holds, text) => {
  if (!holds) problems.push(text);
};

const open = async (browser, name, options) => {
  const context = await browser.newContext({ viewport: { width: 1240, height: 900 }, ...options });
  const page = await context.newPage();
  const where = `${name} ${options.colorScheme} ${options.javaScriptEnabled ? "with" : "without"} scripts`;
  const address = pathToFileURL(join(folder, name)).href;
  page.on("console", (message) => problems.push(`${where}: console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`${where}: error: ${error.message}`));
  page.on("request", (request) => expect(request.url() === address, `${where}: request: ${request.url()}`));
  await page.goto(address);
  return { context, page, where };
};

const withScripts = async (browser, name, colorScheme) => {
  const { context, page, where } = await open(browser, name, { colorScheme, javaScriptEnabled: true });
  await page.waitForSelector("body[data-ready]", { timeout: 20000 });
  const ready = await page.evaluate(() => Math.round(performance.now()));
  expect(ready < 1000 || name !== "tenants.html", `${where}: ready after ${ready} ms`);
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  console.log(`${where}: ready after at most ${ready} ms, ${nodes} elements`);
  if (pictures) {
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: join(pictures, `${name}-${colorScheme}.png`), fullPage: name !== "huge.html" });
  }
  if (name !== "huge.html") {
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    for (const violation of found.violations) {
      problems.push(`${where}: axe: ${violation.id}: ${violation.nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
    }
  }
  if (name === "tenants.html") await searchByKeyboard(page, where);
  if (name.startsWith("report")) {
    await searchAnyClass(page, where);
    await searchNamespaces(page, where);
  }
  if (name.startsWith("migration")) await searchEntries(page, where);
  await context.close();
};

const searchByKeyboard = async (page, where) => {
  await page.keyboard.press("/");
  expect(await page.evaluate(() => document.activeElement.id === "search"), `${where}: \`/\` does not reach the search`);
  await page.keyboard.type("TEAM-099999");
  const status = await page.textContent("#search-status");
  expect(status.startsWith("1 of 100,0"), `${where}: ${status}`);
  const row = await page.textContent("#search-rows li");
  expect(row.includes("Group/team-099999 in team-099999-dev, team-099999-stage"), `${where}: ${row}`);
  for (let index = 0; index < 7; index++) await page.keyboard.press("Backspace");
  const slowest = await page.evaluate(() => {
    const input = document.getElementById("search");
    let slowest = 0;
    for (const text of ["t", "te", "team-0", "team-09", "stage 77"]) {
      input.value = text;
      const start = performance.now();
      input.dispatchEvent(new Event("input"));
      slowest = Math.max(slowest, performance.now() - start);
    }
    input.value = "";
    input.dispatchEvent(new Event("input"));
    return slowest;
  });
  console.log(`${where}: slowest key ${slowest.toFixed(1)} ms`);
  await page.keyboard.press("ArrowDown");
  expect(await page.evaluate(() => document.activeElement.id === "search-window"), `${where}: the list is out of reach`);
  await page.keyboard.press("End");
  await page.waitForFunction(() => document.getElementById("search-rows").textContent.includes("099999"));
  const rows = await page.locator("#search-rows li").count();
  expect(rows <= 60, `${where}: ${rows} rows`);
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  expect(outline !== "none", `${where}: the focus is not visible`);
};

// The first class of a report is found by its own name, without a mouse.
const searchAnyClass = async (page, where) => {
  const [template, count] = await page.evaluate(() =>
    [...document.querySelector("#classes tbody tr").children].slice(0, 2).map((cell) => cell.textContent));
  await page.keyboard.press("/");
  expect(await page.evaluate(() => document.activeElement.id === "search"), `${where}: \`/\` does not reach the search`);
  await page.keyboard.type(template.split(/[*{]/)[0]);
  const status = await page.textContent("#search-status");
  const found = Number(status.split(" ")[0].replaceAll(",", ""));
  expect(found >= Number(count.replaceAll(",", "")), `${where}: ${status} for ${template}`);
  const rows = await page.locator("#search-rows li").count();
  expect(rows > 0 && rows <= 60, `${where}: ${rows} rows`);
};

// A namespace of each row is found, with and without a subject.
const searchNamespaces = async (page, where) => {
  const names = await page.evaluate(() =>
    [...document.querySelectorAll("#namespaces tbody tr")].map((row) => row.cells[2].querySelector("code").textContent));
  for (const name of names) {
    await page.fill("#search", name);
    const rows = await page.textContent("#search-rows");
    expect(rows.includes(name), `${where}: no row for the namespace ${name}: ${rows}`);
  }
};

// The first name of each entry of a migration is found, with the label of the entry.
const searchEntries = async (page, where) => {
  const entries = await page.evaluate(() => [...document.querySelectorAll("[data-label]")]
    .map((entry) => [entry.id.slice("class-".length), entry.dataset.label]));
  expect(entries.length > 2, `${where}: ${entries.length} lists`);
  for (const [id, label] of entries.slice(0, 40)) {
    await page.selectOption("#search-class", id);
    await page.fill("#search", "");
    const row = await page.textContent("#search-rows li");
    expect(row.endsWith(` · ${label}`), `${where}: ${row} for ${label}`);
    expect(!row.includes("cluster-wide"), `${where}: a scope in ${row}`);
    const text = await page.textContent(`#class-${id}`);
    expect(text.includes(row.split(" · ")[0]) || text.startsWith("and "), `${where}: ${row} is not of ${text}`);
  }
};

const withoutScripts = async (browser, name, colorScheme) => {
  const { context, page, where } = await open(browser, name, { colorScheme, javaScriptEnabled: false });
  expect(await page.locator("h1").isVisible(), `${where}: no verdict`);
  const sections = await page.locator("main > section").count();
  const links = await page.locator("nav a").count();
  expect(sections > 0 && sections === links, `${where}: ${sections} sections, ${links} links`);
  if (await page.locator("#classes").count()) {
    expect(!(await page.locator("#search-panel").isVisible()), `${where}: the search is shown`);
    expect(await page.locator("noscript p").isVisible(), `${where}: no hint about scripts`);
    const folded = page.locator("#classes summary");
    if (await folded.count()) await folded.click();
    expect(await page.locator("#classes tbody tr").first().isVisible(), `${where}: no sample`);
  }
  await context.close();
};

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const launch = (...args) => chromium.launch({ executablePath, args: ["--no-sandbox", ...args] });
// With the option of the context alone, the browser does not show `noscript`.
const [browser, scriptless] = [await launch(), await launch("--blink-settings=scriptEnabled=false")];
for (const name of samples) {
  for (const colorScheme of ["light", "dark"]) {
    await withScripts(browser, name, colorScheme);
    await withoutScripts(scriptless, name, colorScheme);
  }
}
await browser.close();
await scriptless.close();
problems.forEach((problem) => console.log(problem));
console.log(`${samples.length} samples, ${problems.length} problems`);
process.exitCode = samples.length > 0 && problems.length === 0 ? 0 : 1;

// Opens pages of the built site in Chromium. The head of `run` describes what is expected.
//
//   PACKAGES=DIR node check.mjs BOOK [--short]
//
// PACKAGES is a folder with `node_modules`.
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(join(resolve(process.env.PACKAGES ?? "."), "index.js")));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const book = resolve(process.argv[2]);
const isShort = process.argv[3] === "--short";
const pictures = process.env.PICTURES;

const SCREENS = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml" };
// The highlighter has no colours for CSV and Jinja.
const UNHIGHLIGHTED = /^(Could not find the language|Falling back to no-highlight)/;
// The site is published below a folder, as it is here.
const MOUNT = "/bailiwick/";

const problems = [];
let checks = 0;
const expect = (holds, text) => {
  checks += 1;
  if (!holds) problems.push(text);
};

// Returns every page of the book, as its path.
const everyPage = () =>
  readdirSync(book, { recursive: true }).map((name) => name.replaceAll("\\", "/")).filter((name) => name.endsWith(".html") && name !== "toc.html").sort();

// Returns the page with the most rows of tables.
const longestTable = (pages) => {
  const rows = (page) => readFileSync(join(book, page), "utf8").split("<tr").length;
  return pages.reduce((longest, page) => (rows(page) > rows(longest) ? page : longest));
};

const serve = async () => {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const file = resolve(book, `.${path.slice(MOUNT.length - 1)}`, path.endsWith("/") ? "index.html" : "");
    try {
      if (!path.startsWith(MOUNT) || !file.startsWith(book)) throw new Error("outside");
      const body = readFileSync(file);
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return server;
};

// Opens a page, and collects the messages and the requests that leave the origin.
const open = async (browser, origin, page, options, faults) => {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(10000);
  const tab = await context.newPage();
  tab.on("console", (message) => UNHIGHLIGHTED.test(message.text()) || faults.push(`console: ${message.text()}`));
  tab.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  tab.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith("data:")) faults.push(`request: ${url}`);
  });
  tab.on("response", (response) => {
    if (response.status() >= 400) faults.push(`response ${response.status()}: ${response.url()}`);
  });
  await tab.goto(origin + page, { waitUntil: "load" });
  return { context, tab };
};

const violations = async (tab) => {
  await tab.evaluate(axe);
  const found = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"], preload: false }));
  const described = (node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`;
  return found.violations.map((one) => `axe: ${one.id}: ${one.nodes.length}: ${one.nodes.slice(0, 3).map(described).join("\n    ")}`);
};

// Returns the elements of the text that reach beyond the screen without an element around them that scrolls.
const overflow = (tab) =>
  tab.evaluate(() => {
    const limit = document.documentElement.clientWidth + 1;
    const scrolls = (one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
    const isHeld = (one) => {
      for (let around = one.parentElement; around && around.tagName !== "MAIN"; around = around.parentElement) if (scrolls(around) && around.getBoundingClientRect().right <= limit) return true;
      return false;
    };
    const wide = [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > limit && !isHeld(one));
    if (document.documentElement.scrollWidth > limit) wide.unshift(document.documentElement);
    return wide.slice(0, 3).map((one) => `wider than the screen: ${one.outerHTML.slice(0, 80)}`);
  });

const checkPage = async (browser, origin, page, screen, colorScheme) => {
  const faults = [];
  const { context, tab } = await open(browser, origin, page, { viewport: SCREENS[screen], colorScheme }, faults);
  faults.push(...(await overflow(tab)));
  if (pictures) {
    mkdirSync(pictures, { recursive: true });
    await tab.screenshot({ path: join(pictures, `${page.replaceAll("/", "_")}-${screen}-${colorScheme}.png`) });
  }
  faults.push(...(await violations(tab)));
  expect(faults.length === 0, `${page}, ${screen}, ${colorScheme}: ${faults.join("\n  ")}`);
  await context.close();
};

// Every page fits a phone, has no violation, and loads nothing from elsewhere.
const checkEveryPage = async (browser, origin, pages) => {
  const faults = [];
  const { context, tab } = await open(browser, origin, pages[0], { viewport: SCREENS.phone }, faults);
  for (const page of pages) {
    await tab.goto(origin + page, { waitUntil: "load" });
    faults.push(...(await overflow(tab)), ...(await violations(tab)));
    expect(faults.length === 0, `${page}, phone: ${faults.join("\n  ")}`);
    faults.length = 0;
  }
  await context.close();
};

// Returns the addresses of the results of a search, by keyboard alone.
const search = async (tab, words) => {
  await tab.keyboard.press("/");
  await tab.keyboard.type(words);
  await tab.waitForFunction(() => document.querySelector("#mdbook-searchresults-header")?.textContent, undefined, { timeout: 10000 });
  return tab.evaluate(() => [...document.querySelectorAll("#mdbook-searchresults a")].map((link) => link.getAttribute("href")));
};

const SEARCHES = { "unknown-reference": "diagnostics/unknown-reference.html", Tenancy: "kinds/tenancy.html" };

const checkSearch = async (browser, origin) => {
  for (const [words, page] of Object.entries(SEARCHES)) {
    const faults = [];
    const { context, tab } = await open(browser, origin, "index.html", { viewport: SCREENS.desktop }, faults);
    const results = await search(tab, words);
    expect(results.slice(0, 5).some((link) => link.includes(page)), `search of ${words} at ${origin}: ${results.slice(0, 5)}`);
    faults.push(...(await violations(tab)));
    expect(faults.length === 0, `search of ${words}: ${faults}`);
    await context.close();
  }
};

// A newcomer clicks from the first page through the tutorial.
const checkPath = async (browser, origin, screen) => {
  const faults = [];
  const { context, tab } = await open(browser, origin, "index.html", { viewport: SCREENS[screen] }, faults);
  const visited = [];
  for (let step = 0; step < 12; step++) {
    const next = tab.locator("main p", { hasText: /^Next: / }).last().locator("a");
    if ((await next.count()) === 0) break;
    await next.click();
    await tab.waitForLoadState("load");
    const path = tab.url().slice(origin.length);
    visited.push(path);
    if (path === "tutorial/gate.html") {
      const text = await tab.locator("main").innerText();
      expect(/bailiwick check; echo "exit code \$\?"[^$]*exit code 0/.test(text), "the gate does not show a passing check");
      expect(text.includes("init --ci github") && text.includes("init --ci gitlab"), "the gate has no job for GitHub and GitLab");
    }
  }
  const wanted = ["tutorial.html", "tutorial/teams.html", "tutorial/operator.html", "tutorial/tests.html", "tutorial/gate.html", "tutorial/delivery.html"];
  expect(visited.join() === wanted.join(), `the path of a newcomer, ${screen}: ${visited}`);
  expect(faults.length === 0, `the path of a newcomer: ${faults}`);
  await context.close();
};

// The sidebar is short on the first page, and leads to a diagnostic by keyboard and mouse.
const checkSidebar = async (browser, origin) => {
  const faults = [];
  const { context, tab } = await open(browser, origin, "index.html", { viewport: SCREENS.desktop }, faults);
  const links = tab.locator("#mdbook-sidebar a:visible");
  expect((await links.count()) < 20, `the sidebar of the first page has ${await links.count()} links`);
  for (const title of ["Reference", "Diagnostics", "YAML", "yaml-syntax"]) {
    await tab.locator("#mdbook-sidebar a:visible", { hasText: new RegExp(`^${title}$`) }).click();
    await tab.waitForLoadState("load");
  }
  expect(tab.url().endsWith("/diagnostics/yaml-syntax.html"), `the sidebar leads to ${tab.url()}`);
  expect(faults.length === 0, `the sidebar: ${faults}`);
  await context.close();
};

// On a phone the table of contents is closed, and a key opens it.
const checkContentsOfPhone = async (browser, origin) => {
  const faults = [];
  const { context, tab } = await open(browser, origin, "tutorial.html", { viewport: SCREENS.phone }, faults);
  const contents = tab.locator("#mdbook-sidebar");
  const right = () => contents.evaluate((one) => one.getBoundingClientRect().right);
  expect((await right()) <= 0, `the table of contents covers a phone: ${await right()}`);
  await tab.locator("#contents-button").focus();
  await tab.keyboard.press("Enter");
  await tab.waitForFunction(() => document.querySelector("#mdbook-sidebar").getBoundingClientRect().right > 100);
  const expanded = await tab.locator("#contents-button").getAttribute("aria-expanded");
  expect(expanded === "true", `the button of the table of contents: ${expanded}`);
  if (pictures) await tab.screenshot({ path: join(pictures, "contents-phone.png") });
  faults.push(...(await violations(tab)));
  expect(faults.length === 0, `the table of contents of a phone: ${faults.join("\n  ")}`);
  await context.close();
};

// A check that cannot fail proves nothing.
const selfTest = async (browser, origin) => {
  const faults = [];
  const { context, tab } = await open(browser, origin, "index.html", { viewport: SCREENS.phone }, faults);
  await tab.evaluate(() => {
    document.querySelector("main").insertAdjacentHTML(
      "beforeend",
      '<p style="color: #999; background: #aaa">pale</p><div style="width: 2000px">wide</div><img src="https://other.invalid/a.png">',
    );
  });
  await tab.waitForTimeout(200);
  const found = await violations(tab);
  expect(found.some((one) => one.includes("color-contrast")) && found.some((one) => one.includes("image-alt")), `self-test: axe: ${found}`);
  expect((await overflow(tab)).length > 0, "self-test: a wide page is not noticed");
  expect(faults.some((one) => one.includes("other.invalid")), "self-test: a request to another host is not noticed");
  const results = await search(tab, "zzunknownzz");
  expect(results.length === 0, `self-test: a search finds ${results}`);
  await context.close();
};

const pages = everyPage();
const few = ["index.html", "tutorial.html", "kinds/tenancy.html", "diagnostics/unknown-reference.html", "commands.html", longestTable(pages)];
const more = ["howto.html", "reference.html", "diagnostics.html", "areas/compiler.html", "schemas.html", "evidence.html", "limits.html", "tutorial/gate.html", "ask.html", "architecture.html"];
const server = await serve();
const origin = `http://127.0.0.1:${server.address().port}${MOUNT}`;
const files = `${pathToFileURL(book).href}/`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
// Runs a check. An element that does not appear is a problem of the page.
const attempt = async (check, ...values) => {
  try {
    await check(browser, ...values);
  } catch (error) {
    expect(false, `${check.name} ${values.slice(1)}: ${error.message.split("\n").slice(0, 4).join(" ")}`);
  }
};
try {
  await attempt(selfTest, origin);
  for (const page of new Set(isShort ? few : [...few, ...more])) {
    for (const [screen, colorScheme] of [["desktop", "light"], ["desktop", "dark"], ["phone", "light"], ["phone", "dark"]]) {
      await attempt(checkPage, origin, page, screen, colorScheme);
    }
  }
  if (!isShort) await attempt(checkEveryPage, origin, pages);
  for (const base of [origin, files]) await attempt(checkSearch, base);
  await attempt(checkPath, origin, "desktop");
  await attempt(checkPath, files, "phone");
  await attempt(checkSidebar, origin);
  await attempt(checkContentsOfPhone, origin);
} finally {
  await browser.close();
  server.close();
}
problems.forEach((problem) => console.log(problem));
console.log(`site: ${pages.length} pages, ${checks} checks, ${problems.length} problems`);
process.exitCode = pages.length > 200 && problems.length === 0 ? 0 : 1;

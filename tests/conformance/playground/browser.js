// The page in Chromium, from a server on loopback.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, extname } from "node:path";

const require = createRequire(join(process.env.MODULES, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

// Serves the files of a folder; no other path has one.
export const serve = async (folder, names) => {
  const server = createServer((request, response) => {
    const name = new URL(request.url, "http://localhost").pathname.replace("/playground/", "");
    if (!names.includes(name)) return response.writeHead(404).end();
    return response.writeHead(200, { "content-type": TYPES[extname(name)] }).end(readFileSync(join(folder, name)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, address: `http://127.0.0.1:${server.address().port}/playground/index.html` };
};

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });

// Opens the page, and adds what it must not do to `problems`.
export const open = async (browser, address, problems, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const requests = [];
  const origin = new URL(address).origin;
  context.on("request", (request) => {
    requests.push(request.url());
    const isOwn = request.url().startsWith(`${origin}/playground/`) || request.url() === "data:,";
    if (!isOwn && !address.startsWith("file:")) problems.push(`request: ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("console", (message) => problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  await page.goto(address);
  return { context, page, requests };
};

// Puts files and a command into the page, and presses Run. Returns what the page shows.
export const ask = async (page, files, command) => {
  await page.evaluate(([files, command]) => {
    setFiles(files);
    byId("command").value = command.map(quoted).join(" ");
  }, [files, command]);
  return pressRun(page);
};

export const pressRun = async (page) => {
  const start = performance.now();
  await page.click("#run");
  await page.waitForFunction(() => document.body.dataset.state === "idle", null, { timeout: 60000, polling: 20 });
  const time = performance.now() - start;
  return page.evaluate((time) => ({
    time,
    status: byId("status").textContent,
    code: document.body.dataset.exitCode === undefined ? null : Number(document.body.dataset.exitCode),
    stdout: byId("stdout").textContent,
    stderr: byId("stderr").textContent,
    report: byId("report").textContent,
  }), time);
};

// Returns the violations of axe-core.
export const violations = async (page) => {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
};

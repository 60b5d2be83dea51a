// Compares the page with the program, attacks the page, and looks at it. `run` describes the checks.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ask, launch, open, serve } from "./browser.js";
import { attack } from "./hostile.js";
import { look } from "./look.js";
import { questions, randomOf } from "./questions.js";

const [binary, root, count, seed] = process.argv.slice(2);
const folder = join(root, "target/book/playground");
const names = ["index.html", "playground.js", "playground.css", "worker.js", "examples.js", "bailiwick.wasm"];
const today = "2026-07-01";
const problems = [];

// Runs the program in a folder with the files. Returns its texts and its exit code.
export const program = (files, words) => {
  const scratch = mkdtempSync(join(tmpdir(), "playground-"));
  try {
    for (const { path, text } of files) {
      const place = join(scratch, path);
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, text);
    }
    const environment = { PATH: process.env.PATH, BAILIWICK_TODAY: today };
    const ended = spawnSync(binary, words, { cwd: scratch, env: environment, encoding: "utf8", maxBuffer: 1 << 28 });
    return { code: ended.status, stdout: ended.stdout, stderr: ended.stderr };
  } finally {
    rmSync(scratch, { recursive: true });
  }
};

const LIMIT = 1 << 20;
const shown = (text) => (text.length > LIMIT ? `${text.slice(0, LIMIT)}\n... ${text.length - LIMIT} more characters` : text);

// Returns the first difference between the page and the program; null without one.
export const difference = (page, cli) => {
  for (const name of ["stdout", "stderr"]) {
    const [one, other] = [page[name].split("\n"), shown(cli[name]).split("\n")];
    const line = one.findIndex((text, index) => text !== other[index]);
    if (line >= 0 || one.length !== other.length) {
      const at = line < 0 ? one.length : line;
      return `${name}:${at + 1}: the page has ${JSON.stringify(one[at])}, the program ${JSON.stringify(other[at])}`;
    }
  }
  return page.code === cli.code ? null : `the page has the exit code ${page.code}, the program ${cli.code} (${page.status})`;
};

// A harness that cannot fail proves nothing.
const selfTest = async (page) => {
  const files = [{ path: "a.yaml", text: "kind: [\n" }];
  const cli = program(files, ["lint", "--from", "."]);
  const same = await ask(page, files, ["lint", "--from", "."]);
  if (difference(same, cli) !== null) problems.push(`self-test: ${difference(same, cli)}`);
  for (const [what, changed] of [["a text", { ...cli, stderr: `${cli.stderr} ` }], ["a line", { ...cli, stdout: "x\n" }], ["a code", { ...cli, code: 0 }]]) {
    if (difference(same, changed) === null) problems.push(`self-test: ${what} is not noticed`);
  }
  const other = await ask(page, [{ path: "a.yaml", text: "kind: {\n" }], ["lint", "--from", "."]);
  if (difference(other, cli) === null) problems.push("self-test: another input is not noticed");
};

const compare = async (page) => {
  const examples = await page.evaluate(() => EXAMPLES);
  const list = questions(root, Number(count), randomOf(Number(seed)), examples);
  const codes = {};
  let slowest = 0;
  for (const { name, files, words } of list) {
    const answer = await ask(page, files, words);
    slowest = Math.max(slowest, answer.time);
    const found = difference(answer, program(files, words));
    if (found !== null) problems.push(`${name}: ${found}`);
    codes[answer.code] = (codes[answer.code] ?? 0) + 1;
  }
  const ended = Object.entries(codes).map(([code, times]) => `${times} with ${code}`).join(", ");
  console.log(`playground: ${list.length} questions (${ended}), the slowest took ${Math.round(slowest)} ms in the page`);
};

const { server, address } = await serve(folder, names);
const browser = await launch();
try {
  const { context, page, requests } = await open(browser, address, problems);
  await page.waitForSelector("body[data-state=idle]");
  await page.fill("#today", today);
  await selfTest(page);
  await compare(page);
  const hosts = [...new Set(requests.map((request) => new URL(request).host))].join(", ");
  console.log(`playground: ${requests.length} requests, to ${hosts}`);
  await context.close();
  await attack({ browser, address, problems, program, difference, today });
  await look({ browser, address, folder, problems });
} finally {
  await browser.close();
  server.close();
}
problems.forEach((problem) => console.log(problem));
console.log(`playground: seed ${seed}, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

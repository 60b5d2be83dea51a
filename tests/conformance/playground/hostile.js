// Attacks: inputs that are large, deep or endless, names that are markup, paths that leave the files, and links by strangers.
import { deflateRawSync } from "node:zlib";
import { ask, open, pressRun } from "./browser.js";

const MARKUP = "<script>globalThis.attacked=1</script><img src=x onerror=globalThis.attacked=1>";

const bomb = () => {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"];
  for (let level = 1; level < 12; level += 1) {
    lines.push(`a${level}: &a${level} [${Array(9).fill(`*a${level - 1}`).join(", ")}]`);
  }
  return `${lines.join("\n")}\n`;
};

const WORKSPACE = `apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: attacked}
spec:
  targets:
  - {name: t, version: "1.37"}
`;

const tenancy = (accounts) => `apiVersion: bailiwick.dev/v1alpha1
kind: Tenancy
metadata: {name: teams}
spec:
  accounts: ${accounts}
  variables: {name: {type: string}}
  class:
    namespace: {name: "team-{name}"}
`;

const config = (name, template) => [
  { path: "bailiwick.yaml", text: WORKSPACE },
  { path: "policies/a.yaml", text: tenancy("[{name: a}]") },
  { path: `templates/${name}`, text: template },
];

const object = (name) => `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ${JSON.stringify(name)}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: ${JSON.stringify(name)}}
`;

// Inputs that the program answers, too: the page shows the same.
const INPUTS = [
  ["a YAML bomb", [{ path: "a.yaml", text: bomb() }], ["lint", "--from", "."]],
  ["a YAML bomb in a policy", [{ path: "bailiwick.yaml", text: WORKSPACE }, { path: "policies/a.yaml", text: bomb() }], ["render", "--stdout"]],
  ["deep lists", [{ path: "a.yaml", text: "[".repeat(20000) }], ["lint", "--from", "."]],
  ["deep maps", [{ path: "a.yaml", text: "{a: ".repeat(20000) }], ["lint", "--from", "."]],
  ["deep blocks", [{ path: "a.yaml", text: Array.from({ length: 2000 }, (_, depth) => `${" ".repeat(depth)}a:\n`).join("") }], ["lint", "--from", "."]],
  ["10 MB of text", [{ path: "a.yaml", text: Array.from({ length: 400000 }, (_, at) => `key-${at}: bbbbbbbbbbbbb\n`).join("") }], ["lint", "--from", "."]],
  ["100,000 mistakes", [{ path: "a.yaml", text: "a: b\n".repeat(100000) }], ["lint", "--from", "."]],
  ["10 MB in one line", [{ path: "a.yaml", text: `a: ${"b".repeat(10 << 20)}\n` }], ["lint", "--from", "."]],
  ["10,000 documents", [{ path: "a.yaml", text: Array.from({ length: 10000 }, (_, at) => object(`u${at}`)).join("---\n") }], ["who-can", "get", "pods", "--from", "."]],
  ["a template without an end", config("tenancy/namespace.yaml.j2", "{% for i in range(100000000) %}{% for j in range(100000000) %}x{% endfor %}{% endfor %}"), ["render", "--stdout"]],
  ["a template of itself", config("tenancy/namespace.yaml.j2", "{% include 'tenancy/namespace.yaml.j2' %}"), ["render", "--stdout"]],
  ["a template with depth", config("tenancy/namespace.yaml.j2", `{{ ${"(".repeat(3000)}1${")".repeat(3000)} }}`), ["render", "--stdout"]],
  ["markup as names", [{ path: "a.yaml", text: object(MARKUP) }], ["lint", "--from", "."]],
  ["markup as a subject", [{ path: "a.yaml", text: object(MARKUP) }], ["can-i", "get", "pods", "--as", MARKUP, "--from", "."]],
  ["markup as a path", [{ path: "<script>attacked=1<b>.yaml", text: "a: [" }], ["lint", "--from", "."]],
  ["an account list outside", [{ path: "bailiwick.yaml", text: WORKSPACE }, { path: "policies/a.yaml", text: tenancy("{file: ../../../../etc/passwd}") }], ["render", "--stdout"]],
  ["an absolute account list", [{ path: "bailiwick.yaml", text: WORKSPACE }, { path: "policies/a.yaml", text: tenancy("{file: /etc/passwd}") }], ["render", "--stdout"]],
  ["controls and directions", [{ path: "a.yaml", text: `${object("a\u202eb\u001b[31mc\u0007")}` }], ["lint", "--from", "."]],
  ["nothing", [{ path: "a.yaml", text: "" }], ["lint", "--from", "."]],
  ["no workspace", [{ path: "a.yaml", text: "" }], ["lint"]],
  ["wrong usage", [{ path: "a.yaml", text: "" }], ["can-i", "--nothing", MARKUP]],
];

// Requests that the page refuses, with a part of the status or of the diagnostics.
const REFUSED = [
  ["a path outside", [{ path: "../../etc/passwd", text: "" }], ["lint", "--from", "."], "`../../etc/passwd` is no path of a file"],
  ["an absolute path", [{ path: "/etc/passwd", text: "" }], ["lint", "--from", "."], "is no path of a file"],
  ["one path twice", [{ path: "a", text: "" }, { path: "a", text: "" }], ["lint"], "two files have the path `a`"],
  ["a file outside", [{ path: "a.yaml", text: "" }], ["lint", "--from", "../../etc/passwd"], "cannot read `../../etc/passwd`"],
  ["a file of the system", [{ path: "a.yaml", text: "" }], ["lint", "--from", "/etc/passwd"], "cannot read `/etc/passwd`"],
  ["a command that writes", [{ path: "a.yaml", text: "" }], ["init", "/tmp/x"], "`init` cannot be used with files in memory"],
  ["an option that writes", [{ path: "a.yaml", text: "" }], ["lint", "--report", "json=/tmp/x"], "`--report` cannot be used"],
  ["standard input", [{ path: "a.yaml", text: "" }], ["lint", "--from", "-"], "standard input cannot be used"],
  ["20 MB", [{ path: "a.yaml", text: "x".repeat(20 << 20) }], ["lint", "--from", "."], "more than 16 MiB"],
];

const link = (text) => `#v1=${deflateRawSync(Buffer.from(text)).toString("base64url")}`;
const shared = (value) => link(JSON.stringify(value));
const STATE = { files: [{ path: MARKUP, text: MARKUP }], command: `explain ${MARKUP}`, today: "2026-07-01" };

// Links that are not opened, with a part of the status.
const BROKEN = [
  ["a fragment that expands", link("x".repeat(64 << 20)), "it is too large"],
  ["a fragment that is large", `#v1=${"A".repeat(1 << 20)}`, "it is too large"],
  ["no base64", "#v1=%%%", "cannot be opened"],
  ["no JSON", link("{"), "cannot be opened"],
  ["no UTF-8", `#v1=${deflateRawSync(Buffer.from([0xff, 0xfe])).toString("base64url")}`, "cannot be opened"],
  ["no files", shared({ ...STATE, files: [] }), "its files are not valid"],
  ["files that are no texts", shared({ ...STATE, files: [{ path: {}, text: 1 }] }), "its files are not valid"],
  ["too many files", shared({ ...STATE, files: Array(101).fill(STATE.files[0]) }), "its files are not valid"],
  ["a command that is no text", shared({ ...STATE, command: { toString: 1 } }), "its command is not valid"],
  ["a day that is no text", shared({ ...STATE, today: ["2026-07-01"] }), "its day is not valid"],
  ["null", shared(null), "cannot be opened"],
];

const QUESTION = [[{ path: "a.yaml", text: object("ann") }], ["can-i", "get", "pods", "--as", "ann", "--from", "."]];

export const attack = async (setting) => {
  const { browser, address, problems, program, difference, today } = setting;
  const { context, page } = await open(browser, address, problems);
  const expect = (holds, text) => holds || problems.push(`hostile: ${text}`);
  await page.waitForSelector("body[data-state=idle]");
  await page.fill("#today", today);
  const works = async (after) => {
    const answer = await ask(page, ...QUESTION);
    expect(answer.code === 0 && answer.stdout.startsWith("yes"), `after ${after}: ${answer.status}`);
  };
  for (const [name, files, words] of INPUTS) {
    const answer = await ask(page, files, words);
    const time = answer.time;
    expect(time < 25000, `${name}: ${Math.round(time)} ms`);
    const found = difference(answer, program(files, words));
    expect(found === null, `${name}: ${found}`);
    console.log(`playground: ${name}: ${answer.status} ${Math.round(time)} ms`);
  }
  for (const [name, files, words, text] of REFUSED) {
    const answer = await ask(page, files, words);
    expect(answer.code !== 0 && `${answer.status}\n${answer.stderr}`.includes(text), `${name}: ${answer.status} ${answer.stderr}`);
  }
  await works("refused requests");
  await stopAndTrap(page, expect, works);
  expect(await page.evaluate(() => globalThis.attacked === undefined), "a script of the input ran");
  await context.close();
  await openLinks(setting, expect);
};

// A run without an end, and a module that traps.
const stopAndTrap = async (page, expect, works) => {
  // An instance with `request`, `run`, `response`, `response_length` and `memory`: `run` loops for ever, or traps.
  const module = (body) => [0, 97, 115, 109, 1, 0, 0, 0, 1, 13, 3, 96, 1, 127, 1, 127, 96, 0, 0, 96, 0, 1, 127, 3, 5, 4, 0, 1, 2, 2, 5, 3, 1, 0, 1,
    7, 55, 5, 6, 109, 101, 109, 111, 114, 121, 2, 0, 7, 114, 101, 113, 117, 101, 115, 116, 0, 0, 3, 114, 117, 110, 0, 1, 8, 114, 101, 115, 112, 111,
    110, 115, 101, 0, 2, 15, 114, 101, 115, 112, 111, 110, 115, 101, 95, 108, 101, 110, 103, 116, 104, 0, 3,
    10, 18 + body.length, 4, 4, 0, 65, 1, 11, body.length + 1, 0, ...body, 4, 0, 65, 0, 11, 4, 0, 65, 0, 11];
  const replace = (body, time) => page.evaluate(async ([bytes, time]) => {
    globalThis.kept ??= { module: await load(), time: LIMITS.time };
    state.module = bytes === null ? globalThis.kept.module : await WebAssembly.compile(new Uint8Array(bytes));
    LIMITS.time = time ?? globalThis.kept.time;
  }, [body === null ? null : module(body), time]);
  const endless = [3, 64, 12, 0, 11, 11];
  await replace(endless, 1000);
  const late = await pressRun(page);
  expect(late.status === "Stopped: no answer after 1 seconds.", `no end: ${late.status}`);
  await replace(endless, 60000);
  await page.click("#run");
  await page.waitForFunction(() => !byId("stop").disabled);
  await page.click("#stop");
  const stopped = await page.evaluate(() => [byId("status").textContent, state.worker, byId("run").disabled]);
  expect(stopped[0] === "Stopped." && stopped[1] === null && !stopped[2], `stop: ${stopped}`);
  await replace([0, 11], null);
  const trapped = await pressRun(page);
  expect(/^Failed: RuntimeError: unreachable/.test(trapped.status), `a trap: ${trapped.status}`);
  await replace(null, null);
  await works("a trap");
};

const openLinks = async ({ browser, address, problems }, expect) => {
  const { context, page, requests } = await open(browser, address + shared(STATE), problems);
  await page.waitForSelector("body[data-from=link]");
  const shownState = await page.evaluate(() => ({ path: byId("path").value, text: byId("text").value, command: byId("command").value }));
  expect(shownState.path === MARKUP && shownState.text === MARKUP && shownState.command.includes(MARKUP), "the link is not shown as it is");
  expect(!requests.some((request) => request.endsWith(".wasm")), "a link runs without Run");
  const answer = await pressRun(page);
  expect(answer.code === 2, `a shared command: ${answer.status}`);
  for (const [name, fragment, text] of BROKEN) {
    await page.evaluate((fragment) => {
      byId("status").textContent = "";
      location.hash = fragment;
    }, fragment);
    await page.waitForFunction(() => byId("status").textContent !== "");
    const status = await page.textContent("#status");
    expect(status.includes(text) && status.startsWith("The link cannot be opened"), `${name}: ${status}`);
  }
  expect(await page.evaluate(() => globalThis.attacked === undefined), "a script of a link ran");
  await context.close();
};

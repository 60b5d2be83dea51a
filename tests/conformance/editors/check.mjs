// Opens files in the language server for YAML and compares the lines of its diagnostics.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [server, made, company] = process.argv.slice(2);

/** Returns the diagnostics for each of some files of a folder. */
async function diagnose(folder, files) {
  const settings = JSON.parse(readFileSync(join(folder, ".vscode/settings.json"), "utf8"));
  const yaml = { validate: true, schemaStore: { enable: false }, schemas: settings["yaml.schemas"] };
  const child = spawn(process.execPath, [server, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  const found = new Map();
  const answers = new Map();
  let read = Buffer.alloc(0);
  let last = 0;
  const send = (message) => {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  const receive = (message) => {
    if (message.method === "workspace/configuration") {
      send({ id: message.id, result: message.params.items.map((item) => (item.section === "yaml" ? yaml : null)) });
    } else if (message.method === "textDocument/publishDiagnostics") {
      found.get(message.params.uri)?.(message.params.diagnostics);
    } else if (message.method && message.id !== undefined) {
      send({ id: message.id, result: null });
    } else {
      answers.get(message.id)?.(message.result);
    }
  };
  child.stdout.on("data", (data) => {
    read = Buffer.concat([read, data]);
    for (;;) {
      const head = read.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/Content-Length: (\d+)/.exec(read.subarray(0, head))[1]);
      if (read.length < head + 4 + length) return;
      receive(JSON.parse(read.subarray(head + 4, head + 4 + length)));
      read = read.subarray(head + 4 + length);
    }
  });
  const uri = pathToFileURL(folder).href;
  await new Promise((resolve) => {
    answers.set(++last, resolve);
    const capabilities = { workspace: { configuration: true, workspaceFolders: true }, textDocument: { publishDiagnostics: {} } };
    const folders = [{ uri, name: "workspace" }];
    send({ id: last, method: "initialize", params: { processId: process.pid, rootUri: uri, workspaceFolders: folders, capabilities } });
  });
  send({ method: "initialized", params: {} });
  send({ method: "workspace/didChangeConfiguration", params: { settings: { yaml } } });
  await new Promise((resolve) => setTimeout(resolve, 500));
  const answered = new Map();
  for (const file of files) {
    const of = pathToFileURL(join(folder, file)).href;
    // A file can have several answers: the first may come before the schema is read.
    let settled = null;
    const answer = new Promise((resolve) => {
      found.set(of, (value) => {
        answered.set(file, value);
        clearTimeout(settled);
        settled = setTimeout(resolve, 1500);
      });
    });
    const text = readFileSync(join(folder, file), "utf8");
    send({ method: "textDocument/didOpen", params: { textDocument: { uri: of, languageId: "yaml", version: 1, text } } });
    await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 30000))]);
  }
  child.kill();
  return answered;
}

let failed = 0;
/** Compares the lines of the diagnostics of a file with the expected ones. */
function compare(file, expected, diagnostics) {
  const lines = [...new Set((diagnostics ?? []).map((of) => of.range.start.line + 1))];
  const same = diagnostics !== undefined && JSON.stringify(lines) === JSON.stringify(expected);
  console.log(`${same ? "ok" : "FAILED"}: ${file}: diagnostics in the lines ${JSON.stringify(lines)}`);
  if (same) return;
  failed += 1;
  for (const { range, message } of diagnostics ?? []) console.log(`  line ${range.start.line + 1}: ${message}`);
}

const mistakes = readFileSync(join(made, "policies/mistakes.yaml"), "utf8").split("\n");
const line = (text) => mistakes.findIndex((of) => of.includes(text)) + 1;
const expected = [line("whem"), line("clusterRoles: view"), line("strng"), line("Gruppe"), line("when: true")];
const own = await diagnose(made, ["policies/mistakes.yaml", "policies/team.yaml", "bailiwick.yaml"]);
compare("policies/mistakes.yaml", expected, own.get("policies/mistakes.yaml"));
compare("policies/team.yaml", [], own.get("policies/team.yaml"));
compare("bailiwick.yaml", [], own.get("bailiwick.yaml"));
const policies = readdirSync(join(company, "policies/company")).map((name) => `policies/company/${name}`);
const real = await diagnose(company, [...policies, "bailiwick.yaml"]);
for (const file of [...policies, "bailiwick.yaml"]) compare(`company/${file}`, [], real.get(file));
process.exit(failed > 0 ? 1 : 0);

// The client of Visual Studio Code, with the language server.
//
//   node check.cjs BINARY MISTAKES FOLDER EDITS LIMIT
//
// LIMIT is the longest median of the times of edits, in milliseconds; 0 for none.
'use strict';
const { execFileSync, spawn, spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const { pathToFileURL } = require('url');
const {
  createProtocolConnection, StreamMessageReader, StreamMessageWriter, InitializeRequest, InitializedNotification,
  DidOpenTextDocumentNotification, DidChangeTextDocumentNotification, PublishDiagnosticsNotification, ShutdownRequest,
  ExitNotification, CompletionRequest,
} = require('vscode-languageserver-protocol/node');

const [program, mistakes, scratch, edits, limit] = process.argv.slice(2);

/** An editor with one folder. */
class Editor {
  constructor(root) {
    this.root = root;
    this.versions = new Map();
    this.shown = new Map();
    this.waiting = [];
    this.server = spawn(program, ['lsp'], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
    this.connection = createProtocolConnection(
      new StreamMessageReader(this.server.stdout), new StreamMessageWriter(this.server.stdin));
    this.connection.onNotification(PublishDiagnosticsNotification.type, shown => {
      this.shown.set(shown.uri, shown);
      this.waiting = this.waiting.filter(({ uri, version, resolve }) => {
        const is = shown.uri === uri && shown.version === version;
        if (is) resolve();
        return !is;
      });
    });
    this.connection.onClose(() => this.isEnding || console.error('lsp: the server ended'));
    this.connection.listen();
  }

  uri(file) {
    return pathToFileURL(path.join(this.root, file)).href;
  }

  async start() {
    await this.connection.sendRequest(InitializeRequest.type, {
      processId: process.pid, rootUri: this.uri(''), capabilities: {},
      workspaceFolders: [{ uri: this.uri(''), name: 'workspace' }],
    });
    await this.connection.sendNotification(InitializedNotification.type, {});
  }

  answered(file) {
    const [uri, version] = [this.uri(file), this.versions.get(file)];
    const shown = this.shown.get(uri);
    if (shown && shown.version === version) return Promise.resolve();
    return new Promise(resolve => this.waiting.push({ uri, version, resolve }));
  }

  open(file, text) {
    this.versions.set(file, 1);
    return this.connection.sendNotification(DidOpenTextDocumentNotification.type, {
      textDocument: { uri: this.uri(file), languageId: 'yaml', version: 1, text },
    });
  }

  insert(file, line, character, text) {
    const version = this.versions.get(file) + 1;
    this.versions.set(file, version);
    const at = { line, character };
    return this.connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument: { uri: this.uri(file), version }, contentChanges: [{ range: { start: at, end: at }, text }],
    });
  }

  async end() {
    this.isEnding = true;
    await this.connection.sendRequest(ShutdownRequest.type);
    await this.connection.sendNotification(ExitNotification.type);
    const code = await new Promise(resolve => this.server.on('exit', resolve));
    this.connection.dispose();
    if (code !== 0) throw new Error(`the server ended with ${code}`);
  }
}

/** The diagnostics of `render`: path, code, and lines and columns from 0. */
function rendered(root) {
  const run = spawnSync(program, ['render', '--diagnostics', 'json'], { cwd: root, encoding: 'utf8' });
  const found = run.stderr.split('\n').filter(line => line.startsWith('{')).map(line => JSON.parse(line));
  return found.map(({ code, place }) => {
    if (!place || place.path.startsWith('<')) return `bailiwick.yaml ${code} 0:0-0:0`;
    return `${place.path} ${code} ${place.line - 1}:${place.column - 1}-${place.endLine - 1}:${place.endColumn - 1}`;
  }).sort();
}

function shown(editor) {
  const all = [];
  for (const [uri, { diagnostics }] of editor.shown) {
    for (const { code, source, range: { start, end } } of diagnostics) {
      if (source !== 'bailiwick') continue;
      const file = uri.slice(editor.uri('').length).replace(/^\//, '');
      all.push(`${file} ${code} ${start.line}:${start.character}-${end.line}:${end.character}`);
    }
  }
  return all.sort();
}

async function checkMistake(name) {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(scratch, 'mistake-')));
  const source = path.join(mistakes, name);
  for (const entry of ['bailiwick.yaml', 'policies', 'templates']) {
    if (fs.existsSync(path.join(source, entry))) fs.cpSync(path.join(source, entry), path.join(root, entry), { recursive: true });
  }
  const expected = rendered(root);
  const [file, , range] = expected[0].split(' ');
  const line = Number(range.split(':')[0]);
  const lines = fs.readFileSync(path.join(root, file), 'utf8').split('\n');
  const kept = Math.max(0, lines[line].length - 5);
  const typed = lines[line].slice(kept);
  const editor = new Editor(root);
  await editor.start();
  await editor.open(file, lines.map((text, at) => (at === line ? text.slice(0, kept) : text)).join('\n'));
  await editor.answered(file);
  for (let at = 0; at < typed.length; at += 1) {
    await editor.insert(file, line, kept + at, typed[at]);
    await editor.answered(file);
  }
  const found = [...new Set(shown(editor))];
  if (JSON.stringify(found) !== JSON.stringify([...new Set(expected)])) {
    throw new Error(`${name}: the editor shows\n${found.join('\n')}\nand render prints\n${expected.join('\n')}`);
  }
  await editor.end();
}

function manyPolicies(root) {
  execFileSync(program, ['init', '.'], { cwd: root, stdio: 'ignore' });
  const workspace = path.join(root, 'bailiwick.yaml');
  fs.writeFileSync(workspace, fs.readFileSync(workspace, 'utf8').replace('    groups: [team-a]\n', ''));
  const head = 'apiVersion: bailiwick.dev/v1alpha1\n';
  const files = ['policies/team.yaml'];
  for (let index = 0; index < 500; index += 1) {
    const set = `${head}kind: PermissionSet\nmetadata: {name: set-${index}}\nspec:\n  rules:\n  - resources: [pods, pods/log, services]\n    access: read\n  - resources: [deployments]\n    access: write\n`;
    const grant = `${head}kind: Grant\nmetadata: {name: grant-${index}}\nspec:\n  permissionSets: [set-${index}]\n  namespaces: [team-a]\n  to: {groups: [group-${index}]}\n`;
    for (const [file, text] of [[`policies/set-${index}.yaml`, set], [`policies/grant-${index}.yaml`, grant]]) {
      fs.writeFileSync(path.join(root, file), text);
      files.push(file);
    }
  }
  return files;
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

async function measure() {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(scratch, 'many-')));
  const files = manyPolicies(root);
  const editor = new Editor(root);
  await editor.start();
  for (const file of files) await editor.open(file, fs.readFileSync(path.join(root, file), 'utf8'));
  await editor.answered(files[files.length - 1]);
  const [times, completions] = [[], []];
  for (let index = 0; index < Number(edits); index += 1) {
    const file = files[(index * 37) % files.length];
    const start = process.hrtime.bigint();
    await editor.insert(file, 0, 0, index % 2 === 0 ? '# a comment\n' : '#\n');
    await editor.answered(file);
    times.push(Number(process.hrtime.bigint() - start) / 1e6);
    const asked = process.hrtime.bigint();
    await editor.connection.sendRequest(CompletionRequest.type, {
      textDocument: { uri: editor.uri('policies/grant-1.yaml') }, position: { line: 4, character: 23 },
    });
    completions.push(Number(process.hrtime.bigint() - asked) / 1e6);
  }
  await editor.end();
  [times, completions].forEach(list => list.sort((one, other) => one - other));
  const figures = list => `median ${quantile(list, 0.5).toFixed(1)} ms, nine of ten below ${quantile(list, 0.9).toFixed(1)} ms`;
  console.log(`${files.length} open policies: an edit is answered in ${figures(times)}; a completion in ${figures(completions)}`);
  if (Number(limit) > 0 && quantile(times, 0.5) >= Number(limit)) throw new Error(`an edit takes ${limit} ms or more`);
}

async function main() {
  const names = fs.readdirSync(mistakes).sort();
  for (const name of names) await checkMistake(name);
  console.log(`${names.length} mistakes are shown where render reports them`);
  await measure();
}

// Node ends with 0 when a promise never settles, such as after the end of the server.
process.exitCode = 1;
main().then(() => {
  process.exitCode = 0;
}).catch(error => {
  console.error(`lsp: ${error.message}`);
  process.exit(1);
});

// The page of the playground: files, a command, and the answer of the module in a worker.
//
// File names, texts and the command may be by a stranger, who shared a link. They reach the document as `textContent` and `value`
// alone, and nothing runs before the reader presses Run.
"use strict";

const LIMITS = {
  // Milliseconds of a run.
  time: 20000,
  // Files, and characters of a path.
  files: 100,
  path: 200,
  // Characters of all files, and of the command.
  text: 16 << 20,
  command: 2000,
  // Characters of a fragment, and bytes of its content.
  fragment: 256 << 10,
  content: 2 << 20,
  // Characters of an output that the page shows, and places that it lists.
  shown: 1 << 20,
  places: 100,
};

const byId = (id) => document.getElementById(id);
const state = { files: [], selected: 0, worker: null, timer: 0, module: null };

const element = (name, text) => {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
};

const say = (text) => {
  byId("status").textContent = text;
};

// Files.

const current = () => state.files[state.selected];

const showFiles = () => {
  const list = byId("files");
  list.replaceChildren(...state.files.map((file, index) => {
    const button = element("button", file.path);
    button.type = "button";
    if (index === state.selected) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => select(index));
    const item = document.createElement("li");
    item.append(button);
    return item;
  }));
  byId("path").value = current().path;
  byId("text").value = current().text;
  byId("remove").disabled = state.files.length === 1;
  byId("add").disabled = state.files.length >= LIMITS.files;
};

const select = (index) => {
  state.selected = index;
  showFiles();
};

const setFiles = (files) => {
  state.files = files.map(({ path, text }) => ({ path, text }));
  // The workspace file comes first, and the policies are more telling.
  state.selected = state.files.length - 1;
  showFiles();
};

const newPath = () => {
  const isTaken = (path) => state.files.some((file) => file.path === path);
  let number = 1;
  while (isTaken(`policies/file-${number}.yaml`)) number += 1;
  return `policies/file-${number}.yaml`;
};

// The command.

// Returns the words of a command, with quotes as in a shell; null for a quote that is not closed.
const words = (command) => {
  const found = [];
  let word = null;
  let quote = "";
  for (let at = 0; at < command.length; at += 1) {
    const letter = command[at];
    if (quote !== "" && letter === quote) {
      quote = "";
    } else if (quote !== "'" && letter === "\\" && at + 1 < command.length) {
      at += 1;
      word = (word ?? "") + command[at];
    } else if (quote !== "") {
      word += letter;
    } else if (letter === "'" || letter === '"') {
      quote = letter;
      word ??= "";
    } else if (/\s/.test(letter)) {
      if (word !== null) found.push(word);
      word = null;
    } else {
      word = (word ?? "") + letter;
    }
  }
  if (quote !== "") return null;
  if (word !== null) found.push(word);
  return found;
};

const quoted = (word) => (/^[\w@%+=:,./*-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

// Writes the command of the form.
const compose = () => {
  const kind = byId("kind").value;
  for (const label of document.querySelectorAll("[data-for]")) {
    label.hidden = !label.dataset.for.split(" ").includes(kind);
  }
  if (kind === "other") return;
  const isWorkspace = state.files.some((file) => file.path === "bailiwick.yaml");
  const value = (id) => byId(id).value.trim();
  const option = (name, id) => (value(id) === "" ? [] : [name, value(id)]);
  const from = isWorkspace ? [] : ["--from", "."];
  const request = [value("verb") || "get", value("resource") || "pods", ...option("-n", "namespace")];
  const commands = {
    render: ["render", "--stdout"],
    lint: ["lint", ...from],
    "who-can": ["who-can", ...request, ...from],
    "can-i": ["can-i", ...request, ...option("--as", "user"), ...option("--as-group", "group"), ...from],
    test: ["test"],
    explain: ["explain", ...(value("topic") === "" ? [] : [value("topic")])],
  };
  byId("command").value = commands[kind].map(quoted).join(" ");
};

// A run.

// Lists the places that are in the files of the page.
const showPlaces = (places) => {
  const known = new Map(state.files.map((file, index) => [file.path, index]));
  const found = places.map((place) => ({ ...place, index: known.get(place.path.replace(/^\.\//, "")) }));
  byId("places").replaceChildren(...found.filter(({ index }) => index !== undefined).map(({ index, path, line, column, message }) => {
    const button = element("button", `${path}:${line}:${column} ${message}`);
    button.type = "button";
    button.addEventListener("click", () => {
      select(index);
      const text = byId("text");
      const before = text.value.split("\n").slice(0, line - 1);
      const start = before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
      text.focus();
      text.setSelectionRange(start, start);
      text.scrollTop = Math.max(0, line - 6) * Number.parseFloat(getComputedStyle(text).lineHeight);
    });
    const item = document.createElement("li");
    item.append(button);
    return item;
  }));
};

const MEANINGS = ["success", "the answer is no", "wrong usage or invalid input", "the run failed"];

const show = (response) => {
  if (response.refused !== undefined) {
    say(`Not run: ${response.refused}.`);
    return;
  }
  byId("stdout").textContent = response.stdout;
  byId("stderr").textContent = response.stderr;
  byId("stdout-heading").hidden = response.stdout === "";
  byId("stderr-heading").hidden = response.stderr === "";
  byId("report").textContent = response.report;
  showPlaces(response.places);
  byId("answer").hidden = false;
  say(`Exit code ${response.exitCode}: ${MEANINGS[response.exitCode]}.`);
  document.body.dataset.exitCode = response.exitCode;
};

const finish = () => {
  clearTimeout(state.timer);
  state.worker?.terminate();
  state.worker = null;
  byId("run").disabled = false;
  byId("stop").disabled = true;
  document.body.dataset.state = "idle";
};

const fail = (text) => {
  finish();
  say(text);
};

// Fetches and compiles the module once.
const load = async () => {
  if (state.module === null) {
    const response = await fetch("bailiwick.wasm");
    if (!response.ok) throw new Error(`bailiwick.wasm: ${response.status}`);
    state.module = await WebAssembly.compile(await response.arrayBuffer());
  }
  return state.module;
};

const run = async () => {
  const command = words(byId("command").value);
  delete document.body.dataset.exitCode;
  byId("answer").hidden = true;
  if (command === null) return say("Not run: a quote of the command is not closed.");
  if (state.files.reduce((sum, file) => sum + file.text.length, 0) > LIMITS.text) {
    return say(`Not run: the files have more than ${LIMITS.text >> 20} MiB.`);
  }
  const request = JSON.stringify({ arguments: command, files: state.files, today: byId("today").value });
  document.body.dataset.state = "running";
  byId("run").disabled = true;
  byId("stop").disabled = false;
  say("Running ...");
  try {
    const module = await load();
    if (document.body.dataset.state !== "running") return;
    state.worker = new Worker("worker.js");
    state.timer = setTimeout(() => fail(`Stopped: no answer after ${LIMITS.time / 1000} seconds.`), LIMITS.time);
    state.worker.onerror = (event) => fail(`Failed: ${event.message}`);
    state.worker.onmessage = ({ data }) => {
      finish();
      if (data.failed !== undefined) {
        say(`Failed: ${data.failed}`);
      } else {
        show(data.response);
      }
    };
    state.worker.postMessage({ module, request, limits: LIMITS });
  } catch (error) {
    fail(`Failed: ${error.message}`);
  }
};

// Links.

const packed = async (value) => {
  const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

// Returns the content of a fragment. Reads no more of it than the limit, whatever it expands to.
const unpacked = async (text) => {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const chunks = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > LIMITS.content) {
      await reader.cancel();
      throw new Error("it is too large");
    }
    chunks.push(value);
  }
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(chunks).arrayBuffer()));
};

// Returns the shared state; throws for anything that `share` does not write.
const checked = (value) => {
  const isText = (text, most) => typeof text === "string" && text.length <= most;
  const isFile = (file) => isText(file?.path, LIMITS.path) && isText(file?.text, LIMITS.content);
  const { files, command, today } = value;
  if (!Array.isArray(files) || files.length === 0 || files.length > LIMITS.files || !files.every(isFile)) {
    throw new Error("its files are not valid");
  }
  if (!isText(command, LIMITS.command)) throw new Error("its command is not valid");
  if (!isText(today, 10) || !/^\d{4}-\d\d-\d\d$/.test(today)) throw new Error("its day is not valid");
  return { files, command, today };
};

const share = async () => {
  const shared = { files: state.files, command: byId("command").value, today: byId("today").value };
  const fragment = `#v1=${await packed(shared)}`;
  if (fragment.length > LIMITS.fragment) return say("The files are too large for a link.");
  history.replaceState(null, "", fragment);
  byId("link").value = location.href;
  byId("shared").hidden = false;
  byId("link").select();
  return say("The link is below.");
};

const openLink = async () => {
  if (!location.hash.startsWith("#v1=")) return false;
  try {
    if (location.hash.length > LIMITS.fragment) throw new Error("it is too large");
    const { files, command, today } = checked(await unpacked(location.hash.slice(4)));
    setFiles(files);
    byId("kind").value = "other";
    compose();
    byId("command").value = command;
    byId("today").value = today;
    byId("answer").hidden = true;
    say("These files and the command came with a link. Read them, and press Run.");
    return true;
  } catch (error) {
    say(`The link cannot be opened: ${error.message}.`);
    return false;
  }
};

// The page.

const loadExample = () => {
  const example = EXAMPLES[Number(byId("example").value)];
  setFiles(example.files);
  byId("kind").value = "other";
  compose();
  byId("command").value = example.command;
  byId("answer").hidden = true;
  say("Press Run.");
};

const listen = () => {
  byId("load").addEventListener("click", loadExample);
  byId("add").addEventListener("click", () => {
    state.files.push({ path: newPath(), text: "" });
    select(state.files.length - 1);
    byId("path").focus();
  });
  byId("remove").addEventListener("click", () => {
    state.files.splice(state.selected, 1);
    select(Math.max(0, state.selected - 1));
    compose();
  });
  byId("path").addEventListener("input", () => {
    current().path = byId("path").value;
    byId("files").children[state.selected].firstChild.textContent = current().path;
    compose();
  });
  byId("text").addEventListener("input", () => {
    current().text = byId("text").value;
  });
  byId("form").addEventListener("input", (event) => {
    if (event.target.id === "command") byId("kind").value = "other";
    if (event.target.id !== "today") compose();
  });
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!byId("run").disabled) run();
  });
  byId("stop").addEventListener("click", () => fail("Stopped."));
  byId("share").addEventListener("click", share);
  window.addEventListener("hashchange", openLink);
};

const start = async () => {
  EXAMPLES.forEach((example, index) => {
    const option = element("option", example.title);
    option.value = String(index);
    byId("example").append(option);
  });
  const now = new Date();
  byId("today").value = now.toISOString().slice(0, 10);
  loadExample();
  listen();
  const isLink = await openLink();
  if (location.protocol === "file:") return;
  byId("notice").hidden = true;
  byId("run").disabled = false;
  document.body.dataset.state = "idle";
  document.body.dataset.from = isLink ? "link" : "example";
};

start();

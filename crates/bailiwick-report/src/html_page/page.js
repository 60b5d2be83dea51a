(async () => {
  "use strict";
  const find = (id) => document.getElementById(id);
  const ready = () => { document.body.dataset.ready = ""; };
  const panel = find("search-panel"), data = find("members");
  let block = "";
  try { block = JSON.parse(data.textContent); } catch { block = ""; }
  if (!panel || !block || typeof DecompressionStream === "undefined") return ready();

  const inflate = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).text();
  };

  // The format is described in src/report/html_page/members.rs.
  const members = [], keys = [], classes = [];
  let text;
  try { text = await inflate(block); } catch { return ready(); }
  let id = null, before = "";
  for (const line of text.split("\n")) {
    if (id === null) { id = line; before = ""; if (line) classes.push(line); continue; }
    if (line === "") { id = null; continue; }
    before = before.slice(0, line.charCodeAt(0) - 48) + line.slice(1);
    const parts = before.split("\t"), name = parts[0].slice(parts[0].lastIndexOf("/") + 1);
    for (let i = 1; i < parts.length; i++) if (parts[i][0] === "=") parts[i] = name + parts[i].slice(1);
    const shown = parts.join("\t");
    members.push([shown, id]);
    keys.push(shown.toLowerCase());
  }

  const input = find("search"), choice = find("search-class"), status = find("search-status");
  const view = find("search-window"), rows = find("search-rows");
  const label = (id) => find("class-" + id)?.dataset.label;
  const template = (id) => label(id) ?? find("class-" + id)?.cells[0].textContent ?? "";
  // A namespace in the place of a subject has no slash. Members of a list with a label are names without a scope.
  const scope = (parts, id) => label(id) != null ? "" : parts.length > 1 ? " in " + parts.slice(1).join(", ") : parts[0].includes("/") ? " cluster-wide" : "";
  for (const id of classes.slice(0, 500)) {
    const option = document.createElement("option");
    option.value = id;
    option.textContent = template(id);
    choice.append(option);
  }

  const HEIGHT = 28, MOST = 60;
  let hits = [];
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean), only = choice.value;
    hits = [];
    for (let i = 0; i < keys.length; i++) {
      if (only && members[i][1] !== only) continue;
      if (words.every((word) => keys[i].includes(word))) hits.push(i);
    }
    status.textContent = hits.length.toLocaleString("en") + " of " + members.length.toLocaleString("en") + " members";
    rows.style.height = Math.max(hits.length, 1) * HEIGHT + "px";
    view.scrollTop = 0;
    draw();
  };
  const draw = () => {
    const first = Math.max(0, Math.floor(view.scrollTop / HEIGHT) - 10);
    const list = [];
    for (let i = first; i < hits.length && i < first + MOST; i++) {
      const [shown, id] = members[hits[i]], parts = shown.split("\t"), row = document.createElement("li");
      const subject = document.createElement("code"), rest = document.createElement("span");
      subject.textContent = parts[0];
      rest.textContent = scope(parts, id) + " · " + template(id);
      row.append(subject, rest);
      row.title = row.textContent;
      row.style.top = i * HEIGHT + "px";
      list.push(row);
    }
    if (!hits.length) {
      const row = document.createElement("li");
      row.textContent = "no member has these words";
      list.push(row);
    }
    rows.replaceChildren(...list);
  };
  input.addEventListener("input", search);
  choice.addEventListener("change", search);
  view.addEventListener("scroll", draw, { passive: true });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); view.focus(); }
  });
  document.addEventListener("keydown", (event) => {
    const inside = event.target.closest("input, select, textarea");
    if (event.key === "/" && !inside && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); input.focus(); }
  });
  panel.hidden = false;
  search();
  ready();
})();

// The questions: about the examples, the cases, the policies of this repository, and random manifests.
import { readFileSync, readdirSync, existsSync, lstatSync } from "node:fs";
import { join, relative } from "node:path";

// Random numbers of a seed (mulberry32).
export const randomOf = (seed) => {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count) => Math.floor(next() * count);
  return { below, one: (list) => list[below(list.length)] };
};

const filesBelow = (folder) => {
  const found = [];
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const path = join(folder, name);
    const entry = lstatSync(path);
    if (entry.isDirectory()) found.push(...filesBelow(path));
    if (entry.isFile()) found.push(path);
  }
  return found.sort();
};

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// Reads texts by their paths below a folder; null if one is no text.
const texts = (folder, paths) => {
  try {
    return paths.map((path) => ({ path: relative(folder, path), text: decoder.decode(readFileSync(path)) }));
  } catch {
    return null;
  }
};

const WORKSPACE = `apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: case
spec:
  targets:
  - name: t
    version: "1.21"
`;

const COMMANDS = ["can-i", "explain", "lint", "table", "test", "who-can"];
const OF_THE_SYSTEM = ["-", "--base", "--admission", "--audit", "--from=-"];

// Returns the cases as workspaces: name, files, and the arguments that they have themselves.
export const cases = (root) => {
  const found = [];
  for (const args of filesBelow(join(root, "tests/cases")).filter((path) => path.endsWith("/policies/a.yaml") || path.endsWith("/args"))) {
    const folder = join(args, args.endsWith("/args") ? ".." : "../..");
    const inputs = ["policies", "templates", "elsewhere"].flatMap((name) => filesBelow(join(folder, name)));
    const own = existsSync(join(folder, "bailiwick.yaml")) ? [join(folder, "bailiwick.yaml")] : [];
    const files = texts(folder, [...own, ...inputs]);
    if (files === null || files.length === 0 || files.length > 90 || existsSync(join(folder, "setup"))) continue;
    if (own.length === 0) files.unshift({ path: "bailiwick.yaml", text: WORKSPACE });
    const words = args.endsWith("/args") ? readFileSync(args, "utf8").split("\n").slice(0, -1) : [];
    const isAsked = COMMANDS.includes(words[0]) && !words.some((word) => OF_THE_SYSTEM.includes(word));
    found.push({ name: relative(root, folder), files, words: isAsked ? words : null });
  }
  return found;
};

const repository = (root) => {
  const paths = [join(root, "bailiwick.yaml"), ...filesBelow(join(root, "policies"))];
  return { name: "this repository", files: texts(root, paths) };
};

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate", "escalate", "bind", "use", "*"];
const RESOURCES = ["pods", "pods/exec", "pods/log", "secrets", "configmaps", "deployments", "deployments.apps", "clusterroles", "nodes",
  "nodes/proxy", "serviceaccounts", "serviceaccounts/token", "namespaces", "podsecuritypolicies", "po", "nothing", "users"];
const NAMESPACES = ["default", "kube-system", "team-a", "tool-a", "shop", "nowhere"];
const GROUPS = ["system:masters", "system:authenticated", "team-a", "devs", "nobody"];
const USERS = ["alice", "system:kube-scheduler", "system:serviceaccount:shop:app", "system:node:n1", "system:anonymous", "<script>"];

// Returns the names of an input that can be subjects.
const names = (files) => [...new Set(files.flatMap(({ text }) => [...text.matchAll(/name: ["']?([\w.:-]+)/g)].map((match) => match[1])))];

const request = (random) => {
  const words = [random.one(VERBS), random.one(RESOURCES)];
  const chance = random.below(4);
  if (chance === 0) words.push("-A");
  if (chance === 1) words.push("-n", random.one(NAMESPACES));
  if (random.below(8) === 0) words.push("--format", "json");
  return words;
};

const subject = (random, files) => {
  const known = names(files);
  const name = known.length > 0 && random.below(2) === 0 ? random.one(known) : random.one(USERS);
  if (random.below(3) === 0) return ["--as-group", random.below(2) === 0 ? name : random.one(GROUPS)];
  return ["--as", random.below(4) === 0 ? `system:serviceaccount:${random.one(NAMESPACES)}:${name}` : name];
};

// Returns random manifests of RBAC, some of them with mistakes.
const manifests = (random) => {
  const documents = [];
  for (let index = 0; index < 3 + random.below(8); index += 1) {
    const isCluster = random.below(2) === 0;
    const namespace = isCluster ? "" : `, namespace: ${random.one(NAMESPACES)}`;
    const prefix = isCluster ? "Cluster" : "";
    const role = `role-${random.below(4)}`;
    if (random.below(2) === 0) {
      documents.push(`apiVersion: rbac.authorization.k8s.io/v1
kind: ${prefix}Role
metadata: {name: ${role}${namespace}}
rules:
- apiGroups: [${random.one(['""', "apps", '"*"', "rbac.authorization.k8s.io"])}]
  resources: [${random.one(RESOURCES).replace(/^po$/, "pods")}]
  verbs: ["${random.one(VERBS)}"]
`);
    } else {
      const kind = random.one(["User", "Group"]);
      documents.push(`apiVersion: rbac.authorization.k8s.io/v1
kind: ${prefix}RoleBinding
metadata: {name: binding-${index}${namespace}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ${random.one(["Role", "ClusterRole"])}, name: ${random.one([role, "view", "edit", "cluster-admin"])}}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: ${kind}, name: "${random.one(kind === "User" ? USERS : GROUPS)}"}
`);
    }
  }
  if (random.below(6) === 0) documents.push(random.one(["kind: [\n", "a: b: c\n", "kind: Role\nmetadata: {}\n", "{{ .Values.x }}\n"]));
  return [{ path: "dump/rbac.yaml", text: documents.join("---\n") }];
};

const CODES = ["unknown-field", "read-secrets", "Tenancy", "Grant", "templates", "no-such-code"];

// Returns questions: a name, files, and the words of a command.
export const questions = (root, count, random, examples) => {
  const all = cases(root);
  const asked = all.filter((one) => one.words !== null);
  const own = repository(root);
  const list = examples.map(({ title, files, command }) => ({ name: title, files, words: command.split(" ") }));
  const add = (name, files, words) => list.push({ name: `${name}: ${words.join(" ")}`, files, words });
  add(own.name, own.files, ["lint", "--target", "modern"]);
  add(own.name, own.files, ["test"]);
  add(own.name, own.files, ["render", "--stdout", "--target", "company-test"]);
  while (list.length < count) {
    const one = random.one(all);
    switch (random.below(8)) {
      case 0: add(one.name, one.files, ["render", "--stdout"]); break;
      case 1: add(one.name, one.files, ["lint"]); break;
      case 2: add(one.name, one.files, ["who-can", ...request(random)]); break;
      case 3: add(one.name, one.files, ["can-i", ...request(random), ...subject(random, one.files)]); break;
      case 4: {
        const files = manifests(random);
        add("random", files, ["can-i", ...request(random), ...subject(random, files), "--from", random.one([".", "dump", "dump/rbac.yaml"])]);
        break;
      }
      case 5: {
        const files = manifests(random);
        add("random", files, random.below(2) === 0 ? ["lint", "--from", "."] : ["who-can", ...request(random), "--from", "dump"]);
        break;
      }
      case 6: {
        const { name, files, words } = random.one(asked);
        add(name, files, words);
        break;
      }
      default: add("manual", [{ path: "a.yaml", text: "" }], ["explain", random.one(CODES)]);
    }
  }
  return list;
};

"""The figures of a run as JSON, with the machine: `README.md` describes the form."""

import json
import pathlib
import re
import shutil
import time

import peers
from peers import output_of
from recording import hardware

HISTORY = pathlib.Path(__file__).resolve().parent / "history"
SCHEMA_VERSION = 1


def machine(bench, load):
    """Returns what the numbers depend on, without a path."""
    return {
        **hardware(),
        "fileSystem": file_system(bench.scratch),
        "load": round(load, 2),
        "rustc": output_of(["rustc", "--version"]),
        "peers": versions_of_peers(bench),
    }


def versions_of_peers(bench):
    """The versions of the other programs, if they are there."""
    versions = {"cp": output_of(["cp", "--version"]).splitlines()[0].replace("cp ", ""),
                "git": output_of(["git", "--version"]).replace("git version ", "")}
    if shutil.which("kubectl"):
        client = json.loads(output_of(["kubectl", "version", "--client", "--output", "json"]))
        versions |= {"kubectl": client["clientVersion"]["gitVersion"], "kustomize": client["kustomizeVersion"]}
    if pathlib.Path(bench.jrsonnet).exists():
        versions["jrsonnet"] = output_of([bench.jrsonnet, "--version"]).split()[-1]
    if pathlib.Path(bench.helm).exists():
        versions |= {"Helm's engine": peers.helm_version(), "Go": output_of(["go", "env", "GOVERSION"]).removeprefix("go")}
    return versions


def file_system(folder):
    """The type of the file system that holds the folder."""
    mounts = [line.split()[1:3] for line in open("/proc/mounts", encoding="utf-8")]
    holding = [(point, kind) for point, kind in mounts if folder.is_relative_to(point)]
    return max(holding, key=lambda mount: len(mount[0]))[1]


def as_text(machine_facts, version):
    """The machine as a list in Markdown."""
    facts, versions = machine_facts, machine_facts["peers"]
    return "\n".join([
        f"- machine: {facts['processor']}, {facts['cores']} cores, {facts['memoryGiB']} GiB of memory",
        f"- system: {facts['kernel']}, {facts['fileSystem']}, load average before the first run {facts['load']:.2f}",
        f"- {facts['rustc']}; {version}",
        "- peers: " + "; ".join(f"{name} {version}" for name, version in versions.items()),
    ])


def version_of(bench):
    """The version of the product, such as 0.1.0."""
    return output_of([bench.bailiwick, "--version"]).split()[-1]


def as_json(bench, machine_facts, commit, note):
    """The whole run."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "product": {"name": "bailiwick", "version": version_of(bench), "commit": commit},
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "size": bench.size.name,
        "note": note,
        "machine": machine_facts,
        "figures": bench.results.as_json(),
    }


def write(path, run):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(run, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def newest_commit():
    """The commit of the newest file in the history with one; none without."""
    commits = []
    for path in HISTORY.glob("*.json"):
        try:
            run = json.loads(path.read_text(encoding="utf-8"))
            commits += [(run["date"], run["product"]["commit"])] if run["product"]["commit"] else []
        except (KeyError, TypeError, ValueError) as reason:
            raise SystemExit(f"error: benches/history/{path.name} is malformed: {reason!r}") from reason
    commit = max(commits, default=(None, None))[1]
    if commit and not re.fullmatch("[0-9a-f]{40}", str(commit)):
        raise SystemExit(f"error: {commit!r} in benches/history/ is no commit")
    return commit

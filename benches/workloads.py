"""The workloads: each runs its programs in turn, checks what they did, and yields paragraphs of Markdown.

Its doc comment is its heading. Nothing is written twice to the same place and nothing is deleted before the end: after
a mass deletion ext4 takes many times as long to create a file, for minutes.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import peers
from measuring import alternate, cell, cpu, measure, median, peak, peak_cell, plain_environment, quotient, ratio, table, wall
from peers import BENCHES, ROOT, output_of
from targets import FULL, QUICK, Results

TARGETS = {4: "cluster", 5: "okd", 10: "toolforge"}

# Nothing of an earlier run is known.
COLD = ("--no-cache",)
# The output of a commit, in place of the files on disk.
TREE = ("--tree", "HEAD", *COLD)


@dataclasses.dataclass(frozen=True)
class Workspace:
    """A folder with policies, and how many tenants and objects of each they make."""
    folder: pathlib.Path
    tenants: int
    objects: int = 4

    @property
    def output(self):
        return self.folder / "out"

    @property
    def total(self):
        return self.tenants * self.objects

    @property
    def target(self):
        return TARGETS[self.objects]

    def expect_total(self, found):
        """The class of ten brings a few objects of the cluster's own."""
        more = 20 if self.objects == 10 else 0
        expect(self.total <= found <= self.total + more, f"{found} objects instead of {self.total}")


class Bench:
    """The programs, the scratch folder, the workspaces made so far, and the figures that have targets."""

    def __init__(self, arguments, scratch):
        self.bailiwick = str(arguments.binary.resolve())
        self.jrsonnet = str(peers.jrsonnet_in(arguments.tools).resolve())
        self.helm = str(peers.helm_in(arguments.tools).resolve())
        self.size = QUICK if arguments.quick else FULL
        self.results = Results()
        self.scratch = scratch
        self.workspaces = {}
        self.fresh_folders = 0

    def fresh(self, name):
        """A path in the scratch folder that nothing has used yet."""
        self.fresh_folders += 1
        return self.scratch / f"{self.fresh_folders:03}-{name}"

    def workspace(self, tenants, objects=4):
        """A workspace with its output, rendered once."""
        if (tenants, objects) not in self.workspaces:
            workspace = Workspace(self.fresh(f"{tenants}x{objects}"), tenants, objects)
            generate = [sys.executable, BENCHES / "generate.py", str(tenants), workspace.folder, "--objects", str(objects)]
            subprocess.run(generate, check=True)
            self.render(workspace, COLD)
            workspace.expect_total(count_objects(workspace.output / workspace.target / "namespaces"))
            self.workspaces[tenants, objects] = workspace
        return self.workspaces[tenants, objects]

    def check(self, workspace, options, jobs=2):
        """`bailiwick check`, or with a cache `render`: either has to find nothing changed."""
        command = "render" if "--cache-dir" in options else "check"
        sample, text = self.run_bailiwick(command, workspace, options, jobs)
        total, counts = read_counts(text)
        expect(counts == (0, 0, 0, total), f"{command} said: {text}")
        workspace.expect_total(total)
        return sample

    def render(self, workspace, options, jobs=2):
        """`bailiwick render` of a workspace that has no output yet."""
        expect(not workspace.output.exists(), f"{workspace.folder} has been rendered before")
        sample, text = self.run_bailiwick("render", workspace, options, jobs)
        total, counts = read_counts(text)
        expect(counts == (total, 0, 0, 0), f"render said: {text}")
        workspace.expect_total(total)
        return sample

    def run_bailiwick(self, command, workspace, options, jobs, code=0):
        log = self.fresh(command)
        line = [self.bailiwick, command, "-C", workspace.folder, "--target", workspace.target, "--jobs", str(jobs)]
        with open(log, "wb") as out:
            sample = measure([*line, *options], stdout=out, stderr=out, code=code)
        return sample, log.read_text(encoding="utf-8").strip()

    def with_cache(self, workspace):
        """The options of an incremental run, with a cache that a first one has filled."""
        cache = self.fresh("cache")
        cache.mkdir()
        options = ("--cache-dir", str(cache))
        # Only a run of all targets is kept.
        measure([self.bailiwick, "render", "-C", workspace.folder, *options])
        expect(count_files(cache) > 0, "render has written no cache")
        return options

    def copy_of(self, workspace, *without):
        """The same workspace under a fresh path."""
        copy = self.fresh("workspace")
        shutil.copytree(workspace.folder, copy, ignore=shutil.ignore_patterns(*without))
        return dataclasses.replace(workspace, folder=copy)


# Workload A


def workload_a(bench):
    """Compile, check and compare with the disk: CPU time against the rendering alone of Jsonnet and Helm"""
    workspace = bench.workspace(bench.size.a_tenants)
    rows = workspace.folder / "jsonnet"
    jrsonnet = [bench.jrsonnet, "--jpath", rows, "--max-stack", "1000"]
    streams = {
        "`jrsonnet`, one stream, to /dev/null": [*jrsonnet, "--yaml-stream", "--format", "yaml", BENCHES / "objects.jsonnet"],
        "Helm's engine, a chart with values": [bench.helm, BENCHES / "helm" / "values", rows / "rows.json"],
        "Helm's engine, a chart of plain text": [bench.helm, BENCHES / "helm" / "text", rows / "rows.json"],
    }

    def files():
        folder = bench.fresh("jsonnet")
        sample = measure([*jrsonnet, "--string", "--create-output-dirs", "--multi", folder, BENCHES / "files.jsonnet"])
        expect(count_files(folder) == workspace.tenants, "jrsonnet wrote another number of files")
        return sample

    # What is timed below is checked here, where its output is kept.
    for command in streams.values():
        checked_stream(bench, command, workspace.total)
    ours = digest_of_ours(bench, workspace)
    _, values, text = streams.values()
    theirs = [digest_of_jsonnet(bench, jrsonnet)] + [digest_of_helm(bench, chart) for chart in (values, text)]
    expect(all(ours == other for other in theirs), f"the objects differ: {ours} and {theirs}")

    samples = alternate(bench.size.a_runs, {
        "`bailiwick check`, 2 threads": lambda: bench.check(workspace, COLD),
        **{label: functools.partial(measure, command) for label, command in streams.items()},
        "`bailiwick check`, 1 thread": lambda: bench.check(workspace, COLD, jobs=1),
        "`jrsonnet`, one file for each tenant": files,
    }, warm=workspace.output)
    two, jsonnet, helm, helm_text, one, jsonnet_files = samples.values()
    bench.results.add("jrsonnet", *compared(jsonnet, two, cpu, "{:.1f} times"))
    bench.results.add("helm", *compared(helm, two, cpu, "{:.1f} times"))
    yield (f"{workspace.tenants:,} tenants, {workspace.total:,} objects, {megabytes(size_of(workspace.output))} MB of YAML. "
           f"All sides make the same {ours[0]:,} objects, compared as data.")
    yield table(samples)
    yield ratio("CPU, jrsonnet's stream / check with 2 threads", jsonnet, two, cpu)
    yield ratio("CPU, jrsonnet's stream / check with 1 thread", jsonnet, one, cpu)
    yield ratio("CPU, jrsonnet's files / check with 2 threads", jsonnet_files, two, cpu)
    yield ratio("CPU, Helm's chart with values / check with 2 threads", helm, two, cpu)
    yield ratio("CPU, Helm's chart of plain text / check with 2 threads", helm_text, two, cpu)
    yield ratio("peak memory, jrsonnet's stream / check with 2 threads", jsonnet, two, peak)
    yield ratio("peak memory, Helm's chart with values / check with 2 threads", helm, two, peak)


def compared(above, below, value, words):
    """The ratio of the medians as a figure and as text."""
    number = quotient(above, below, value)
    return number, f"{words.format(number)} ({median(above, value):.2f} s / {median(below, value):.2f} s)"


def digest_of_ours(bench, workspace):
    """How many objects, and a digest of them in any order."""
    command = [bench.bailiwick, "render", "-C", workspace.folder, "--stdout", "--format", "json", *COLD]
    with output_as_lines(bench, command) as lines:
        return digest(json.loads(line)["object"] for line in lines)


def digest_of_helm(bench, command):
    """The same of what a chart makes; its program reads it back for that."""
    program, *rest = command
    with output_as_lines(bench, [program, "-json", *rest]) as lines:
        return digest(json.loads(line) for line in lines)


@contextlib.contextmanager
def output_as_lines(bench, command):
    """The lines that a command prints, kept in a file."""
    log = bench.fresh("objects.json")
    with open(log, "wb") as out:
        measure(command, stdout=out)
    with open(log, encoding="utf-8") as lines:
        yield lines


def digest_of_jsonnet(bench, jrsonnet):
    """The same of what jrsonnet makes; its JSON documents are parted by lines of three dashes."""

    def documents(lines):
        document = []
        for line in lines:
            if line.rstrip() in ("---", "..."):
                if document:
                    yield json.loads("".join(document))
                document = []
            else:
                document.append(line)
        if "".join(document).strip():
            yield json.loads("".join(document))

    command = [*jrsonnet, "--yaml-stream", "--format", "json", BENCHES / "objects.jsonnet"]
    with output_as_lines(bench, command) as lines:
        return digest(documents(lines))


def digest(objects):
    count, total = 0, 0
    for thing in objects:
        text = json.dumps(thing, sort_keys=True).encode()
        total += int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "big")
        count += 1
    return count, f"{total % 2**128:032x}"


# Workload B


def workload_b(bench):
    """A large tree, one file for each tenant: against `cp -r` and `git status` of the same tree"""
    workspace, runs, cold_runs = bench.workspace(bench.size.b_tenants), bench.size.b_runs, bench.size.b_cold_runs
    output = workspace.output
    # Each round of the cold ones writes five trees, each of the others one; then there are git and the two at the end.
    room = 1.2 * (5 * (cold_runs + 1) + runs + 1 + 1 + 2) * disk_usage(output)
    expect(shutil.disk_usage(bench.scratch).free > room, f"the scratch folder needs {megabytes(room)} MB")

    def copy():
        target = bench.fresh("copy")
        sample = measure(["cp", "-r", output, target])
        expect(count_files(target) == workspace.tenants, "cp copied another number of files")
        return sample

    def render(options, jobs=2):
        fresh = bench.copy_of(workspace, "out")
        sample = bench.render(fresh, options, jobs)
        subprocess.run(["diff", "-rq", output, fresh.output], check=True)
        return sample

    yield f"{workspace.tenants:,} tenants, {workspace.total:,} objects, {megabytes(size_of(output))} MB, a file for each tenant."
    status = status_of_repository(bench, workspace)
    cache = bench.with_cache(workspace)
    committed = repository_without_output(bench, workspace)
    unchanged = alternate(runs, {
        "`bailiwick check`, 2 threads": lambda: bench.check(workspace, COLD),
        "`cp -r`": copy,
        "`bailiwick render`, incremental, 2 threads": lambda: bench.check(workspace, cache),
        "`git status`": status,
        "`bailiwick check --tree HEAD`, 2 threads": lambda: bench.check(committed, TREE),
        **{f"`bailiwick {name}, {threads(jobs)}": functools.partial(bench.check, workspace, options, jobs)
           for name, options in [("check`", COLD), ("render`, incremental", cache)]
           for jobs in (1, 4)},
    }, warm=output)
    checks, copies, incremental, statuses, trees = list(unchanged.values())[:5]
    bench.results.add("check", *compared(checks, copies, wall, "{:.2f} of its time"))
    bench.results.add("tree", *compared(trees, copies, wall, "{:.2f} of its time"))
    bench.results.add("incremental", *compared(incremental, statuses, wall, "{:.1f} times"))
    yield "Nothing changed:"
    yield table(unchanged)
    yield from ratios_to("cp -r", copies, unchanged)
    yield ratio("wall, render, incremental, 2 threads / git status", incremental, statuses, wall)

    cold = alternate(cold_runs, {
        "cold `bailiwick render`, 2 threads": lambda: render(COLD),
        "`cp -r`": copy,
        "cold `bailiwick render`, 1 thread": lambda: render(COLD, 1),
        "cold `bailiwick render`, 4 threads": lambda: render(COLD, 4),
    }, warm=output)
    renders, copies, *_ = cold.values()
    bench.results.add("cold", *compared(renders, copies, wall, "{:.2f} of its time"))
    yield "Into a fresh folder:"
    yield table(cold)
    yield from ratios_to("cp -r", copies, cold)
    yield "The output is the same, byte for byte, with 1, 2 and 4 threads."


def threads(jobs):
    return "1 thread" if jobs == 1 else f"{jobs} threads"


def ratios_to(name, peer, samples):
    """A line for each of our programs among the samples."""
    for label, runs in samples.items():
        if "bailiwick" in label:
            yield ratio(f"wall, {label.replace('`bailiwick ', '').replace('`', '')} / {name}", runs, peer, wall)


def status_of_repository(bench, workspace):
    """`git status` of the output, once all of it is committed; the repository's own folder stands elsewhere."""
    git = ["git", "-C", workspace.output, "--git-dir", bench.fresh("git"), "--work-tree", workspace.output]
    author = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    steps = [["init", "--quiet"], ["add", "--all"], [*author, "-c", "gc.auto=0", "commit", "--quiet", "--message", "tree"]]
    for step in steps:
        subprocess.run([*git, *step], check=True, env=plain_environment())
    listed = output_of([*git, "ls-files"]).splitlines()
    expect(len(listed) == workspace.tenants, f"git knows {len(listed)} files")

    def status():
        log = bench.fresh("status")
        with open(log, "wb") as out:
            sample = measure([*git, "status", "--porcelain"], stdout=out)
        expect(log.stat().st_size == 0, "git sees changes")
        return sample

    return status


def repository_without_output(bench, workspace):
    """The workspace in a repository whose commit has its output, packed. As in a sparse checkout, the output is not on disk."""
    copy = bench.copy_of(workspace, "out")
    subprocess.run(["git", "init", "--quiet", copy.folder], check=True, env=plain_environment())
    # The work tree is named here alone: a repository that names another work tree is not used.
    git = ["git", "-C", workspace.folder, "--git-dir", copy.folder / ".git", "--work-tree", workspace.folder]
    author = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    steps = [["add", "--all"], [*author, "-c", "gc.auto=0", "commit", "--quiet", "--message", "tree"], ["gc", "--quiet"]]
    for step in steps:
        subprocess.run([*git, *step], check=True, env=plain_environment())
    return copy


# Workload C


def workload_c(bench):
    """One flat kustomization: whole processes against `kubectl kustomize`"""
    workspace = bench.workspace(bench.size.c_tenants)
    kustomize = kustomization(bench, workspace)
    stdout = render_to_stdout(bench, workspace)
    samples = alternate(bench.size.c_runs, {
        "`bailiwick render --stdout`": lambda: measure(stdout),
        "`bailiwick render`, cold": lambda: bench.render(bench.copy_of(workspace, "out"), COLD),
        "`kubectl kustomize`": lambda: measure(kustomize),
    })
    ours, cold, peer = samples.values()
    yield f"{workspace.tenants:,} tenants, {workspace.total:,} objects; kustomize reads the same objects and prints them again."
    yield table(samples)
    yield ratio("wall, kustomize / render --stdout", peer, ours, wall)
    yield ratio("wall, kustomize / cold render", peer, cold, wall)
    yield ratio("CPU, kustomize / render --stdout", peer, ours, cpu)


def kustomization(bench, workspace):
    """The command that builds one kustomization of the workspace's output files; run once to see that it works."""
    folder = bench.fresh("kustomization")
    folder.mkdir()
    names = []
    for path in sorted(workspace.output.rglob("*.yaml")):
        shutil.copyfile(path, folder / path.name)
        names.append(path.name)
    (folder / "kustomization.yaml").write_text("resources:\n" + "".join(f"- {name}\n" for name in names))
    return checked_stream(bench, ["kubectl", "kustomize", folder], workspace.total)


def render_to_stdout(bench, workspace):
    command = [bench.bailiwick, "render", "-C", workspace.folder, "--stdout", *COLD]
    return checked_stream(bench, command, workspace.total)


def checked_stream(bench, command, objects):
    """The command, after a run whose objects were counted."""
    log = bench.fresh("stdout.yaml")
    with open(log, "wb") as out:
        measure(command, stdout=out)
    with open(log, "rb") as lines:
        found = count_kinds(lines)
    expect(found == objects, f"{command[0]} printed {found} objects instead of {objects}")
    return command


# Workload D


def workload_d(bench):
    """One tenant: the whole process"""
    workspace = bench.workspace(1)
    kustomize = kustomization(bench, workspace)
    stdout = render_to_stdout(bench, workspace)
    samples = alternate(bench.size.d_runs, {
        "`bailiwick check`": lambda: bench.check(workspace, COLD),
        "`bailiwick render --stdout`": lambda: measure(stdout),
        "`kubectl kustomize`": lambda: measure(kustomize),
    })
    check, _, peer = samples.values()
    milliseconds = 1000 * median(check, wall)
    bench.results.add("start", milliseconds, f"{milliseconds:.1f} ms")
    yield "One tenant, 4 objects."
    yield table(samples, scale=1000, unit="ms")
    yield ratio("wall, kustomize / check", peer, check, wall)


# Workload E


@dataclasses.dataclass
class Series:
    """The runs of one way to check one workspace."""
    workspace: Workspace
    mode: str
    runs: list

    def each(self, start=0.0):
        """Microseconds of CPU time for each object, without `start` seconds."""
        return 1e6 * (median(self.runs, cpu) - start) / self.workspace.total


def workload_e(bench):
    """Growth to a million objects: CPU time of `bailiwick check` for each object, and peak memory"""
    one, *four = [bench.workspace(tenants) for tenants in (1, *bench.size.e_tenants)]
    ten = bench.workspace(bench.size.e_ten_tenants, 10)
    options_of = {workspace: modes_of(bench, workspace) for workspace in (one, *four, ten)}
    # The same workspace never comes twice in a row: the second time the kernel would know all of its files.
    ways = {(workspace, mode): options[mode] for mode in ("cold", "incremental")
            for workspace, options in options_of.items() if mode in options}
    samples = alternate(bench.size.e_runs, {
        f"{workspace.tenants:,} x {workspace.objects} objects, {mode}": functools.partial(bench.check, workspace, options)
        for (workspace, mode), options in ways.items()
    })
    series = [Series(*way, runs) for way, runs in zip(ways, samples.values())]
    starts = {each.mode: median(each.runs, cpu) for each in series if each.workspace == one}
    yield ("Two threads; four objects for each tenant, and in the last lines ten. The last column leaves out the CPU time of "
           "a run with one tenant.")
    yield growth_table(series, starts)
    for mode, start in starts.items():
        grown = [each for each in series if each.mode == mode and each.workspace in four]
        whole, own = growth([each.each() for each in grown]), growth([each.each(start) for each in grown])
        text = f"{whole:+.0%}, without process start {own:+.0%}"
        yield f"- most growth of the CPU time for an object, {mode}: **{text}**"
        if mode != "incremental":
            bench.results.add("growth", max(whole, own), text)
        runs = grown[-1].runs
        mebibytes = max(sample.peak for sample in runs) / 2**20
        bench.results.add(f"million, {mode}", mebibytes,
                          f"{mebibytes:.0f} MiB; {median(runs, wall):.2f} s, CPU {median(runs, cpu):.2f} s")


def growth_table(series, starts):
    lines = ["| way | tenants | objects | runs | CPU s | wall s | peak MB | CPU µs/object | without start |",
             "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for each in sorted(series, key=lambda each: (each.workspace.objects, each.mode, each.workspace.total)):
        cells = [cell(map(cpu, each.runs)), cell(map(wall, each.runs)), peak_cell(each.runs), f"{each.each():.2f}",
                 f"{each.each(starts[each.mode]):.2f}"]
        lines.append(f"| {each.mode} | {each.workspace.tenants:,} | {each.workspace.total:,} | {len(each.runs)} "
                     f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def modes_of(bench, workspace):
    """The options of the two ways to check a workspace; of that with ten objects only one target has output."""
    ways = {"cold": COLD}
    return ways if workspace.objects == 10 else {**ways, "incremental": bench.with_cache(workspace)}


def growth(costs):
    """By which part an object costs more than with any smaller number of them; below zero where it costs less."""
    return max(later / earlier for index, earlier in enumerate(costs) for later in costs[index + 1:]) - 1


# Workload F


def workload_f(bench):
    """A line added to a template, over every tenant: `bailiwick diff`"""
    workspace = bench.copy_of(bench.workspace(bench.size.b_tenants))
    template, include = "permission-set/role.yaml.j2", '{% include "_metadata.yaml.j2" %}\n'
    text = (ROOT / "templates" / template).read_text(encoding="utf-8")
    expect(text.count(include) == 1, f"{template} has changed")
    changed = workspace.folder / "templates" / template
    changed.parent.mkdir(parents=True)
    changed.write_text(text.replace(include, f"{include}  labels: {{example.org/reviewed: \"yes\"}}\n"), encoding="utf-8")
    printed = set()

    def diff():
        """`diff`, which has to find that the Role of each tenant is another and nothing else."""
        sample, text = bench.run_bailiwick("diff", workspace, COLD, 2, code=1)
        expected = (workspace.total, (0, workspace.tenants, 0, workspace.total - workspace.tenants))
        expect(read_counts(text) == expected, f"diff said: {text[-2000:]}")
        printed.add(text)
        return sample

    samples = alternate(bench.size.f_runs, {"`bailiwick diff`, 2 threads": diff}, warm=workspace.output)
    expect(len(printed) == 1, "two runs print different things")
    seconds, characters = median(next(iter(samples.values())), wall), len(printed.pop())
    bench.results.add("diff, time", seconds, f"{seconds:.2f} s")
    bench.results.add("diff, text", characters, f"{characters:,} characters")
    yield (f"{workspace.tenants:,} of {workspace.total:,} objects changed, by a label in `{template}`; {characters:,} "
           "characters printed.")
    yield table(samples)


# Workload G


def workload_g(bench):
    """Reading and checking: against yaml_serde, `Value` and jsonschema on one thread of the same process"""
    workspace = bench.workspace(bench.size.a_tenants)
    command = [peers.cargo_bench("read"), workspace.output, str(bench.size.g_rounds)]
    found = json.loads(output_of(command))
    expect(found["documents"] == workspace.total, f"{found['documents']} documents were read")
    bench.results.add("read", found["ratio"], f"{found['ratio']:.1f} times")
    yield (f"{found['documents']:,} documents, {megabytes(found['bytes'])} MB: our output, split into documents. Both find the "
           "same values, accept all documents, and refuse each with an unknown field.")
    lines = ["| program | rounds | s | µs/document |", "|---|--:|--:|--:|"]
    for label, key in [("our reader, tree and schemas", "ours"), ("yaml_serde, `Value` and jsonschema", "peer")]:
        seconds = [found[key][name] for name in ("leastSeconds", "medianSeconds", "mostSeconds")]
        lines.append(f"| {label} | {found['rounds']} | {cell(seconds)} | {1e6 * seconds[1] / found['documents']:.2f} |")
    yield "\n".join(lines)
    yield f"- time, yaml_serde and jsonschema / ours: **{found['ratio']:.1f}**"


def workload_h(bench):
    """The file system alone: the cost of B without a look at the bytes"""
    workspace = bench.workspace(bench.size.b_tenants)
    command = [peers.cargo_bench("files"), workspace.output, bench.fresh("files"), str(bench.size.g_rounds)]
    found = json.loads(output_of([str(word) for word in command]))
    yield (f"{found['files']:,} files of B. `check` does the third and fourth line and compares each byte with the compiled output; creating and "
           "replacing are measured with a tenth of the files.")
    lines = ["| each file is | rounds | µs/file |", "|---|--:|--:|"]
    for label, figures in found.items():
        if isinstance(figures, dict):
            lines.append(f"| {label} | {found['rounds']} | {cell([figures[name] for name in ('least', 'median', 'most')])} |")
    yield "\n".join(lines)


# Workload I


def workload_i(bench):
    """Questions at that scale: who may read Secrets, and the labels of every namespace"""
    asked, labelled = bench.workspace(bench.size.b_tenants), bench.workspace(bench.size.b_tenants, 5)

    def who():
        sample, text = bench.run_bailiwick("who-can", asked, ("get", "secrets", *COLD), 2)
        expect(len(text.splitlines()) > 1, f"who-can said: {text[:2000]}")
        return sample

    samples = alternate(bench.size.i_runs, {
        "`bailiwick who-can get secrets`": who,
        "`bailiwick check` with labels": lambda: bench.check(labelled, COLD),
    })
    yield (f"{asked.tenants:,} tenants each: the question over the {asked.total:,} objects of B, the check over {labelled.total:,} of a cluster "
           "of OpenShift, of which each namespace gets the labels that follow from what its service accounts may use.")
    yield table(samples)


WORKLOADS = {"a": workload_a, "b": workload_b, "c": workload_c, "d": workload_d, "e": workload_e, "f": workload_f,
             "g": workload_g, "h": workload_h, "i": workload_i}


# Checking


def expect(holds, message):
    if not holds:
        raise SystemExit(f"error: {message}")


def read_counts(text):
    """The objects of a target and their counts, from the line that check, render and diff print of it."""
    number = "([0-9,]+)"
    pattern = f": {number} objects?(?: in {number} files?)?: {number} created, {number} changed, {number} deleted, " \
              f"{number} unchanged$"
    found = re.search(pattern, text, re.MULTILINE)
    expect(found, f"no counts in: {text[-2000:]}")
    total, _, *counts = [value and int(value.replace(",", "")) for value in found.groups()]
    return total, tuple(counts)


def count_objects(folder):
    count = 0
    for path in files_of(folder):
        with open(path, "rb") as lines:
            count += count_kinds(lines)
    return count


def count_kinds(lines):
    """Objects of a YAML stream in block style: each has its kind at the left margin."""
    return sum(1 for line in lines if line.startswith((b"kind: ", b'"kind": ')))


def files_of(folder):
    for base, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(base, name)


def count_files(folder):
    return sum(1 for _ in files_of(folder))


def size_of(folder):
    return sum(os.path.getsize(path) for path in files_of(folder))


def disk_usage(folder):
    return sum(os.stat(path).st_blocks * 512 for path in files_of(folder))


def megabytes(count):
    return f"{count / 1e6:.0f}"

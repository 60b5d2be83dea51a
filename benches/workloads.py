"""The workloads beside other programs: each runs its programs in turn, checks what they did, and yields paragraphs of Markdown.

Its doc comment is its heading.
"""

import contextlib
import functools
import hashlib
import json
import shutil
import subprocess

import peers
from bench import TEMPLATE, TREE, commit, count_files, count_kinds, disk_usage, expect, megabytes, read_counts, repository_of, size_of
from measuring import (alternate, cell, compared, cpu, measure, median, neighbours, peak, plain_environment, quotient, ratio, table,
                       wall)
from peers import BENCHES, output_of

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
        "`bailiwick check`, 2 threads": lambda: bench.check(workspace),
        **{label: functools.partial(measure, command) for label, command in streams.items()},
        "`bailiwick check`, 1 thread": lambda: bench.check(workspace, jobs=1),
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


def digest_of_ours(bench, workspace):
    """How many objects, and a digest of them in any order."""
    command = [bench.bailiwick, "render", "-C", workspace.folder, "--stdout", "--format", "json"]
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
    """A large tree, one file for each tenant: against `cp -r` of the same tree"""
    workspace, runs, cold_runs = bench.workspace(bench.size.b_tenants), bench.size.b_runs, bench.size.b_cold_runs
    output = workspace.output
    # Each round of the cold ones writes five trees, each of the others one; then there are the repository and the two at the end.
    room = 1.2 * (5 * (cold_runs + 1) + runs + 1 + 1 + 2) * disk_usage(output)
    expect(shutil.disk_usage(bench.scratch).free > room, f"the scratch folder needs {megabytes(room)} MB")

    def copy():
        target = bench.fresh("copy")
        sample = measure(["cp", "-r", output, target])
        expect(count_files(target) == workspace.tenants, "cp copied another number of files")
        return sample

    def render(jobs=2):
        fresh = bench.copy_of(workspace, "out")
        sample = bench.render(fresh, jobs=jobs)
        subprocess.run(["diff", "-rq", output, fresh.output], check=True)
        return sample

    yield f"{workspace.tenants:,} tenants, {workspace.total:,} objects, {megabytes(size_of(output))} MB, a file for each tenant."
    committed = repository_of(bench, workspace)
    unchanged = alternate(runs, {
        "`bailiwick check`, 2 threads": lambda: bench.check(workspace),
        "`cp -r`": copy,
        "`bailiwick check --tree HEAD`, 2 threads": lambda: bench.check(committed, TREE),
        **{f"`bailiwick check`, {threads(jobs)}": functools.partial(bench.check, workspace, jobs=jobs) for jobs in (1, 4)},
    }, warm=output)
    _, copies, trees = list(unchanged.values())[:3]
    bench.results.add("tree", *compared(trees, copies, wall, "{:.2f} of its time"))
    yield "Nothing changed:"
    yield table(unchanged)
    yield from ratios_to("cp -r", copies, unchanged)

    cold = alternate(cold_runs, {
        "cold `bailiwick render`, 2 threads": lambda: render(),
        "`cp -r`": copy,
        "cold `bailiwick render`, 1 thread": lambda: render(1),
        "cold `bailiwick render`, 4 threads": lambda: render(4),
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


# Workload C


def workload_c(bench):
    """One flat kustomization: whole processes against `kubectl kustomize`"""
    workspace = bench.workspace(bench.size.c_tenants)
    kustomize = kustomization(bench, workspace)
    stdout = render_to_stdout(bench, workspace)
    samples = alternate(bench.size.c_runs, {
        "`bailiwick render --stdout`": lambda: measure(stdout),
        "`bailiwick render`, cold": lambda: bench.render(bench.copy_of(workspace, "out")),
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
    command = [bench.bailiwick, "render", "-C", workspace.folder, "--stdout"]
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
        "`bailiwick check`": lambda: bench.check(workspace),
        "`bailiwick render --stdout`": lambda: measure(stdout),
        "`kubectl kustomize`": lambda: measure(kustomize),
    })
    check, _, peer = samples.values()
    faster = quotient(peer, check, wall)
    times = f"{1000 * median(peer, wall):.1f} ms / {1000 * median(check, wall):.1f} ms"
    bench.results.add("start", faster, neighbours(peer, check, wall), f"{faster:.1f} times ({times})")
    yield "One tenant, 4 objects."
    yield table(samples, scale=1000, unit="ms")
    yield ratio("wall, kustomize / check", peer, check, wall)


# Workload F


def workload_f(bench):
    """A line added to a template, over every tenant: `bailiwick diff`"""
    workspace = bench.with_changed_template(bench.workspace(bench.size.b_tenants))
    printed = set()

    def diff():
        """`diff`, which has to find that the Role of each tenant is another and nothing else."""
        sample, text = bench.run_bailiwick("diff", workspace, (), 2, code=1)
        expected = (workspace.total, (0, workspace.tenants, 0, workspace.total - workspace.tenants))
        expect(read_counts(text) == expected, f"diff said: {text[-2000:]}")
        printed.add(text)
        return sample

    samples = alternate(bench.size.f_runs, {"`bailiwick diff`, 2 threads": diff}, warm=workspace.output)
    expect(len(printed) == 1, "two runs print different things")
    [runs], characters = samples.values(), len(printed.pop())
    bench.results.add("diff, time", median(runs, wall), map(wall, runs), f"{median(runs, wall):.2f} s")
    bench.results.add("diff, text", characters, [characters], f"{characters:,} characters")
    yield (f"{workspace.tenants:,} of {workspace.total:,} objects changed, by a label in `{TEMPLATE}`; {characters:,} "
           "characters printed.")
    yield table(samples)


# Workload G


def workload_g(bench):
    """Reading and checking: against yaml_serde, `Value` and jsonschema on one thread of the same process"""
    workspace = bench.workspace(bench.size.a_tenants)
    command = [peers.cargo_bench("read", bench.profile), workspace.output, str(bench.size.g_rounds)]
    found = json.loads(output_of(command))
    expect(found["documents"] == workspace.total, f"{found['documents']} documents were read")
    ratios = [found["peer"][name] / found["ours"][name] for name in ("leastSeconds", "medianSeconds", "mostSeconds")]
    bench.results.add("read", found["ratio"], ratios, f"{found['ratio']:.1f} times")
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
    command = [peers.cargo_bench("files", bench.profile), workspace.output, bench.fresh("files"), str(bench.size.g_rounds)]
    found = json.loads(output_of([str(word) for word in command]))
    yield (f"{found['files']:,} files of B. `check` does the third and fourth line and compares each byte with the compiled output; creating and "
           "replacing are measured with a tenth of the files.")
    lines = ["| each file is | rounds | µs/file |", "|---|--:|--:|"]
    for label, figures in found.items():
        if isinstance(figures, dict):
            lines.append(f"| {label} | {found['rounds']} | {cell([figures[name] for name in ('least', 'median', 'most')])} |")
    yield "\n".join(lines)

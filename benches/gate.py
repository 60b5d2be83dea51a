"""The workload of the gate: every step of the workflow of `init --ci github` for a pull request, beside `git diff` of the same commits."""

import os
import pathlib
import shutil
import subprocess

from bench import commit, expect, read_counts
from measuring import Sample, alternate, measure, mebibytes, median, neighbours, plain_environment, quotient, table, wall


def workload_j(bench):
    """The gate of a pull request: a line of a template and the output that it changes"""
    pull_request, questions = committed_change(bench)
    folder, target = pull_request.folder, pull_request.target
    steps = {
        "`check --tree HEAD`, with the tests": (["check", "--tree", "HEAD"], 0),
        "`lint --base`": (["lint", "--base", "HEAD^"], 0),
        "`review`": (["review", "--base", "HEAD^"], 0),
    }

    def run(arguments, code):
        log, options = bench.fresh(arguments[0]), []
        if arguments[0] == "review":
            options = [f"--report={form}={bench.fresh('review')}" for form in ("markdown", "sarif")]
        with open(log, "wb") as out:
            line = [bench.bailiwick, *arguments, *options, "-C", folder, "--target", target, "--jobs", "2"]
            sample = measure(line, stdout=out, stderr=out, code=code)
        verify(arguments[0], log.read_text(encoding="utf-8"), options, pull_request, questions)
        return sample

    def git_diff():
        log = bench.fresh("git-diff")
        with open(log, "wb") as out:
            sample = measure(["git", "-C", folder, "diff", "HEAD^", "HEAD"], stdout=out)
        expect(log.stat().st_size > pull_request.tenants * 100, "git diff has another length")
        return sample

    programs = {label: lambda step=step: run(*step) for label, step in steps.items()}
    samples = alternate(bench.size.j_runs, {**programs, "`git diff`": git_diff}, warm=pull_request.output)
    peer = samples["`git diff`"]
    processes = [samples[label] for label in steps]
    sums = [Sample(sum(map(wall, each)), sum(sample.cpu for sample in each), max(sample.peak for sample in each)) for each in zip(*processes)]
    times, seconds = quotient(sums, peer, wall), median(sums, wall)
    most = mebibytes(sums)
    bench.results.add("gate", times, neighbours(sums, peer, wall), f"{times:.1f} times ({seconds:.2f} s / {median(peer, wall):.2f} s)")
    bench.results.add("gate, time", seconds, map(wall, sums), f"{seconds:.2f} s")
    bench.results.add("gate, memory", most, [sample.peak / 2**20 for sample in sums], f"{most:.0f} MiB")
    yield (f"{pull_request.tenants:,} tenants. The commit adds a label to the Role of each tenant, and has the changed output. AccessTests ask "
           f"{questions:,} questions. `review` writes Markdown for a comment, and SARIF.")
    yield table({**samples, "the three processes together": sums})


def committed_change(bench):
    """A workspace whose last commit changes a line of a template and the output, packed, and the number of questions of its tests."""
    workspace = bench.workspace(bench.size.b_tenants)
    tested, questions = bench.with_tests(workspace)
    changed = bench.with_changed_template(tested, "out")
    # The output before the change is the output of the former workspace, linked.
    shutil.copytree(workspace.output, tested.output, copy_function=os.link)
    subprocess.run(["git", "init", "--quiet", changed.folder], check=True, env=plain_environment())
    commit(["git", "-C", tested.folder, "--git-dir", changed.folder / ".git", "--work-tree", tested.folder], "base")
    bench.render(changed)
    git = ["git", "-C", changed.folder]
    commit(git, "change")
    subprocess.run([*git, "gc", "--quiet"], check=True, env=plain_environment())
    return changed, questions


def verify(command, text, reports, workspace, questions):
    """Ends the run unless the command has done its work."""
    if command == "check":
        expect(read_counts(text) == (workspace.total, (0, 0, 0, workspace.total)), f"check printed: {text[-2000:]}")
        expect(f"{questions:,} questions asked, 0 failed" in text, f"check printed: {text[-2000:]}")
    for report in reports:
        path = pathlib.Path(report.split("=", 2)[2])
        expect(path.stat().st_size > 500, f"{report} is empty")

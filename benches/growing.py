"""The workload of growth: the CPU time of each verb for each object, in workspaces of ten thousand to a million objects."""

import dataclasses
import json
import os
import subprocess
import typing

from bench import TREE, Workspace, commit, expect, read_counts, repository_of
from measuring import alternate, cell, cpu, measure, mebibytes, median, peak_cell, plain_environment, wall
from targets import COMPILED_TWICE, VERBS
from workloads import render_to_stdout


# A group with members in every workspace.
GROUP = "team:archives"


@dataclasses.dataclass
class Series:
    """The runs of one verb over one workspace."""
    verb: str
    workspace: Workspace
    runs: typing.List

    def each(self, start=0.0):
        """Microseconds of CPU time for each object, without `start` seconds."""
        return self.of(median(self.runs, cpu), start)

    def of(self, seconds, start=0.0):
        return 1e6 * (seconds - start) / self.workspace.total


def workload_e(bench):
    """Growth to a million objects: CPU time of each verb for each object, and peak memory"""
    one, *four = [bench.workspace(tenants) for tenants in (1, *bench.size.e_tenants)]
    ten = bench.workspace(bench.size.e_ten_tenants, 10)
    yield ("Two threads; four objects for each tenant, and in the last line of `check` ten. The last column leaves out the CPU time of "
           "a run with one tenant.")
    lines, summary = growth_head(), []
    for verb in VERBS:
        workspaces = (one, *four, ten) if verb == "check" else (one, *four)
        series = measured(bench, verb, workspaces)
        lines.extend(growth_line(each, series[0]) for each in series)
        summary.append(judged(bench, verb, series[0], [each for each in series if each.workspace in four]))
    yield "\n".join(lines)
    yield "\n".join(summary)


def measured(bench, verb, workspaces):
    """A series for each workspace. The same workspace never comes twice in a row: the second time the kernel would know all of its files."""
    runs = bench.size.e_runs if verb == "check" else bench.size.e_verb_runs
    programs = {f"{workspace.tenants:,} x {workspace.objects} objects, {verb}": PREPARED[verb](bench, workspace) for workspace in workspaces}
    samples = alternate(runs, programs)
    return [Series(verb, workspace, found) for workspace, found in zip(workspaces, samples.values())]


def judged(bench, verb, start, grown):
    """Adds the figures of a verb, and returns a line about its growth."""
    seconds = median(start.runs, cpu)
    whole, own = growth([each.each() for each in grown]), growth([each.each(seconds) for each in grown])
    text = f"{whole:+.0%}, without process start {own:+.0%}"
    singles = zip(start.runs, *[each.runs for each in grown])
    if verb not in COMPILED_TWICE:
        bench.results.add(f"growth, {verb}", max(whole, own), [growth_of_run(grown, *run) for run in singles], text)
    runs = grown[-1].runs
    peaks = [sample.peak / 2**20 for sample in runs]
    bench.results.add(f"million, {verb}", mebibytes(runs), peaks,
                      f"{mebibytes(runs):.0f} MiB; {median(runs, wall):.2f} s, CPU {median(runs, cpu):.2f} s")
    return f"- most growth of the CPU time for an object, {verb}: **{text}**"


def growth_of_run(grown, start, *run):
    """The same of single runs: one of each size."""
    pairs = list(zip(grown, run))
    costs = [[each.of(sample.cpu, without) for each, sample in pairs] for without in (0.0, start.cpu)]
    return max(map(growth, costs))


def growth(costs):
    """By which part an object costs more than with any smaller number of them; below zero where it costs less."""
    return max(later / earlier for index, earlier in enumerate(costs) for later in costs[index + 1:]) - 1


def growth_head():
    return ["| verb | tenants | objects | runs | CPU s | wall s | peak MB | CPU µs/object | without start |", "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]


def growth_line(series, start):
    own = series.each(median(start.runs, cpu))
    cells = [cell(map(cpu, series.runs)), cell(map(wall, series.runs)), peak_cell(series.runs), f"{series.each():.2f}", f"{own:.2f}"]
    return (f"| {series.verb} | {series.workspace.tenants:,} | {series.workspace.total:,} | {len(series.runs)} | {' | '.join(cells)} |")


# The verbs: each function prepares a workspace, and returns a program that runs once and is measured.


def check(bench, workspace):
    return lambda: bench.check(workspace)


def check_tree(bench, workspace):
    committed = repository_of(bench, workspace)
    return lambda: bench.check(committed, TREE)


def render(bench, workspace):
    return lambda: bench.render(bench.copy_of(workspace, "out"))


def render_and_print(bench, workspace):
    command = render_to_stdout(bench, workspace)
    return lambda: measure(command)


def diff(bench, workspace):
    """The output is linked: only its path is another."""
    changed = bench.with_changed_template(workspace, copy=os.link)
    expected = (workspace.total, (0, workspace.tenants, 0, workspace.total - workspace.tenants))

    def run():
        sample, text = bench.run_bailiwick("diff", changed, (), code=1)
        expect(read_counts(text) == expected, f"diff printed: {text[-2000:]}")
        return sample

    return run


def asked(command, options, wanted, code=0):
    """A question to the policies, with a text that the answer has to have."""
    def prepare(bench, workspace):
        def run():
            sample, text = bench.run_bailiwick(command, workspace, options, code=code)
            expect(wanted in text, f"{command} printed: {text[:2000]}")
            return sample

        return run

    return prepare


def test(bench, workspace):
    tested, questions = bench.with_tests(workspace)
    return asked("test", (), f"{questions:,} questions asked, 0 failed")(bench, tested)


def review(bench, workspace):
    """The line in the template is not committed."""
    changed = bench.with_changed_template(workspace, "out")
    git = ["git", "-C", changed.folder]
    subprocess.run(["git", "init", "--quiet", changed.folder], check=True, env=plain_environment())
    templates, aside = changed.folder / "templates", bench.fresh("templates")
    templates.rename(aside)
    commit(git)
    aside.rename(templates)
    return asked("review", ("--base", "HEAD"), "label", code=(0, 1))(bench, changed)


def report(bench, workspace):
    def run():
        page = bench.fresh("report.html")
        sample, _ = bench.run_bailiwick("report", workspace, ("--report", f"html={page}"))
        expect(page.stat().st_size > 10_000, "report has written no page")
        return sample

    return run


def drift(bench, workspace):
    """The dump has the objects of the output."""
    path = bench.fresh("dump.json")
    command = [bench.bailiwick, "render", "-C", workspace.folder, "--stdout", "--format", "json"]
    lines = bench.fresh("objects.json")
    with open(lines, "wb") as out:
        measure(command, stdout=out)
    with open(lines, encoding="utf-8") as objects, open(path, "w", encoding="utf-8") as dump:
        dump.write('{"apiVersion": "v1", "kind": "List", "items": [')
        for number, line in enumerate(objects):
            dump.write(("," if number else "") + "\n" + json.dumps(json.loads(line)["object"]))
        dump.write("\n]}\n")
    # The dump has no pods, services and other kinds without an object here.
    return asked("drift", ("--live", str(path), "--partial"), "0 missing, 0 changed")(bench, workspace)


PREPARED = {
    "check": check, "check --tree": check_tree, "render": render, "render --stdout": render_and_print,
    "diff": diff,
    "lint": asked("lint", (), "", code=(0, 1)), "test": test,
    "who-can": asked("who-can", ("get", "secrets"), "\n"), "explain": asked("explain", (f"Group/{GROUP}",), GROUP),
    "review": review, "report": report, "drift": drift,
}
assert tuple(PREPARED) == VERBS

"""The comparison of two builds: the figures, the rule for a slower build, and the table."""

import argparse
import dataclasses
import statistics
import sys

from bench import Bench
from growing import PREPARED, check
from measuring import alternate, cell, cpu, peak, wall

# More than this part of the median is slower ...
LIMIT = 1.10
# ... if the fastest runs agree, and this part of all pairs of an old and a new run. Other work on a machine makes single runs slower and none
# faster, so the fastest runs have the least noise. A few slow runs of either program decide nothing.
LEAST, MOST_PAIRS = 1.05, 0.75
MEASURES = {"CPU s": cpu, "wall s": wall, "peak MB": peak}
NAMES = ("old", "new")


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How many tenants a workspace has, and how often the programs run over it and over one tenant."""
    tenants: int
    runs: int
    start_runs: int


@dataclasses.dataclass(frozen=True)
class Figure:
    """A verb; `is_start` is of one tenant."""
    name: str
    prepare: object
    is_start: bool = False


FIGURES = [Figure("start", check, is_start=True), *(Figure(verb, prepare) for verb, prepare in PREPARED.items())]


class Broken(Exception):
    """A program that cannot run a figure: its name, and the reason."""

    def __init__(self, name, reason):
        super().__init__(f"the {name} program cannot run it: {reason}")
        self.name = name


def is_slower(old, new):
    """Whether the values of the new program are larger, beyond noise."""
    above = sum(later > LEAST * earlier for earlier in old for later in new) / (len(old) * len(new))
    return statistics.median(new) > LIMIT * statistics.median(old) and min(new) > LEAST * min(old) and above >= MOST_PAIRS


def slower_measures(old, new):
    """The names of the measures in which the samples of the new program are larger."""
    return {name for name, value in MEASURES.items() if is_slower(list(map(value, old)), list(map(value, new)))}


def compare(programs, figures, sizes, scratch):
    """Prints the table; the exit code."""
    benches = [bench_of(program, scratch / name) for program, name in zip(programs, NAMES)]
    print("| figure | measure | old | new | ratio | |\n|---|---|--:|--:|--:|---|")
    compared, slower = 0, []
    for figure in figures:
        try:
            found = compare_figure(benches, figure, sizes)
        except Broken as broken:
            print(f"| {figure.name} | | | | | {broken} |".replace("\n", " "), flush=True)
            slower += [figure.name] if broken.name == "new" else []
            continue
        compared += 1
        slower += [f"{figure.name}, {measure}" for measure in sorted(found)]
    if slower:
        print(f"\nslower or larger: {'; '.join(slower)}")
    if 2 * compared < len(figures):
        print(f"\n{compared} of {len(figures)} figures are compared: too few")
        return 1 if slower else 3
    return 1 if slower else 0


def compare_figure(benches, figure, sizes):
    """Measures a figure, a second time if the new program is slower; the measures that are slower each time."""
    programs = {}
    for bench, name in zip(benches, NAMES):
        programs[name] = guarded(name, prepared(name, bench, figure, sizes))
    runs = sizes.start_runs if figure.is_start else sizes.runs
    old, new = alternate(runs, programs).values()
    found = slower_measures(old, new)
    if found:
        print_rows(f"{figure.name}, first time", old, new, found)
        old, new = alternate(runs, programs).values()
        found &= slower_measures(old, new)
    print_rows(figure.name, old, new, found)
    return found


def prepared(name, bench, figure, sizes):
    return guarded(name, lambda: figure.prepare(bench, bench.workspace(1 if figure.is_start else sizes.tenants)))()


def guarded(name, program):
    """The program, whose failure names it."""
    def run():
        try:
            return program()
        except (SystemExit, OSError) as reason:
            raise Broken(name, reason) from reason

    return run


def bench_of(program, scratch):
    scratch.mkdir()
    nothing = scratch / "no-tools"
    return Bench(argparse.Namespace(binary=program, tools=nothing, profile="release", quick=True), scratch)


def print_rows(name, old, new, slower):
    for measure, value in MEASURES.items():
        before, after = list(map(value, old)), list(map(value, new))
        digits = 0 if measure == "peak MB" else 3
        ratio = statistics.median(after) / statistics.median(before)
        print(f"| {name} | {measure} | {cell(before, digits)} | {cell(after, digits)} | {ratio:.2f} | {'slower' if measure in slower else ''} |",
              flush=True)
    sys.stdout.flush()

"""Runs programs in turn, keeps what the kernel says of them, and prints it as Markdown."""

import dataclasses
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time


@dataclasses.dataclass
class Sample:
    """One run of one program."""
    wall: float
    cpu: float
    peak: int


def wall(sample):
    return sample.wall


def cpu(sample):
    return sample.cpu


def peak(sample):
    return sample.peak / 1e6


def plain_environment():
    """Ours, without what would give the programs options that no line here shows."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("BAILIWICK_", "GIT_"))}
    return {**kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def measure(command, stdout=subprocess.DEVNULL, stderr=None, code=0, cwd=None, environment=None):
    """Runs the command to its end, with that exit code or one of these; the kernel accounts for the process and the processes that it waited for."""
    errors = tempfile.TemporaryFile() if stderr is None else stderr
    begin = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=stdout, stderr=errors,
                               env=plain_environment() | (environment or {}), cwd=cwd)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (code if isinstance(code, tuple) else (code,)):
        with open(errors.name if stderr else errors.fileno(), "rb") as text:
            text.seek(0)
            message = text.read(2000).decode(errors="replace")
        raise SystemExit(f"exit code {process.returncode}: {' '.join(map(str, command))}\n{message}")
    return Sample(elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def read_all(folder):
    """Reads every file of a folder, so that the page cache has it."""
    command = ["sh", "-c", 'find "$1" -type f -print0 | xargs -0 cat', "sh", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def alternate(runs, programs, warm=None):
    """Runs the programs in turn, after one round that is not counted; what was written before is on disk by then. The
    files below `warm` are read before each run, whatever it is: a machine may drop what nobody reads for a while."""
    samples = {label: [] for label in programs}
    for turn in range(runs + 1):
        for label, program in programs.items():
            os.sync()
            if warm is not None:
                read_all(warm)
            sample = program()
            if turn > 0:
                samples[label].append(sample)
            print(f"  {label}: {sample.wall:.3f} s", file=sys.stderr)
    return samples


def median(samples, value):
    return statistics.median(map(value, samples))


def quotient(above, below, value):
    """The ratio of the medians."""
    return median(above, value) / median(below, value)


def neighbours(above, below, value):
    """The ratios of neighbouring runs."""
    return [value(one) / value(other) for one, other in zip(above, below)]


def compared(above, below, value, words):
    """The ratio of the medians as a figure: its value, its runs and its text."""
    number = quotient(above, below, value)
    text = f"{words.format(number)} ({median(above, value):.2f} s / {median(below, value):.2f} s)"
    return number, neighbours(above, below, value), text


def mebibytes(samples):
    """The most memory of all runs."""
    return max(sample.peak for sample in samples) / 2**20


def table(samples, scale=1, unit="s"):
    lines = [f"| program | runs | CPU {unit} | wall {unit} | peak MB |", "|---|--:|--:|--:|--:|"]
    digits = 1 if scale > 1 else 2
    for label, runs in samples.items():
        time_cells = [cell([scale * value(sample) for sample in runs], digits) for value in (cpu, wall)]
        lines.append(f"| {label} | {len(runs)} | {' | '.join(time_cells)} | {peak_cell(runs)} |")
    return "\n".join(lines)


def cell(values, digits=2):
    """Median, and the least and the most in brackets."""
    values = list(values)
    low, middle, high = (f"{value:.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low}–{high})"


def peak_cell(samples):
    """Like `cell`. The kernel's account begins with the memory of this program, so less than that cannot be told."""
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    highest = max(map(peak, samples))
    return f"< {highest:.0f}" if highest < floor + 0.5 else cell(map(peak, samples), 0)


def ratio(label, above, below, value):
    """The ratio of the medians, and the ratios of neighbouring runs."""
    medians = quotient(above, below, value)
    digits = 2 if medians < 10 else 0
    return f"- {label}: **{medians:.{digits}f}** (run by run {cell(neighbours(above, below, value), digits)})"

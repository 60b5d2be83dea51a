"""Describes the machine, judges bounds, and writes a part of `README.md` between its markers."""

import os
import pathlib
import platform

from peers import output_of

README = pathlib.Path(__file__).resolve().parent / "README.md"


def hardware():
    """Returns the processor, the cores, the memory and the kernel."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    with open("/proc/meminfo", encoding="utf-8") as lines:
        memory = next(int(line.split()[1]) for line in lines if line.startswith("MemTotal"))
    return {"processor": processor, "cores": len(os.sched_getaffinity(0)), "memoryGiB": round(memory / 1024 / 1024),
            "kernel": f"{platform.system()} {platform.release()}"}


def machine(binary):
    """Returns a line about the processor, the memory, the load and the program."""
    facts = hardware()
    return (f"Machine: {facts['processor']}, {facts['cores']} cores, {facts['memoryGiB']} GiB of memory, "
            f"{facts['kernel']}, load average before the first run {os.getloadavg()[0]:.2f}; {output_of([binary, '--version'])}.")


def record(name, text):
    """Replaces the text between the markers of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = README.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    README.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")


class Bounds:
    """The bounds, each with its measured value."""

    def __init__(self, is_judged=True):
        self.is_judged = is_judged
        self.rows = []

    def add(self, work, most, value, unit):
        self.rows.append((work, most, value, unit))

    @property
    def missed(self):
        """The works that took too much; none if the sizes are too small for the bounds."""
        return [work for work, most, value, _ in self.rows if value > most] if self.is_judged else []

    def table(self):
        """Yields the lines of a table."""
        yield from ["| bound | at most | measured | |", "|---|--:|--:|---|"]
        for work, most, value, unit in self.rows:
            verdict = ("missed" if value > most else "kept") if self.is_judged else "not judged"
            yield f"| {work} | {most:,g}{unit} | {value:,.2f}{unit} | {verdict} |"

"""What the product promises of its speed, and the table that holds one run against it."""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Size:
    """How large each workload is and how often it runs."""
    a_tenants: int
    a_runs: int
    b_tenants: int
    b_runs: int
    b_cold_runs: int
    c_tenants: int
    c_runs: int
    d_runs: int
    e_tenants: typing.Tuple[int, ...]
    e_runs: int
    e_ten_tenants: int
    f_runs: int
    g_rounds: int
    i_runs: int


FULL = Size(20_000, 7, 100_000, 5, 3, 500, 7, 50, (2_500, 25_000, 250_000), 7, 20_000, 5, 7, 3)
QUICK = Size(500, 2, 1_000, 2, 1, 25, 2, 5, (250, 500, 1_000), 2, 250, 2, 2, 2)


@dataclasses.dataclass(frozen=True)
class Target:
    """One promise: a figure that stays under its bound, or reaches it. Texts have places for sizes and bound."""
    work: str
    against: str
    words: str
    bound: float
    reach: bool = False
    # The key of another target that makes up for this one.
    instead: str = ""

    def keeps(self, value):
        return value >= self.bound if self.reach else value <= self.bound


LARGE = "{b[0]:,} tenants, {b[1]:,} manifests: "
MILLION = "{e[1]:,} manifests, `check`, "
OBJECTS = "{a[1]:,} objects, rendered and validated"
TEMPLATE = "one line of a template changed over {b[0]:,} tenants: `diff`, grouped, "
TIMES = "at most {:.2f} of its time"
LESS = "{:.0f} times less CPU"
MEMORY = "peak memory under {:.0f} MiB"
GROWTH = "within {:.0%} of linear"
CP = "`cp -r` of the tree"

TARGETS = {
    "check": Target(LARGE + "`check`, nothing changed", CP, TIMES, 0.10),
    "tree": Target("the same, `check --tree HEAD`", CP, TIMES, 0.08),
    "incremental": Target("the same, incremental", "`git status` of the tree", "at most {:.0f} times", 2),
    "cold": Target("cold `render` into a fresh folder", CP, TIMES, 0.5),
    "million, cold": Target(MILLION + "cold", "", MEMORY, 200),
    "million, incremental": Target(MILLION + "incremental", "", MEMORY, 200),
    "helm": Target(OBJECTS, "Helm's engine, rendering only", LESS, 20, reach=True, instead="jrsonnet"),
    "jrsonnet": Target(OBJECTS, "jrsonnet, rendering only", LESS, 8, reach=True, instead="helm"),
    "read": Target("parse and validate", "yaml_serde → Value → jsonschema", "{:.0f} times", 6, reach=True),
    "diff, time": Target(TEMPLATE + "time", "", "under {:.0f} seconds", 3),
    "diff, text": Target(TEMPLATE + "what is printed", "", "under {:,.0f} characters", 60_000),
    "start": Target("process start with one tenant", "", "under {:.0f} ms", 10),
    "growth": Target("growth, {growth} manifests", "itself, smaller", GROWTH, 0.10),
}


class Results:
    """The figures of one run, by the key of their target."""

    def __init__(self):
        self.figures = {}

    def add(self, key, value, text):
        """`value` is held against the bound; `text` is printed, with what else there is to say."""
        assert key in TARGETS and key not in self.figures, key
        self.figures[key] = (value, text)

    def verdict(self, key):
        if self.keeps(key):
            return "kept"
        instead = TARGETS[key].instead
        return f"missed, but kept against {instead}" if self.keeps(instead) else "missed"

    def keeps(self, key):
        return key in self.figures and TARGETS[key].keeps(self.figures[key][0])

    def table(self, size):
        """A line for each figure, in the order of the targets."""
        places = {
            "a": (size.a_tenants, 4 * size.a_tenants),
            "b": (size.b_tenants, 4 * size.b_tenants),
            "e": (size.e_tenants[-1], 4 * size.e_tenants[-1]),
            "growth": ", ".join(f"{4 * tenants:,}" for tenants in size.e_tenants),
        }
        lines = ["| work | against | target | measured | |", "|---|---|---|---|---|"]
        for key, target in TARGETS.items():
            if key in self.figures:
                lines.append(f"| {target.work.format(**places)} | {target.against} | {target.words.format(target.bound)} "
                             f"| {self.figures[key][1]} | {self.verdict(key)} |")
        return "\n".join(lines)

"""What the product promises of its speed, and the figures of one run beside it."""

import dataclasses
import statistics
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
    e_verb_runs: int
    e_ten_tenants: int
    f_runs: int
    g_rounds: int
    i_runs: int
    j_runs: int
    k_bindings: int
    k_rounds: int

    @property
    def name(self):
        return "full" if self == FULL else "quick"


FULL = Size(20_000, 7, 100_000, 5, 3, 500, 7, 50, (2_500, 25_000, 250_000), 7, 3, 20_000, 5, 7, 3, 3, 100_000, 3)
QUICK = Size(500, 2, 1_000, 2, 1, 25, 2, 5, (250, 500, 1_000), 2, 1, 250, 2, 2, 2, 1, 1_000, 1)


@dataclasses.dataclass(frozen=True)
class Target:
    """One promise: a figure that stays under its bound, or reaches it. Texts have places for sizes and bound."""
    work: str
    against: str
    words: str
    bound: float
    unit: str
    reach: bool = False

    def keeps(self, value):
        return value >= self.bound if self.reach else value <= self.bound


# The verbs whose cost and memory are measured over growing workspaces.
VERBS = ("check", "check --tree", "render", "render --stdout", "diff", "lint", "test", "who-can", "explain", "review", "report",
         "drift")
# The verbs that compile a large output twice, and a small one once: their cost has a step.
COMPILED_TWICE = ("render --stdout",)

LARGE = "{b[0]:,} tenants, {b[1]:,} manifests: "
OBJECTS = "{a[1]:,} objects, rendered and validated"
TEMPLATE = "one line of a template changed over {b[0]:,} tenants: `diff`, grouped, "
GATE = "the gate of a pull request at {b[0]:,} tenants (`check --tree` with tests, `lint --base`, `review`), "
QUESTION = "{b[0]:,} tenants, from the policies: "
TIMES = "at most {:.2f} of its time"
AT_MOST = "at most {:.0f} times"
FASTER = "{:.0f} times faster"
LESS = "{:.0f} times less CPU"
MEMORY = "peak memory under {:.0f} MiB"
SECONDS = "under {:.0f} s"
LINEAR = "within {:.0%} of linear"
CP = "`cp -r` of the tree"

TARGETS = {
    "tree": Target(LARGE + "`check --tree HEAD`", CP, TIMES, 0.30, "ratio"),
    "cold": Target(LARGE + "cold `render` into a fresh folder", CP, TIMES, 0.80, "ratio"),
    "helm": Target(OBJECTS, "Helm's engine, rendering only", LESS, 16, "ratio", reach=True),
    "jrsonnet": Target(OBJECTS, "jrsonnet, rendering only", LESS, 5, "ratio", reach=True),
    "read": Target("parse and validate", "yaml_serde → Value → jsonschema", FASTER, 6, "ratio", reach=True),
    "diff, time": Target(TEMPLATE + "time", "", SECONDS, 3, "s"),
    "diff, text": Target(TEMPLATE + "length of the text", "", "under {:,.0f} characters", 60_000, "characters"),
    "gate": Target(GATE + "sum of the wall times", "`git diff` of the same commits", AT_MOST, 3, "ratio"),
    "gate, time": Target(GATE + "sum of the wall times", "", SECONDS, 8, "s"),
    "gate, memory": Target(GATE + "each process", "", MEMORY, 400, "MiB"),
    "lint": Target(QUESTION + "`lint`", "", SECONDS, 2, "s"),
    "test": Target(QUESTION + "`test` of 1,000 questions", "", SECONDS, 2, "s"),
    "who-can": Target(QUESTION + "`who-can get secrets`", "", SECONDS, 2, "s"),
    "explain": Target(QUESTION + "`explain Group/NAME`", "", SECONDS, 2, "s"),
    "decision": Target("one decision in {k[1]:,} bindings", "Kubernetes' own authorizer", FASTER, 15, "ratio", reach=True),
    "who-can, flat": Target("`who-can` over {k[0]:,} ClusterRoleBindings, from YAML", "", SECONDS, 1, "s"),
    "start": Target("process start with one tenant: `check`", "`kubectl kustomize` of it", FASTER, 8, "ratio", reach=True),
    **{f"million, {verb}": Target(f"{{e[1]:,}} manifests, `{verb}`", "", MEMORY, 150, "MiB") for verb in VERBS},
    **{f"growth, {verb}": Target(f"CPU time of `{verb}` for each object, {{growth}} manifests", "itself, smaller", LINEAR, 0.10, "share")
       for verb in VERBS if verb not in COMPILED_TWICE},
    "first command": Target("`cargo run -- render` with an empty target folder", "", "under {:.0f} CPU minutes", 4, "min"),
}


@dataclasses.dataclass(frozen=True)
class Figure:
    """One measured value, the values of its runs in the same unit, and a text with what else there is to print."""
    value: float
    runs: typing.Sequence[float]
    text: str


class Results:
    """The figures of one run, by the key of their target."""

    def __init__(self, size):
        self.size = size
        self.figures = {}

    def add(self, key, value, runs, text):
        """`value` is held against the bound, and `runs` are the values of single runs, or of neighbouring ones for a ratio."""
        assert key in TARGETS and key not in self.figures, key
        self.figures[key] = Figure(value, list(runs), text)

    def verdict(self, key):
        return "kept" if TARGETS[key].keeps(self.figures[key].value) else "missed"

    def measured(self):
        """Yields the key, the target and the figure of each, in the order of the targets."""
        for key, target in TARGETS.items():
            if key in self.figures:
                yield key, target, self.figures[key]

    def work(self, target):
        """The work of a target with the sizes of this run."""
        size = self.size
        return target.work.format(
            a=(size.a_tenants, 4 * size.a_tenants), b=(size.b_tenants, 4 * size.b_tenants),
            e=(size.e_tenants[-1], 4 * size.e_tenants[-1]), k=(size.k_bindings, 2 * size.k_bindings),
            growth=", ".join(f"{4 * tenants:,}" for tenants in size.e_tenants))

    def table(self):
        """A line for each figure."""
        lines = ["| figure | work | against | target | measured | |", "|---|---|---|---|---|---|"]
        for key, target, figure in self.measured():
            lines.append(f"| {key} | {self.work(target)} | {target.against} | {target.words.format(target.bound)} | {figure.text} "
                         f"| {self.verdict(key)} |")
        return "\n".join(lines)

    def as_json(self):
        """The figures as `README.md` describes them."""
        return [{
            "key": key,
            "work": self.work(target),
            "against": target.against or None,
            "value": rounded(figure.value),
            "unit": target.unit,
            "runs": {"count": len(figure.runs), "least": rounded(min(figure.runs)), "median": rounded(statistics.median(figure.runs)),
                     "most": rounded(max(figure.runs))},
            "target": {"text": target.words.format(target.bound), "bound": target.bound, "reach": target.reach},
            "verdict": self.verdict(key),
        } for key, target, figure in self.measured()]


def rounded(value):
    """Five significant digits; more are noise."""
    return float(f"{value:.5g}")

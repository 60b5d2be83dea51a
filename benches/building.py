"""The workload of the first command of the README: a build with an empty target folder, and a run."""

import os
import subprocess

from bench import expect
from measuring import cpu, measure, plain_environment, table
from peers import ROOT

FIRST = ["cargo", "run", "--", "render"]


def workload_l(bench):
    """The first command of the README, from the checkout"""
    expect(" ".join(FIRST) in (ROOT / "README.md").read_text(encoding="utf-8"), "the README has another first command")
    checkout = bench.fresh("checkout")
    subprocess.run(["git", "clone", "--quiet", "--local", ROOT, checkout], check=True, env=plain_environment())
    subprocess.run(["cargo", "fetch", "--locked", "--quiet"], check=True, cwd=checkout)
    sample = measure(FIRST, cwd=checkout, environment={"CARGO_TARGET_DIR": str(checkout / "target")})
    changed = subprocess.run(["git", "status", "--porcelain"], check=True, cwd=checkout, capture_output=True, text=True, env=plain_environment())
    expect(not changed.stdout, f"render has changed the checkout: {changed.stdout[:2000]}")
    minutes = cpu(sample) / 60
    bench.results.add("first command", minutes, [minutes], f"{minutes:.1f} CPU minutes; {sample.wall / 60:.1f} minutes on {len(os.sched_getaffinity(0))} cores")
    yield f"`{' '.join(FIRST)}` in a clone of the repository, with the sources of the crates on the disk and an empty target folder."
    yield table({f"`{' '.join(FIRST)}`": [sample]})

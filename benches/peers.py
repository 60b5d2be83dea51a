"""Builds what the product is compared with, and the programs of `cargo bench`; at low priority."""

import json
import pathlib
import subprocess

BENCHES = pathlib.Path(__file__).resolve().parent
ROOT = BENCHES.parent
JRSONNET_VERSION = "0.5.0-pre98"


def jrsonnet_in(tools):
    return tools / "bin" / "jrsonnet"


def helm_in(tools):
    return tools / "bin" / "helm-render"


def authorizer_in(tools):
    return tools / "bin" / "rbac"


def missing(tools):
    """What `install` has yet to make, besides the programs of `cargo bench`."""
    jrsonnet, helm = jrsonnet_in(tools), helm_in(tools)
    if not jrsonnet.exists() or output_of([jrsonnet, "--version"]).split()[-1] != JRSONNET_VERSION:
        return f"jrsonnet {JRSONNET_VERSION}"
    return next((path.name for path in [helm, authorizer_in(tools)] if not path.exists()), None)


def install(tools, profile):
    """Builds all of them; jrsonnet unless that version is there."""
    if (missing(tools) or "").startswith("jrsonnet"):
        subprocess.run(["nice", "cargo", "install", "jrsonnet", "--locked", "--version", JRSONNET_VERSION, "--root", tools],
                       check=True)
    subprocess.run(["nice", "go", "build", "-buildvcs=false", "-trimpath", "-o", helm_in(tools.resolve()), "."],
                   cwd=BENCHES / "helm", check=True)
    # Kubernetes' own authorizer.
    subprocess.run(["nice", "go", "build", "-buildvcs=false", "-trimpath", "-o", authorizer_in(tools.resolve()), "./cmd/rbac"],
                   cwd=ROOT / "tests" / "conformance" / "rbac", check=True)
    for name in ["read", "files", "access"]:
        cargo_bench(name, profile)


def cargo_bench(name, profile="dist"):
    """The program of `cargo bench --bench NAME`, built unless it is up to date."""
    built = output_of(["nice", "cargo", "bench", "--profile", profile, "--bench", name, "--no-run", "--message-format", "json"], cwd=ROOT)
    return next(message["executable"] for message in map(json.loads, built.splitlines())
                if message.get("executable") and message["target"]["name"] == name)


def helm_version():
    """The engine's version, as `go.mod` has it."""
    lines = (BENCHES / "helm" / "go.mod").read_text(encoding="utf-8").splitlines()
    return next(line.split()[-1] for line in lines if line.split()[:1] == ["helm.sh/helm/v3"])


def output_of(command, cwd=None):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=cwd).stdout.strip()

"""Decisions of our authorizer beside those of Kubernetes itself, on the same objects and questions.

Two worlds: many tenants with two bindings each (a namespace of its own for each tenant), and as many ClusterRoleBindings. Both sides have to allow
the same number of questions. Kubernetes' side is the Go program of `tests/conformance/rbac`.
"""

import json
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

from generate import rows

HERE = pathlib.Path(__file__).resolve().parent / "access"
# The minor version of the Go module, the newest of the conformance harnesses.
NEWEST = ".".join((HERE.parents[1] / "tests" / "conformance" / "releases").read_text(encoding="utf-8").split()[-1].split(".")[:2])

WORKSPACE = """\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: tenants
spec:
  layout:
    shards: 256
  targets:
  - name: cluster
    version: "{version}"
"""
RBAC = "rbac.authorization.k8s.io"


def run(command, **options):
    """Runs a program that has to end well; seconds and what it printed."""
    started = time.perf_counter()
    done = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options)
    return time.perf_counter() - started, done.stdout


def make_workspace(tenants, folder):
    """The workspace of the first world."""
    (folder / "policies").mkdir(parents=True)
    (folder / "bailiwick.yaml").write_text(WORKSPACE.format(version=NEWEST), encoding="utf-8")
    shutil.copyfile(HERE / "tenants.yaml", folder / "policies" / "tenants.yaml")
    with open(folder / "policies" / "tenants.csv", "w", encoding="utf-8") as table:
        table.write("name,uid,team,mail\n")
        for row in rows(tenants):
            table.write("{name},{uid},{team},{mail}\n".format(**row))


def tenant_questions(tenants, count):
    """Users and accounts in namespaces of their own and of others; about half are allowed."""
    dice = random.Random(1)
    all_rows = list(rows(tenants))
    for _ in range(count):
        row, other = dice.choice(all_rows), dice.choice(all_rows)
        home = row if dice.random() < 0.7 else other
        namespace = f"tenant-{home['name']}"
        resource, group, sub = dice.choice([("pods", "", ""), ("pods", "", "log"), ("secrets", "", ""), ("nodes", "", ""),
                                            ("deployments", "apps", ""), ("deployments", "apps", "scale"),
                                            ("roles", RBAC, "")])
        verb = dice.choice(["get", "list", "create", "delete", "deletecollection"])
        if dice.random() < 0.2:
            user = f"system:serviceaccount:tenant-{row['name']}:default"
            groups = ["system:serviceaccounts", f"system:serviceaccounts:tenant-{row['name']}", "system:authenticated"]
        else:
            user, groups = row["name"], [f"team:{row['team']}", "system:authenticated"]
        yield {"user": user, "groups": groups, "verb": verb, "group": group, "resource": resource, "subresource": sub,
               "namespace": namespace, "name": "x" if verb in ("get", "delete") else ""}


def cluster_objects(bindings):
    """The second world: one ClusterRole, and a ClusterRoleBinding for each user."""
    yield {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "reader"},
           "rules": [{"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch"]}]}
    for index in range(bindings):
        yield {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": f"reader-{index}"},
               "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reader"},
               "subjects": [{"kind": "User", "apiGroup": RBAC, "name": f"user-{index}"}]}


def cluster_questions(bindings, count):
    """Users with a binding, of which half may not do what they ask for."""
    dice = random.Random(2)
    for _ in range(count):
        yield {"user": f"user-{dice.randrange(bindings)}", "groups": ["system:authenticated"],
               "verb": dice.choice(["get", "delete"]), "group": "", "resource": "pods", "subresource": "",
               "namespace": "default", "name": "x"}


def write_lines(path, values):
    with open(path, "w", encoding="utf-8") as file:
        for value in values:
            file.write(json.dumps(value) + "\n")


def write_yaml(path, values):
    """JSON documents are YAML documents."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n---\n".join(json.dumps(value) for value in values) + "\n")


def ours(bench, world, questions):
    return json.loads(run([bench, world, questions])[1])


def theirs(go, objects, questions):
    _, text = run([go, "bench", "--objects", objects, "--questions", questions, "--baseline", NEWEST])
    found = re.search(r"(\d+) decisions \((\d+) allowed\).*?: (\d+) ns per decision", text)
    return {"decisions": int(found[1]), "yes": int(found[2]), "nanosecondsEach": float(found[3])}


def compare(name, bench, go, files, rounds=3):
    """One world of three files, the index, the objects and the questions: both sides in turn; the medians and their ratio."""
    world, objects, questions = files
    pairs = [(ours(bench, world, questions), theirs(go, objects, questions)) for _ in range(rounds)]
    for mine, real in pairs:
        if (mine["decisions"], mine["yes"]) != (real["decisions"], real["yes"]):
            sys.exit(f"{name}: we allow {mine['yes']} of {mine['decisions']}, Kubernetes {real['yes']} of {real['decisions']}")
    each = [statistics.median(side["nanosecondsEach"] for side in sides) for sides in zip(*pairs)]
    ratios = [real["nanosecondsEach"] / mine["nanosecondsEach"] for mine, real in pairs]
    return {**pairs[0][0], "world": name, "ours": each[0], "kubernetes": each[1], "ratio": each[1] / each[0], "ratios": ratios}


def compare_worlds(binary, bench, go, tenants, scratch, rounds=3):
    """Makes both worlds below a fresh folder, and compares the decisions in each."""
    make_workspace(tenants, scratch / "workspace")
    tenants_files, flat_files = [[scratch / f"{name}.{kind}" for kind in ("index", "objects", "questions")] for name in ("tenants", "flat")]
    world, objects, questions = tenants_files
    run([binary, "index", "--quiet", "--output", world], cwd=scratch / "workspace")
    _, rendered = run([binary, "render", "--stdout", "--format", "json"], cwd=scratch / "workspace")
    write_lines(objects, (json.loads(line)["object"] for line in rendered.splitlines()))
    write_lines(questions, ({"can-i": question} for question in tenant_questions(tenants, 20_000)))
    first = compare("tenants", bench, go, tenants_files, rounds)

    world, objects, questions = flat_files
    write_lines(objects, cluster_objects(tenants))
    write_yaml(scratch / "flat.yaml", cluster_objects(tenants))
    run([binary, "index", "--quiet", "--from", scratch / "flat.yaml", "--baseline", NEWEST, "--output", world])
    write_lines(questions, ({"can-i": question} for question in cluster_questions(tenants, 200)))
    return first, compare("ClusterRoleBindings", bench, go, flat_files, rounds)


def worlds_table(worlds):
    lines = ["| world | bindings | ours | Kubernetes' own | ratio | bytes a binding |", "|---|---|---|---|---|---|"]
    for found in worlds:
        lines.append(f"| {found['world']} | {found['bindings']:,} | {found['ours']:.0f} ns | {found['kubernetes']:,.0f} ns | "
                     f"{found['ratio']:,.0f} | {found['bytesPerBinding']} |")
    return "\n".join(lines)

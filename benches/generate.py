#!/usr/bin/env python3
"""Makes a workspace of many tenants: generate.py N OUT [--objects 4|10].

With 4 objects for each tenant the policies are those of `tenants/`; with 10 they are the class `toolforge-2023` of
`policies/toolforge/`. The same N gives the same bytes. OUT must not exist: benchmarks write into fresh folders only.
"""

import argparse
import json
import pathlib
import shutil
import sys

BENCHES = pathlib.Path(__file__).resolve().parent
TOOLFORGE = BENCHES.parent / "policies" / "toolforge"
TOOLFORGE_WORKSPACE = """\
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata:
  name: tools
spec:
  layout:
    shards: 256
  targets:
  - name: toolforge
    version: "1.21"
  # The policies name these two as well; the benchmark renders the first one only.
  - name: toolforge-seed
    version: "1.21"
  - name: toolforge-modern
    version: "1.36"
"""

COLOURS = ["amber", "azure", "black", "brown", "coral", "ivory", "green", "olive", "peach", "plum", "ruby", "white"]
ANIMALS = ["adder", "bison", "crane", "dingo", "eagle", "finch", "gecko", "heron", "ibis", "koala", "lemur", "moose",
           "otter", "panda", "quail", "raven", "stork", "tapir", "whale", "zebra"]
TEAMS = ["archives", "commons", "gadgets", "maps", "metrics", "search", "translation"]


def rows(count):
    """The tenants: names that no reader of YAML takes for something else, and ids that start at 50000."""
    for index in range(count):
        name = f"{COLOURS[index % len(COLOURS)]}-{ANIMALS[index * 7 % len(ANIMALS)]}-{index}"
        team = TEAMS[index * 3 % len(TEAMS)]
        yield {"name": name, "uid": 50000 + index, "team": team, "mail": f"{team}-{index % 100}@example.org"}


def write_four(count, out):
    """Our policies, and the rows once more as JSON for Jsonnet, which reads that fastest."""
    shutil.copyfile(BENCHES / "tenants" / "bailiwick.yaml", out / "bailiwick.yaml")
    shutil.copyfile(BENCHES / "tenants" / "tenants.yaml", out / "policies" / "tenants.yaml")
    with open(out / "policies" / "tenants.csv", "w", encoding="utf-8") as table:
        table.write("name,uid,team,mail\n")
        for row in rows(count):
            table.write("{name},{uid},{team},{mail}\n".format(**row))
    (out / "jsonnet").mkdir()
    with open(out / "jsonnet" / "rows.json", "w", encoding="utf-8") as table:
        table.write("[\n" + ",\n".join(json.dumps(row) for row in rows(count)) + "\n]\n")


def write_ten(count, out):
    """The repository's own Toolforge policies with other tools; one in ten has a raised limit."""
    (out / "bailiwick.yaml").write_text(TOOLFORGE_WORKSPACE, encoding="utf-8")
    for name in ["profiles.yaml", "roles.yaml", "tenancy.yaml"]:
        shutil.copyfile(TOOLFORGE / name, out / "policies" / name)
    with open(out / "policies" / "tools.csv", "w", encoding="utf-8") as table:
        table.write("name,uid,quota.pods,quota.limits.memory\n")
        for index, row in enumerate(rows(count)):
            raised = "20,12Gi" if index % 10 == 3 else ","
            table.write("{name},{uid},".format(**row) + raised + "\n")


def write_five(count, out):
    """The policies of a cluster that labels namespaces; user ids of a thousand each."""
    for source, target in [("bailiwick.yaml", "bailiwick.yaml"), ("tenants.yaml", "policies/tenants.yaml")]:
        shutil.copyfile(BENCHES / "labelled" / source, out / target)
    with open(out / "policies" / "tenants.csv", "w", encoding="utf-8") as table:
        table.write("name,uid,constraints\n")
        for index, row in enumerate(rows(count)):
            constraints = ["restricted-v2", "nonroot-v2", "anyuid"][index % 3]
            table.write(f"{row['name']},{1_000_000_000 + 1000 * index},{constraints}\n")


def main():
    parser = argparse.ArgumentParser(description="Makes a workspace of many tenants.")
    parser.add_argument("tenants", type=int, metavar="N")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT")
    parser.add_argument("--objects", type=int, choices=[4, 5, 10], default=4, help="objects for each tenant")
    arguments = parser.parse_args()
    if arguments.out.exists():
        sys.exit(f"{arguments.out} exists")
    (arguments.out / "policies").mkdir(parents=True)
    {4: write_four, 5: write_five, 10: write_ten}[arguments.objects](arguments.tenants, arguments.out)


if __name__ == "__main__":
    main()

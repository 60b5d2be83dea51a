"""What all workloads share: the programs, the workspaces in the scratch folder, and the checks of what a program did.

Nothing is written twice to the same place and nothing is deleted before the end: after a mass deletion ext4 takes many times as long to create
a file, for minutes.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

import peers
from measuring import measure, plain_environment
from generate import rows
from peers import BENCHES, ROOT
from targets import FULL, QUICK, Results

TARGETS = {4: "cluster", 5: "okd", 10: "toolforge"}

# The template with a line more, and the line before it.
TEMPLATE, INCLUDE = "permission-set/role.yaml.j2", '{% include "_metadata.yaml.j2" %}\n'
ACCESS_TEST = """\
---
apiVersion: bailiwick.dev/v1alpha1
kind: AccessTest
metadata:
  name: "{name}"
spec:
  who: {{users: ["{name}"]}}
  must:
  - {{verbs: [create], resources: [pods], namespaces: ["tenant-{name}"]}}
  mustNot:
  - {{verbs: [get], resources: [secrets], namespaces: ["tenant-{other}"]}}
"""

# The output of a commit, in place of the files on disk.
TREE = ("--tree", "HEAD")


@dataclasses.dataclass(frozen=True)
class Workspace:
    """A folder with policies, and how many tenants and objects of each they make."""
    folder: pathlib.Path
    tenants: int
    objects: int = 4

    @property
    def output(self):
        return self.folder / "out"

    @property
    def total(self):
        return self.tenants * self.objects

    @property
    def target(self):
        return TARGETS[self.objects]

    def expect_total(self, found):
        """The class of ten brings a few objects of the cluster's own."""
        more = 20 if self.objects == 10 else 0
        expect(self.total <= found <= self.total + more, f"{found} objects instead of {self.total}")


def installed(binary, scratch):
    """A copy of the program, as a package manager has installed kubectl: the first access to a page of the file that the linker has left
    takes longer, because the file is in the page cache in small pieces."""
    return shutil.copy(binary, scratch / "bailiwick")


class Bench:
    """The programs, the scratch folder, the workspaces made so far, and the figures that have targets."""

    def __init__(self, arguments, scratch):
        self.bailiwick = str(installed(arguments.binary, scratch))
        self.jrsonnet = str(peers.jrsonnet_in(arguments.tools).resolve())
        self.helm = str(peers.helm_in(arguments.tools).resolve())
        self.tools = arguments.tools
        self.profile = arguments.profile
        self.size = QUICK if arguments.quick else FULL
        self.results = Results(self.size)
        self.scratch = scratch
        self.workspaces = {}
        self.fresh_folders = 0

    def fresh(self, name):
        """A path in the scratch folder that nothing has used yet."""
        self.fresh_folders += 1
        return self.scratch / f"{self.fresh_folders:03}-{name}"

    def workspace(self, tenants, objects=4):
        """A workspace with its output, rendered once."""
        if (tenants, objects) not in self.workspaces:
            workspace = Workspace(self.fresh(f"{tenants}x{objects}"), tenants, objects)
            generate = [sys.executable, BENCHES / "generate.py", str(tenants), workspace.folder, "--objects", str(objects)]
            subprocess.run(generate, check=True)
            self.render(workspace)
            workspace.expect_total(count_objects(workspace.output / workspace.target / "namespaces"))
            self.workspaces[tenants, objects] = workspace
        return self.workspaces[tenants, objects]

    def check(self, workspace, options=(), jobs=2):
        """`bailiwick check`, which has to find nothing changed."""
        sample, text = self.run_bailiwick("check", workspace, options, jobs)
        total, counts = read_counts(text)
        expect(counts == (0, 0, 0, total), f"check said: {text}")
        workspace.expect_total(total)
        return sample

    def render(self, workspace, options=(), jobs=2):
        """`bailiwick render` of a workspace that has no output yet."""
        expect(not workspace.output.exists(), f"{workspace.folder} has been rendered before")
        sample, text = self.run_bailiwick("render", workspace, options, jobs)
        total, counts = read_counts(text)
        expect(counts == (total, 0, 0, 0), f"render said: {text}")
        workspace.expect_total(total)
        return sample

    def run_bailiwick(self, command, workspace, options, jobs=2, code=0):
        """Runs a command in a workspace; its sample, and what it printed."""
        return self.run_program([command, "-C", workspace.folder, "--target", workspace.target, "--jobs", str(jobs), *options], code)

    def run_program(self, arguments, code=0):
        log = self.fresh(arguments[0])
        with open(log, "wb") as out:
            sample = measure([self.bailiwick, *arguments], stdout=out, stderr=out, code=code)
        return sample, log.read_text(encoding="utf-8").strip()

    def copy_of(self, workspace, *without, copy=shutil.copy2):
        """The same workspace under a fresh path; `copy` takes the paths of a file and of its copy."""
        folder = self.fresh("workspace")
        shutil.copytree(workspace.folder, folder, ignore=shutil.ignore_patterns(*without), copy_function=copy)
        return dataclasses.replace(workspace, folder=folder)

    def with_changed_template(self, workspace, *without, copy=shutil.copy2):
        """A copy whose Role template has a line more."""
        changed = self.copy_of(workspace, *without, copy=copy)
        text = (ROOT / "templates" / TEMPLATE).read_text(encoding="utf-8")
        expect(text.count(INCLUDE) == 1, f"{TEMPLATE} has changed")
        target = changed.folder / "templates" / TEMPLATE
        target.parent.mkdir(parents=True)
        target.write_text(text.replace(INCLUDE, f"{INCLUDE}  labels: {{example.org/reviewed: \"yes\"}}\n"), encoding="utf-8")
        return changed

    def with_tests(self, workspace):
        """A copy without output whose AccessTests ask a thousand questions, two about each of 500 tenants."""
        tested = self.copy_of(workspace, "out")
        names = [row["name"] for row in rows(min(workspace.tenants, 500))]
        (tested.folder / "policies" / "tests.yaml").write_text("".join(
            ACCESS_TEST.format(name=name, other=names[index - 1]) for index, name in enumerate(names)), encoding="utf-8")
        return tested, 2 * len(names)


# Git


def commit(git, message="tree"):
    """Commits everything in the work tree of a git command, without the files that it ignores."""
    author = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"]
    for step in [["add", "--all"], [*author, "commit", "--quiet", "--message", message]]:
        subprocess.run([*git, *step], check=True, env=plain_environment())


def repository_of(bench, workspace):
    """A copy of the workspace in a repository whose commit has the output, packed. As in a sparse checkout, the output is not on disk."""
    copy = bench.copy_of(workspace, "out")
    subprocess.run(["git", "init", "--quiet", copy.folder], check=True, env=plain_environment())
    # The work tree is named here alone: a repository that names another work tree is not used.
    git = ["git", "-C", workspace.folder, "--git-dir", copy.folder / ".git", "--work-tree", workspace.folder]
    commit(git)
    subprocess.run([*git, "gc", "--quiet"], check=True, env=plain_environment())
    return copy


# Checking


def expect(holds, message):
    if not holds:
        raise SystemExit(f"error: {message}")


def read_counts(text):
    """The objects of a target and their counts, from the line that check, render and diff print of it."""
    number = "([0-9,]+)"
    pattern = f": {number} objects?(?: in {number} files?)?: {number} created, {number} changed, {number} deleted, " \
              f"{number} unchanged$"
    found = re.search(pattern, text, re.MULTILINE)
    expect(found, f"no counts in: {text[-2000:]}")
    total, _, *counts = [value and int(value.replace(",", "")) for value in found.groups()]
    return total, tuple(counts)


def count_objects(folder):
    count = 0
    for path in files_of(folder):
        with open(path, "rb") as lines:
            count += count_kinds(lines)
    return count


def count_kinds(lines):
    """Objects of a YAML stream in block style: each has its kind at the left margin."""
    return sum(1 for line in lines if line.startswith((b"kind: ", b'"kind": ')))


def files_of(folder):
    for base, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(base, name)


def count_files(folder):
    return sum(1 for _ in files_of(folder))


def size_of(folder):
    return sum(os.path.getsize(path) for path in files_of(folder))


def disk_usage(folder):
    return sum(os.stat(path).st_blocks * 512 for path in files_of(folder))


def megabytes(count):
    return f"{count / 1e6:.0f}"

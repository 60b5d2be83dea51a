#!/usr/bin/env python3
"""Writes a workspace whose manifests carry every string that YAML readers are known to stumble over.

    strings.py TOKENS.yaml WORKSPACE EXPECTED.jsonl

TOKENS.yaml is tests/yaml/plain-scalars.yaml. The manifests are JSON, so that nobody can doubt what they mean;
EXPECTED.jsonl holds the same objects, made here and not by the compiler. Objects are found by identity.
"""

import json
import pathlib
import random
import re
import sys

import yaml

STRINGS = 5_000
PER_OBJECT = 10
NAMESPACE = "strings"
OUTPUT = f"namespaces/{NAMESPACE}.yaml"

# Texts that kustomize loses with any quoting. The program refuses them; tests/conformance/readers compares with that.
KUSTOMIZE_LOSES = re.compile("[\x7f-\x9f\ufffe\uffff]|^\t[^\n]*\n")
# Written as escapes, so that a manifest means the same to every reader of JSON and of YAML.
ESCAPED = re.compile("[\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\ufeff\ufffe\uffff]")
LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

PIECES = (
    ["a", "B", "7", "0", "x", "e", "_", ".", "/", "+", "-", "--", "---", "...", " ", "  ", "\t", "\n", "\n\n", "\r", "\r\n"]
    + [chr(code) for code in range(0x20)]
    + ["\x7f", "\x80", "\x85", "\x9f", "\xa0", "\xad", "é", "ß", "漢", "\u200b", "\u2028", "\u2029", "\ufeff", "\ufffd", "\ufffe", "\uffff"]
    + ["😀", "\U0010ffff", '"', "'", "\\", "\\n", "\\x41", ":", ": ", "::", " #", "#", "- ", "? ", "?", ",", ", ", "[", "]", "{", "}"]
    + ["&", "*", "!", "!!str ", "|", ">", "|-", "%", "@", "`", "<<", "=", "~", "null", "true", "no", "y", "1", "1_0", "0x", "1e3", ".inf"]
    + ["2024-01-01", "12:30", "{{", "}}", "$(x)", "${x}", "\\u0041"]
)


def tokens(path):
    """The tokens of the table as they are written, also those that the table leaves bare."""
    table = yaml.load(pathlib.Path(path).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    return [row["token"] for row in table["scalars"]]


def changed(word, choose):
    """A token with one character inserted, removed, doubled or in the other case."""
    if not word:
        return word
    at = choose.randrange(len(word))
    return choose.choice([
        word[:at] + choose.choice(PIECES) + word[at:],
        word[:at] + word[at + 1:],
        word[:at] + word[at] + word[at:],
        word.swapcase(),
        word[:at] + word[at].swapcase() + word[at + 1:],
        f" {word}",
        f"{word}\n",
    ])


def random_strings(words):
    choose = random.Random(1)
    found = {"", " ", "\n", "\t", "x" * 2_000, "é" * 500, "a b " * 60, "line\n" * 40}
    while len(found) < STRINGS:
        if choose.random() < 0.4:
            found.add(changed(choose.choice(words), choose))
        else:
            found.add("".join(choose.choice(PIECES) for _ in range(choose.randrange(1, 10))))
    return sorted(found)


def binding(name, subject="somebody", labels=None, annotations=None):
    """A RoleBinding in the form the server stores; what is not given is not there."""
    metadata = {"name": name, "namespace": NAMESPACE}
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": subject}],
    }


def survives_inventory(name):
    """Whether the inventory of Flux gives the name of a binding back: it writes a colon as two underscores."""
    return name.replace(":", "__").replace("__", ":") == name


def objects(words):
    for number, word in enumerate(words):
        # A name may be any path segment.
        if word not in ("", ".", "..") and "/" not in word and "%" not in word and survives_inventory(word):
            yield binding(word, subject=word)
        elif word:
            yield binding(f"subject-{number}", subject=word)
        if len(word) <= 63 and LABEL_VALUE.fullmatch(word):
            yield binding(f"label-{number}", labels={"example.org/token": word})
        yield binding(f"annotation-{number}", annotations={"example.org/token": word})
    values = [value for value in random_strings(words) if not KUSTOMIZE_LOSES.search(value)]
    for start in range(0, len(values), PER_OBJECT):
        part = values[start:start + PER_OBJECT]
        annotations = {f"example.org/s{index}": value for index, value in enumerate(part)}
        yield binding(f"random-{start}", annotations=annotations)


def as_json(value):
    text = json.dumps(value, ensure_ascii=False)
    return ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: strings.py TOKENS.yaml WORKSPACE EXPECTED.jsonl")
    words = tokens(sys.argv[1])
    workspace = pathlib.Path(sys.argv[2])
    manifests = workspace / "policies" / "manifests"
    manifests.mkdir(parents=True)
    version = "bailiwick.dev/v1alpha1"
    documents = {
        workspace / "bailiwick.yaml": {
            "apiVersion": version, "kind": "Workspace", "metadata": {"name": "strings"},
            "spec": {"targets": [{"name": "t", "version": "1.37"}]},
        },
        workspace / "policies" / "strings.yaml": {
            "apiVersion": version, "kind": "Manifests", "metadata": {"name": "strings"},
            "spec": {"files": ["manifests/*.yaml"]},
        },
    }
    for path, document in documents.items():
        path.write_text(as_json(document) + "\n", encoding="utf-8")
    made = list(objects(words))
    (manifests / "strings.yaml").write_text("---\n".join(as_json(one) + "\n" for one in made), encoding="utf-8")
    lines = (as_json({"path": OUTPUT, "object": one}) + "\n" for one in made)
    pathlib.Path(sys.argv[3]).write_text("".join(lines), encoding="utf-8")
    print(f"{len(made)} objects with {len(words)} tokens and {STRINGS} random strings")


if __name__ == "__main__":
    main()

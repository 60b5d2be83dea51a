#!/usr/bin/env python3
"""Reads a folder of manifests with PyYAML and compares what it sees with what the compiler says it wrote.

    pyyaml.py FOLDER EXPECTED.jsonl

The lines of EXPECTED.jsonl are those of cmd/conform. PyYAML reads YAML 1.1 in full (sexagesimals, dates, octals),
so it finds strings that lack their quotes where Go's readers do not.
"""

import json
import math
import pathlib
import sys

import yaml

SHOWN = 20
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def identity(item):
    metadata = item.get("metadata") or {}
    return (item.get("apiVersion"), item.get("kind"), metadata.get("namespace"), metadata.get("name"))


def read(folder):
    """Every object with its path and its position; what cannot be read, as text."""
    objects, problems = [], []
    for path in sorted(folder.rglob("*.yaml")):
        name = path.relative_to(folder).as_posix()
        try:
            documents = list(yaml.load_all(path.read_text(encoding="utf-8"), Loader=Loader))
        except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
            problems.append(f"{name}: {' '.join(str(error).split())}")
            continue
        found = [document for document in documents if document is not None]
        for index, document in enumerate(found):
            if isinstance(document, dict):
                objects.append((name, index, document))
            else:
                problems.append(f"{name} [{index}]: not an object: {document!r}")
    return objects, problems


def differences(found, expected, path):
    """Every difference below a path; True is not 1, and 1 is 1.0."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(set(expected) | set(found), key=repr):
            below = f"{path}.{key}".lstrip(".")
            if key not in found:
                yield f"{below}: is missing"
            elif key not in expected:
                yield f"{below}: is too much"
            else:
                yield from differences(found[key], expected[key], below)
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        for index, (left, right) in enumerate(zip(found, expected)):
            yield from differences(left, right, f"{path}[{index}]")
    elif not same(found, expected):
        yield f"{path}: read {found!r:.200}, expected {expected!r:.200}"


def same(found, expected):
    numbers = (int, float)
    if isinstance(found, bool) or isinstance(expected, bool):
        return found is expected
    if isinstance(found, numbers) and isinstance(expected, numbers):
        return found == expected or math.isclose(found, expected, rel_tol=1e-15)
    return type(found) is type(expected) and found == expected


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: pyyaml.py FOLDER EXPECTED.jsonl")
    objects, told = read(pathlib.Path(sys.argv[1]))
    lines = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8").split("\n")
    expected = [json.loads(line) for line in lines if line.strip()]
    by_index = {(path, index): item for path, index, item in objects}
    by_identity = {(path, identity(item)): item for path, _, item in objects}
    for record in expected:
        path, item = record["path"], record["object"]
        if record.get("index") is None:
            where, found = f"{path} {identity(item)}", by_identity.get((path, identity(item)))
        else:
            where, found = f"{path} [{record['index']}]", by_index.get((path, record["index"]))
        if found is None:
            told.append(f"{where}: {identity(item)} is missing")
        else:
            told.extend(f"{where}: {text}" for text in differences(found, item, ""))
    if len(objects) != len(expected):
        told.append(f"{len(objects)} objects were read and {len(expected)} expected")
    verdict = f"{len(told)} differences" if told else "equal"
    print(f"{'PyYAML ' + yaml.__version__:18} {len(objects)} objects: {verdict}")
    for text in told[:SHOWN]:
        print(f"  {text}")
    if len(told) > SHOWN:
        print(f"  ... and {len(told) - SHOWN} more")
    sys.exit(1 if told else 0)


if __name__ == "__main__":
    main()

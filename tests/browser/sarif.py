"""Validates SARIF logs. README.md describes the call."""

import json
import pathlib
import sys

import jsonschema

SCHEMA = "node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"


def main(folder):
    schema = json.loads((pathlib.Path(__file__).parent / SCHEMA).read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(schema)
    files = sorted(pathlib.Path(folder).glob("*.sarif"))
    count = 0
    for path in files:
        for error in validator.iter_errors(json.loads(path.read_text(encoding="utf-8"))):
            print(f"{path}: {list(error.absolute_path)}: {error.message[:200]}")
            count += 1
    print(f"{len(files)} logs, {count} problems")
    return 1 if count or not files else 0


sys.exit(main(sys.argv[1]))

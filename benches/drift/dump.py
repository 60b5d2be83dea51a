"""Makes a workspace of many tenants, and a dump of a cluster with their objects as `kubectl get -o json` prints it.

The objects of the dump have the fields of the API server and of an apply from kubectl. Ten quotas differ from the policies.
"""

import json
import pathlib
import shutil
import subprocess
import uuid

HERE = pathlib.Path(__file__).resolve().parent
TIME = "2026-11-20T08:00:00Z"


def write_workspace(folder, tenants):
    """Writes the workspace and its table."""
    (folder / "policies").mkdir(parents=True)
    shutil.copyfile(HERE / "bailiwick.yaml", folder / "bailiwick.yaml")
    shutil.copyfile(HERE / "tenants.yaml", folder / "policies" / "tenants.yaml")
    with open(folder / "policies" / "tenants.csv", "w", encoding="utf-8") as table:
        table.write("name,uid\n")
        table.writelines(f"team-{number:05},{50000 + number}\n" for number in range(tenants))


def owned_fields(value):
    """Returns the fields of a value as the API server records them for a manager."""
    if not isinstance(value, dict):
        return {}
    skipped = {"apiVersion", "kind", "name", "namespace"}
    return {f"f:{key}": owned_fields(entry) for key, entry in value.items() if key not in skipped}


def live(wanted, number, with_managers):
    """Returns an object with the fields of the cluster, and with its managed fields on request."""
    metadata = wanted["metadata"]
    fields = {"f:metadata": owned_fields(metadata), **owned_fields({key: wanted[key] for key in wanted if key != "metadata"})}
    metadata |= {
        "creationTimestamp": TIME,
        "resourceVersion": str(1000 + number),
        "uid": str(uuid.UUID(int=number)),
    }
    if with_managers:
        metadata["managedFields"] = [{"apiVersion": wanted["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": fields,
                                      "manager": "kubectl", "operation": "Apply", "time": TIME}]
    if wanted["kind"] == "Namespace":
        metadata["labels"]["kubernetes.io/metadata.name"] = metadata["name"]
        wanted |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    return wanted


def write_dump(binary, workspace, path, with_managers):
    """Writes the dump with ten edits; returns the number of its objects."""
    command = [binary, "render", "--stdout", "--format", "json", "--quiet", "-C", workspace]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    number, edits = 0, 0
    with open(path, "w", encoding="utf-8") as dump:
        dump.write('{\n    "apiVersion": "v1",\n    "items": [')
        for line in process.stdout:
            wanted = live(json.loads(line)["object"], number, with_managers)
            if wanted["kind"] == "ResourceQuota" and edits < 10:
                wanted["spec"]["hard"]["pods"] = "500"
                edits += 1
            text = json.dumps(wanted, indent=4, sort_keys=True).replace("\n", "\n        ")
            dump.write(("," if number else "") + "\n        " + text)
            number += 1
        dump.write('\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n')
    if process.wait() != 0:
        raise SystemExit("render failed")
    return number

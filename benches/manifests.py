"""Writes objects as `kubectl get --output yaml` prints them: lists in block style, with sorted keys and the fields of the server."""

import re

RBAC = "rbac.authorization.k8s.io"
PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@-]*(?::[A-Za-z0-9_./@-]+)*")
WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def scalar(value):
    """Returns a text, a number or a truth value as YAML; texts that YAML takes for something else are quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if PLAIN.fullmatch(value) and value.lower() not in WORDS:
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def lines(value, indent=""):
    """Yields the lines of a map or a list; a list stands at the indentation of its key."""
    if isinstance(value, dict):
        for key, part in sorted(value.items()):
            if isinstance(part, (dict, list)):
                if part:
                    yield f"{indent}{scalar(key)}:"
                    yield from lines(part, indent + "  " if isinstance(part, dict) else indent)
                else:
                    yield f"{indent}{scalar(key)}: {'{}' if isinstance(part, dict) else '[]'}"
            else:
                yield f"{indent}{scalar(key)}: {scalar(part)}"
    else:
        for part in value:
            if isinstance(part, (dict, list)):
                first, *others = lines(part, indent + "  ")
                yield f"{indent}- {first[len(indent) + 2:]}"
                yield from others
            else:
                yield f"{indent}- {scalar(part)}"


def uid(dice):
    """Returns a random identifier of version 4."""
    digits = f"{dice.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def live(item, dice):
    """Adds the fields of the server to an object, and returns it."""
    day, second = dice.randrange(1, 29), dice.randrange(86400)
    item["metadata"].update({
        "creationTimestamp": f"2026-03-{day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z",
        "resourceVersion": str(dice.randrange(10_000, 99_000_000)),
        "uid": uid(dice),
    })
    if item["kind"] == "Namespace":
        item["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = item["metadata"]["name"]
        item.update({"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
    return item


def write_list(path, items):
    """Writes the objects as one List, and returns their number."""
    count = 0
    with open(path, "w", encoding="utf-8") as out:
        out.write("apiVersion: v1\nitems:\n")
        for item in items:
            out.write("\n".join(lines([item])) + "\n")
            count += 1
        out.write('kind: List\nmetadata:\n  resourceVersion: ""\n')
    return count


# Objects


def plain(kind, name, namespace=None, **fields):
    """Returns an object of the core group; `labels` and `annotations` are metadata."""
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    for key in ["labels", "annotations"]:
        if fields.get(key):
            metadata[key] = dict(fields[key])
        fields.pop(key, None)
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def role(name, namespace, rules, **fields):
    """Returns a Role, or a ClusterRole without a namespace."""
    item = plain("Role" if namespace else "ClusterRole", name, namespace, rules=rules, **fields)
    return {**item, "apiVersion": f"{RBAC}/v1"}


def binding(name, namespace, bound, subjects, **fields):
    """Returns a RoleBinding, or a ClusterRoleBinding without a namespace; `bound` is the kind and the name of the role."""
    item = plain("RoleBinding" if namespace else "ClusterRoleBinding", name, namespace, **fields)
    reference = {"apiGroup": RBAC, "kind": bound[0], "name": bound[1]}
    return {**item, "apiVersion": f"{RBAC}/v1", "roleRef": reference, "subjects": list(subjects)}


def person(kind, name):
    """Returns a User or a Group as a subject."""
    return {"apiGroup": RBAC, "kind": kind, "name": name}


def account(name, namespace):
    """Returns a ServiceAccount as a subject."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}

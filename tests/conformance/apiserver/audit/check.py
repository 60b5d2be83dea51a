#!/usr/bin/env python3
"""Compares the requests of an audit log, and the permissions that they use, with expectations.

    check.py requests LOG EXPECTED.json
    check.py permissions LOG EXPECTED.json CLUSTER.json
    check.py answers UNUSED.json EXPECTED.json CLUSTER.json LEAST.json

This is a second reader of audit logs, written for the log of `run-audit` alone and without a look at the first. A request is
[verb, group, resource, namespace, name] as authorization saw it, or [verb, path]; a permission is [group, resource, verb],
[group, resource, verb, name] or [path, verb]. CLUSTER.json has the objects of the cluster as one List, UNUSED.json the answer of
`lint --audit`, and LEAST.json the answer of `import audit`. Ends with 0 when all is as expected, and with 1 otherwise.
"""

import json
import pathlib
import re
import sys
import urllib.parse

DECISION = "authorization.k8s.io/decision"
# Each version of kubectl asks for other paths of the discovery, and every account may read them.
DISCOVERY = re.compile(r"/(api|apis|openapi|version)(/.*)?")
IMPLIED_GROUPS = re.compile(r"system:(authenticated|serviceaccounts(:.*)?)")
REFUSED = re.compile(r'cannot (\S+) resource "(\S+)"')


def attributes(uri, verb):
    """Returns the request of a path and a verb; `objectRef` has names that authorization did not see."""
    parsed = urllib.parse.urlsplit(uri)
    words = parsed.path.strip("/").split("/")
    prefix = {"api": 2, "apis": 3}.get(words[0])
    if prefix is None or len(words) <= prefix:
        return (verb, parsed.path)
    group = words[1] if prefix == 3 else ""
    words = words[prefix:]
    old_watch = words[0] == "watch"
    words = words[old_watch:]
    namespace = ""
    if words[0] == "namespaces" and len(words) > 1:
        namespace = words[1]
        # A namespace is in itself, and `status` is a subresource of it.
        if len(words) > 2 and words[2] not in ("status", "finalize"):
            words = words[2:]
    resource, name, subresource = (words + ["", ""])[:3]
    if not name and verb in ("list", "watch") and not old_watch:
        selector = urllib.parse.parse_qs(parsed.query).get("fieldSelector", [""])[0]
        name = dict(re.findall(r"([^=,]+)=([^=,]+)", selector)).get("metadata.name", "")
    return (verb, group, f"{resource}/{subresource}" if subresource else resource, namespace, name)


def account(name):
    """Returns the resource, the namespace and the name of the account with a user name."""
    words = name.split(":")
    return ("serviceaccounts", *words[2:]) if words[:2] == ["system", "serviceaccount"] else ("users", "", name)


def subject(name):
    resource, namespace, short = account(name)
    return f"User/{name}" if resource == "users" else f"ServiceAccount/{namespace}/{short}"


def impersonations(event, request):
    """Returns the requests by which a user becomes another one."""
    other = event["impersonatedUser"]
    constraint = event.get("authenticationMetadata", {}).get("impersonationConstraint")
    resource, namespace, name = account(other["username"])
    if constraint:
        mode = constraint.split(":", 1)[1]
        yield (constraint, "authentication.k8s.io", resource, namespace, name)
        yield (f"impersonate-on:{mode}:{request[0]}", *request[1:])
        return
    yield ("impersonate", "", resource, namespace, name)
    for group in other["groups"]:
        if not IMPLIED_GROUPS.fullmatch(group):
            yield ("impersonate", "", "groups", "", group)


class Uses:
    """The requests of a log by subject: sets of requests by the lists of the expectations, and groups of each request."""

    def __init__(self, events):
        self.requests = {}
        self.groups = {}
        for event in {event["auditID"]: event for event in events}.values():
            request = attributes(event["requestURI"], event["verb"])
            discovery = len(request) == 2 and DISCOVERY.fullmatch(request[1])
            if "username" in event["user"] and not discovery:
                self.read(event, request)

    def note(self, user, kind, request):
        self.requests.setdefault(subject(user["username"]), {}).setdefault(kind, set()).add(request)
        if kind in ("allowed", "inside"):
            for holder in [subject(user["username"]), *(f"Group/{group}" for group in user["groups"])]:
                self.groups.setdefault(holder, set()).add(request)

    def read(self, event, request):
        decision = event.get("annotations", {}).get(DECISION)
        status = event["responseStatus"]
        refused = REFUSED.search(status.get("message", ""))
        if decision is None:
            # Without a decision nobody was asked about the request: the impersonation before it was refused.
            resource, name = refused.group(2), status["details"]["name"]
            self.note(event["user"], "deniedInside", ("impersonate", "", resource, "", name))
            return
        user = event["user"]
        if "impersonatedUser" in event:
            for other in impersonations(event, request):
                self.note(user, "inside", other)
            user = event["impersonatedUser"]
        self.note(user, "allowed" if decision == "allow" else "denied", request)
        if decision == "allow" and request[0] in ("patch", "update"):
            creation = ("create", *request[1:])
            if status["code"] == 201:
                self.note(user, "inside", creation)
            elif status["code"] == 403 and refused and refused.group(1) == "create":
                self.note(user, "deniedInside", creation)


def matches(permission, request):
    if len(permission) == 2:
        path, verb = permission
        matched = request[1].startswith(path[:-1]) if path.endswith("*") else request[1] == path
        return len(request) == 2 and verb == request[0] and matched
    group, resource, verb, *name = permission
    return (
        len(request) == 5
        and group in ("*", request[1])
        and resource in ("*", request[2])
        and verb in ("*", request[0])
        and name in ([], [request[4]])
    )


def permissions(rules):
    """Returns the permissions of the rules of a role."""
    found = set()
    for rule in rules:
        for verb in rule["verbs"]:
            found.update((path, verb) for path in rule.get("nonResourceURLs", []))
            for group in rule.get("apiGroups", []):
                for resource in rule.get("resources", []):
                    named = [(name,) for name in rule.get("resourceNames", [])] or [()]
                    found.update((group, resource, verb, *name) for name in named)
    return found


def identity(item):
    metadata = item["metadata"]
    return "/".join(filter(None, [item["kind"], metadata.get("namespace"), metadata["name"]]))


def tuples(lists):
    return {tuple(item) for item in lists}


def differences(label, expected, found):
    """Prints what one of two sets has alone, and returns how much it is."""
    for sign, items in (("-", expected - found), ("+", found - expected)):
        for item in sorted(items):
            print(f"{label}: {sign} {json.dumps(item)}")
    return len(expected ^ found)


def check_requests(uses, expected):
    count = 0
    for name, kinds in expected["accounts"].items():
        found = uses.requests.get(name, {})
        for kind, requests in kinds.items():
            count += differences(f"{name} {kind}", tuples(requests), found.get(kind, set()))
        print(f"{name}: " + ", ".join(f"{len(found.get(kind, ()))} {kind}" for kind in kinds))
    return count


def check_permissions(uses, expected, cluster):
    objects = {identity(item): item for item in cluster["items"]}
    count = 0
    for entry in expected["bindings"]:
        label = f"{entry['binding']} {entry['subject']}"
        kind, *namespace, _ = entry["binding"].split("/")
        requests = {r for r in uses.groups.get(entry["subject"], ()) if kind == "ClusterRoleBinding" or list(r[3:4]) == namespace}
        held = permissions(objects[entry["role"]]["rules"])
        used = {p for p in held if any(matches(p, r) for r in requests)}
        count += differences(f"{label} used", tuples(entry["used"]), used)
        if entry["unused"] != "the rest":
            rest = [permission for kind in ("unused", "notObservable", "notLogged") for permission in entry.get(kind, [])]
            count += differences(f"{label} unused", tuples(rest), held - used)
        print(f"{label}: {len(used)} of {len(held)} permissions used")
    return count


def check_unused(unused, expected, cluster):
    """Compares the unused and the not observable permissions of `lint --audit`."""
    objects = {identity(item): item for item in cluster["items"]}
    audit = unused["results"][0]["audit"]
    found = {}
    for kind in ("unused", "notObservable"):
        for entry in audit[kind]:
            key = (entry["binding"], entry["subject"])
            found.setdefault(key, {}).setdefault(kind, set()).update(permissions(entry["rules"]))
    count = 0
    for entry in expected["bindings"]:
        key = (entry["binding"], entry["subject"])
        kinds = found.pop(key, {})
        hidden = tuples(entry.get("notObservable", []) + entry.get("notLogged", []))
        rest = permissions(objects[entry["role"]]["rules"]) - tuples(entry["used"]) - hidden
        wanted = rest if entry["unused"] == "the rest" else tuples(entry["unused"])
        count += differences(f"{key} unused", wanted, kinds.get("unused", set()))
        if entry["unused"] != "the rest":
            count += differences(f"{key} not observable", hidden, kinds.get("notObservable", set()))
    count += differences("bindings", set(), set(found))
    codes = sorted(finding["code"] for finding in unused["findings"])
    print(f"findings: {', '.join(f'{codes.count(code)} {code}' for code in sorted(set(codes)))}")
    return count


def check_least(least, expected):
    """Compares the permissions of `import audit` with the requests: each request, and nothing else, by its scope."""
    # The default policy allows this request.
    by_default = {("create", "authorization.k8s.io", "selfsubjectaccessreviews", "", "")}
    sets = {entry["name"]: permissions(entry["rules"]) for entry in least["permissionSets"]}
    found = {}
    for grant in least["grants"]:
        held = found.setdefault(subject(grant["user"]), set())
        held.update((scope, *right) for scope in grant["namespaces"] or [""] for right in sets[grant["permissionSet"]])
    count = 0
    for name, kinds in expected["accounts"].items():
        wanted = set()
        for request in (tuples(kinds["allowed"]) | tuples(kinds["inside"])) - by_default:
            if len(request) == 2:
                wanted.add(("", request[1], request[0]))
                continue
            verb, group, resource, namespace, named = request
            wanted.add((namespace, group, resource, verb, *([named] if named else [])))
        wanted = {right for right in wanted if len(right) < 5 or right[:-1] not in wanted}
        count += differences(f"{name} least", wanted, found.pop(name, set()))
        print(f"{name}: {len(wanted)} permissions are the least")
    proof = least["proof"]
    print(f"replay: {proof['replayed']} requests, {len(proof['denied'])} denied; {len(proof['wider'])} permissions wider than granted")
    return count + differences("users", set(), set(found)) + len(proof["denied"]) + len(proof["wider"])


def load(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def main(arguments):
    command, log, expected, *cluster = arguments
    if command == "answers":
        cluster, least = cluster
        return check_unused(load(log), load(expected), load(cluster)) + check_least(load(least), load(expected))
    with open(log, encoding="utf-8") as lines:
        uses = Uses(json.loads(line) for line in lines)
    if command == "requests":
        return check_requests(uses, load(expected))
    return check_permissions(uses, load(expected), load(*cluster))


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)

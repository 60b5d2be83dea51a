#!/usr/bin/env python3
"""Writes an audit log and the cluster that it is of: generate.py EVENTS OUT [--gzip] [--seed 1] [--names 2] [--jobs 2].

OUT gets `audit.log` (or `audit.log.gz`), with lines as kube-apiserver 1.37 writes them at the level Metadata, `cluster.yaml` with
the roles and bindings, and `summary.json` with the numbers of lines, of requests and of different requests. The same arguments
give the same bytes, with any number of jobs. The log is written in chunks, each with dice of its own.
"""

import argparse
import collections
import functools
import gzip
import heapq
import itertools
import json
import multiprocessing
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster import VERSIONS, Cluster  # noqa: E402
import manifests  # noqa: E402

CHUNK = 20_000
# The log begins on the first of October 2026.
BEGIN, DAYS = 1_790_812_800, 31
# Places of a number and of a credential in the text of a request.
NUMBER, CREDENTIAL = "\x00", "\x01"
# The requests with their weights and texts: each process has them from the first one.
STATE = {}


def text(value):
    """Returns a value as JSON of Go: without spaces, and with `&` escaped."""
    escaped = json.dumps(value, separators=(",", ":")).replace("&", "\\u0026")
    return escaped.replace("\\u0000", NUMBER).replace("\\u0001", CREDENTIAL)


def user_info(subject, dice):
    """Returns the user of an event."""
    info = {"username": subject.name}
    extra = {}
    if subject.is_account:
        info["uid"] = manifests.uid(dice)
        prefix = "authentication.kubernetes.io/"
        extra[f"{prefix}credential-id"] = [f"JTI={CREDENTIAL}"]
        pod = {"node-name": subject.node, "node-uid": manifests.uid(random.Random(subject.node)), "pod-name": subject.pod,
               "pod-uid": manifests.uid(dice)}
        extra.update({prefix + key: [value] for key, value in pod.items() if subject.pod})
    info["groups"] = subject.groups
    if extra:
        info["extra"] = extra
    return info


def request_uri(request):
    """Returns the path and the query of a request."""
    if request.path:
        return request.path
    version = VERSIONS.get(request.group, "v1")
    parts = ["/apis", request.group, version] if request.group else ["/api", version]
    if request.namespace and request.resource != "namespaces":
        parts += ["namespaces", request.namespace]
    parts.append(request.resource)
    parts += [part for part in (not request.selects_name and request.name, request.subresource) if part]
    query = []
    if request.verb == "watch":
        query.append("allowWatchBookmarks=true")
    if request.selects_name:
        query.append(f"fieldSelector=metadata.name%3D{request.name}")
    if request.verb == "list":
        query.append("limit=500")
    if request.verb == "watch":
        query += [f"resourceVersion={NUMBER}", "timeout=8m26s", "timeoutSeconds=506", "watch=true"]
    if request.verb == "patch":
        query.append("fieldManager=kubectl-client-side-apply")
    return "/".join(parts) + ("?" + "&".join(query) if query else "")


def object_ref(request):
    """Returns the reference to the object: for a request that creates one, the server takes its name from the body."""
    name = request.name
    if request.verb == "create" and not request.subresource:
        name = f"{request.resource.rstrip('s')}-{NUMBER}"
    reference = {"resource": request.resource, "namespace": request.namespace, "name": name, "apiGroup": request.group,
                 "apiVersion": VERSIONS.get(request.group, "v1"),
                 "resourceVersion": NUMBER if request.verb == "update" else "", "subresource": request.subresource}
    return {key: value for key, value in reference.items() if value}


def status(request):
    """Returns the status of the response."""
    if request.reason:
        return {"metadata": {}, "code": 201 if request.verb == "create" else 200}
    if request.path:
        message = f"forbidden: User \"{request.subject.name}\" cannot get path \"{request.path}\""
        return {"metadata": {}, "status": "Failure", "message": message, "reason": "Forbidden", "details": {}, "code": 403}
    scope = f"in the namespace \"{request.namespace}\"" if request.namespace else "at the cluster scope"
    kind = f"{request.resource}.{request.group}" if request.group else request.resource
    named = f"{kind} \"{request.name}\"" if request.name else kind
    message = (f"{named} is forbidden: User \"{request.subject.name}\" cannot {request.verb} resource "
               f"\"{request.resource}\" in API group \"{request.group}\" {scope}")
    details = {key: value for key, value in [("name", request.name), ("group", request.group), ("kind", request.resource)] if value}
    return {"metadata": {}, "status": "Failure", "message": message, "reason": "Forbidden", "details": details, "code": 403}


def parts_of(request, users):
    """Returns the constant parts of an event: from the stage to the first time, and from the annotations on."""
    fields = {"requestURI": request_uri(request), "verb": request.verb, "user": users[request.subject]}
    if request.impersonated:
        person = request.impersonated
        fields["impersonatedUser"] = {"username": person.name, "groups": person.groups}
    fields.update({"sourceIPs": [request.subject.address], "userAgent": request.subject.agent})
    if request.resource:
        fields["objectRef"] = object_ref(request)
    fields["responseStatus"] = status(request)
    notes = {"authorization.k8s.io/decision": "allow" if request.reason else "forbid",
             "authorization.k8s.io/reason": request.reason}
    if request.resource == "pods" and request.verb == "create" and request.reason and not request.subresource:
        notes["pod-security.kubernetes.io/enforce-policy"] = "baseline:latest"
    return text(fields)[1:-1], text(notes)


def prepare(arguments):
    """Builds the cluster and the constant parts of its requests."""
    cluster = Cluster(arguments.seed, arguments.names)
    requests, weights = cluster.weighted()
    dice = random.Random(arguments.seed)
    users = {}
    for request in requests:
        if request.subject not in users:
            users[request.subject] = user_info(request.subject, dice)
    STATE.update(arguments=arguments, requests=requests, weights=list(itertools.accumulate(weights)),
                 parts=[parts_of(request, users) for request in requests])
    return cluster


def stamp(seconds):
    """Returns a time in microseconds."""
    whole = int(seconds)
    return f"{calendar(whole)}.{int((seconds - whole) * 1e6):06}Z"


@functools.lru_cache(maxsize=1000)
def calendar(second):
    """Returns a second as a date and a time."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def events(number, size):
    """Yields the lines of a chunk in the order of their times, each with its request or none at its second line."""
    arguments, requests, parts = STATE["arguments"], STATE["requests"], STATE["parts"]
    dice = random.Random(arguments.seed * 1_000_003 + number)
    span = DAYS * 86400 * size / arguments.events
    begin = BEGIN + DAYS * 86400 * CHUNK * number / arguments.events
    credential = manifests.uid(dice)
    emitted, open_watches = 0, []

    def line(identifier, stage, index, times):
        """Returns a line; the request has the same number in both lines of a watch."""
        middle, notes = parts[index]
        middle = middle.replace(NUMBER, str(times[2])).replace(CREDENTIAL, credential)
        return (f'{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"{identifier}","stage":"{stage}",'
                f'{middle},"requestReceivedTimestamp":"{stamp(times[0])}","stageTimestamp":"{stamp(times[1])}",'
                f'"annotations":{notes}}}\n')

    def close(due):
        end, identifier, index, begun, drawn = heapq.heappop(open_watches)
        return line(identifier, "ResponseComplete", index, (begun, min(end, due), drawn))

    while emitted + len(open_watches) < size:
        now = begin + span * (emitted + len(open_watches)) / size
        while open_watches and open_watches[0][0] <= now:
            yield close(now), None
            emitted += 1
        [index] = dice.choices(range(len(requests)), cum_weights=STATE["weights"])
        is_watch = requests[index].verb == "watch"
        if is_watch and emitted + len(open_watches) + 2 > size:
            continue
        identifier, drawn = manifests.uid(dice), dice.randrange(10_000_000, 99_000_000)
        stage = "ResponseStarted" if is_watch else "ResponseComplete"
        yield line(identifier, stage, index, (now, now + dice.random() / 50, drawn)), index
        emitted += 1
        if is_watch:
            heapq.heappush(open_watches, (now + 300 + 300 * dice.random(), identifier, index, now, drawn))
    while open_watches:
        yield close(begin + span), None


def chunk(number):
    """Returns the bytes of a chunk, and how often each request is in it."""
    arguments = STATE["arguments"]
    counts = collections.Counter()
    lines = []
    for line, index in events(number, min(CHUNK, arguments.events - number * CHUNK)):
        lines.append(line)
        if index is not None:
            counts[index] += 1
    content = "".join(lines).encode()
    return gzip.compress(content, 1, mtime=0) if arguments.gzip else content, counts


def write_log(arguments, path):
    """Writes the chunks in their order, and returns how often each request is in the log."""
    counts = collections.Counter()
    chunks = iter(range((arguments.events + CHUNK - 1) // CHUNK))
    # Each process is a fork, and has the requests of this one.
    with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool, open(path, "wb") as out:
        ahead = collections.deque(pool.apply_async(chunk, (number,)) for number in itertools.islice(chunks, 2 * arguments.jobs))
        while ahead:
            content, found = ahead.popleft().get()
            ahead.extend(pool.apply_async(chunk, (number,)) for number in itertools.islice(chunks, 1))
            out.write(content)
            counts.update(found)
    return counts


def generate(arguments):
    """Writes the log, the cluster and the summary, and returns the summary."""
    arguments.out.mkdir(parents=True)
    cluster = prepare(arguments)
    objects = cluster.write(arguments.out / "cluster.yaml")
    log = arguments.out / ("audit.log.gz" if arguments.gzip else "audit.log")
    counts = write_log(arguments, log)
    requests = STATE["requests"]
    summary = {
        "log": log.name, "lines": arguments.events, "bytes": log.stat().st_size, "objects": objects,
        "requests": sum(counts.values()),
        "denied": sum(count for index, count in counts.items() if not requests[index].reason),
        "users": len({requests[index].subject.name for index in counts}),
        "distinct": len({requests[index].key for index in counts}),
        "distinctWithNames": len({(requests[index].key, requests[index].name, requests[index].subresource) for index in counts}),
    }
    (arguments.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("events", type=int, metavar="EVENTS", help="number of lines")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="a new folder")
    parser.add_argument("--gzip", action="store_true", help="compress the log, each chunk as a member of its own")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--names", type=int, default=2, help="names of the objects of each resource in a namespace")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    arguments = parser.parse_args()
    if arguments.out.exists():
        sys.exit(f"{arguments.out} exists")
    print(json.dumps(generate(arguments), indent=2))


if __name__ == "__main__":
    main()

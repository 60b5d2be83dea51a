#!/usr/bin/env python3
"""Writes a cluster as `kubectl get --all-namespaces --output yaml` prints it: generate.py unlike|tenants COUNT OUT [--seed 1].

`unlike` has COUNT objects, of which a ninth are namespaces with other labels, objects and bindings each. `tenants` has COUNT namespaces
of one form, with ten RoleBindings and four other objects each, and the roles that they share. The same arguments give the same bytes.
Prints the number of objects of each kind as JSON.
"""

import argparse
import collections
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import manifests  # noqa: E402
from manifests import RBAC, account, binding, person, plain, role  # noqa: E402

NAMESPACES, CLUSTER_ROLES = 0.11, 0.005
RESOURCES = [("", "pods"), ("", "services"), ("", "configmaps"), ("", "secrets"), ("", "events"), ("", "persistentvolumeclaims"),
             ("apps", "deployments"), ("apps", "statefulsets"), ("apps", "daemonsets"), ("batch", "jobs"), ("batch", "cronjobs"),
             ("networking.k8s.io", "ingresses"), ("policy", "poddisruptionbudgets"), ("autoscaling", "horizontalpodautoscalers"),
             (RBAC, "rolebindings"), ("coordination.k8s.io", "leases")]
VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"]
LABELS = ["team", "tier", "cost-center", "stage", "region", "contact", "product", "data-class", "istio-injection", "backup"]
# The kinds of a namespace beside itself, with their weights.
KINDS = {"RoleBinding": 45, "ServiceAccount": 20, "Role": 11, "ConfigMap": 10, "ResourceQuota": 6, "LimitRange": 4, "Service": 4}


class Unlike:
    """A cluster whose namespaces have little in common."""

    def __init__(self, count, dice):
        self.count, self.dice = count, dice
        self.namespaces = [f"{dice.choice(['team', 'app', 'lab', 'shop'])}-{number:05}" for number in range(round(count * NAMESPACES))]
        self.cluster_roles = [f"role-{number}" for number in range(1 + round(count * CLUSTER_ROLES))]
        self.roles, self.accounts = collections.defaultdict(list), collections.defaultdict(list)

    def objects(self):
        """Yields the objects: of the cluster, the namespaces, and the objects in them in random order."""
        for name in self.cluster_roles:
            yield role(name, None, self.rules())
        for number, name in enumerate(self.cluster_roles):
            yield binding(f"binding-{number}", None, ("ClusterRole", name), self.subjects(self.dice.choice(self.namespaces)))
        for name in self.namespaces:
            yield plain("Namespace", name, labels=self.labels(), annotations=self.labels("example.com/"))
        kinds, weights = list(KINDS), list(KINDS.values())
        for number in range(self.count - len(self.namespaces) - 2 * len(self.cluster_roles)):
            namespace = self.dice.choice(self.namespaces)
            [kind] = self.dice.choices(kinds, weights)
            yield self.item(kind, namespace, number)

    def item(self, kind, namespace, number):
        """Returns an object of a namespace."""
        name = f"{kind.lower()}-{number}"
        if kind == "RoleBinding":
            own = [("Role", own) for own in self.roles[namespace]]
            bound = self.dice.choice(own + [("ClusterRole", name) for name in ["view", "edit", self.dice.choice(self.cluster_roles)]])
            return binding(name, namespace, bound, self.subjects(namespace), labels=self.labels() if number % 4 == 0 else {})
        if kind == "Role":
            self.roles[namespace].append(name)
            return role(name, namespace, self.rules())
        if kind == "ServiceAccount":
            self.accounts[namespace].append(name)
            return plain(kind, name, namespace, labels=self.labels() if number % 3 == 0 else {})
        if kind == "ResourceQuota":
            hard = {"pods": str(self.dice.randrange(1, 90)), "requests.cpu": str(self.dice.randrange(1, 200))}
            return plain(kind, name, namespace, spec={"hard": hard})
        if kind == "LimitRange":
            limits = {"type": "Container", "default": {"cpu": f"{self.dice.randrange(1, 20)}00m", "memory": "512Mi"}}
            return plain(kind, name, namespace, spec={"limits": [limits]})
        if kind == "Service":
            ports = [{"port": self.dice.randrange(1024, 9000), "protocol": "TCP", "targetPort": 8080}]
            return plain(kind, name, namespace, spec={"ports": ports, "selector": {"app": name}, "type": "ClusterIP"})
        return plain(kind, name, namespace, data={"mode": self.dice.choice(["a", "b", "c"]), "url": f"https://{name}.example.com"})

    def labels(self, prefix=""):
        keys = self.dice.sample(LABELS, self.dice.randrange(4))
        return {prefix + key: f"{key}-{self.dice.randrange(400)}" for key in keys}

    def rules(self):
        """Returns one to four rules."""
        rules = []
        for _ in range(self.dice.randrange(1, 5)):
            group, resource = self.dice.choice(RESOURCES)
            rules.append({"apiGroups": [group], "resources": [resource], "verbs": self.dice.sample(VERBS, self.dice.randrange(1, 6))})
        return rules

    def subjects(self, namespace):
        """Returns one to four subjects, and an account of the namespace if it has one."""
        names = self.dice.sample(range(100_000), self.dice.randrange(1, 5))
        found = [person("Group", f"oidc:group-{name}") if name % 2 else person("User", f"user-{name}@example.com") for name in names]
        return found + [account(name, namespace) for name in self.accounts[namespace][-1:]]


# The roles that the bindings of a tenant refer to, and the column of the subject.
BINDINGS = {"admin": "admins", "edit": "developers", "view": "auditors", "team-operator": "operators", "log-reader": "developers",
            "debugger": "operators", "release-manager": "admins", "backup": "owner", "metrics-reader": "owner"}


def tenants(count, dice):
    """Yields the objects of tenants of one form with other values."""
    own = [name for name in BINDINGS if name not in ("admin", "edit", "view")]
    for number, name in enumerate(own):
        group, resource = RESOURCES[number]
        yield role(name, None, [{"apiGroups": [group], "resources": [resource], "verbs": VERBS[:number + 1]}])
    for number in range(count):
        name, team = f"tenant-{number:05}", number % 700
        values = {column: person("Group", f"oidc:{column}-{team}") for column in ["admins", "developers", "auditors", "operators"]}
        values["owner"] = person("User", f"owner-{dice.randrange(2 * count)}@example.com")
        labels = {"team": f"team-{team}", "cost-center": str(1000 + dice.randrange(90))}
        yield plain("Namespace", name, labels=labels, annotations={"example.com/contact": f"team-{team}@example.com"})
        yield plain("ServiceAccount", "app", name)
        hard = {"pods": str(dice.choice([10, 20, 50])), "requests.cpu": str(dice.randrange(1, 64)), "requests.memory": f"{dice.randrange(1, 99)}Gi"}
        yield plain("ResourceQuota", "quota", name, spec={"hard": hard})
        limits = {"type": "Container", "default": {"cpu": "500m", "memory": f"{dice.randrange(1, 8)}Gi"}}
        yield plain("LimitRange", "limits", name, spec={"limits": [limits]})
        yield role("app", name, [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [f"{name}-app"], "verbs": ["get", "watch"]}])
        yield binding("app", name, ("Role", "app"), [account("app", name)])
        for bound, column in BINDINGS.items():
            yield binding(f"{name}-{bound}", name, ("ClusterRole", bound), [values[column]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("form", choices=["unlike", "tenants"])
    parser.add_argument("count", type=int, metavar="COUNT", help="number of objects, or of tenants")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="a new file")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.out.exists():
        sys.exit(f"{arguments.out} exists")
    dice, kinds = random.Random(arguments.seed), collections.Counter()
    objects = Unlike(arguments.count, dice).objects() if arguments.form == "unlike" else tenants(arguments.count, dice)

    def counted():
        for item in objects:
            kinds[item["kind"]] += 1
            yield manifests.live(item, dice)

    manifests.write_list(arguments.out, counted())
    print(json.dumps(kinds, sort_keys=True))


if __name__ == "__main__":
    main()

"""The cluster of the audit log: 300 namespaces, 200 users and service accounts, their roles and bindings, and their requests.

Every allowed request is allowed by one binding only, so that its reason does not depend on the order of bindings. A role allows
more than its subjects use.
"""

import dataclasses
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import manifests  # noqa: E402
from manifests import RBAC, account, person  # noqa: E402

TEAMS, TEAM_NAMESPACES, DEVELOPERS = 20, 14, 4
OPERATORS, WORKLOADS, OPERATED = 30, 70, 60
READ = "get list watch"
ALL = "get list watch create update patch delete deletecollection"
VERSIONS = {"autoscaling": "v2"}
CLUSTER_SCOPED = ["namespaces", "nodes", "persistentvolumes", "storageclasses", "volumeattachments"]
# The parts of the families of requests, in percent.
SHARES = {"operators": 42, "workloads": 12, "developers": 26, "deployers": 12, "others": 5, "denied": 3}
NAMED = {"get", "update", "patch", "delete"}
DEVELOPER = [
    ("", "pods services configmaps persistentvolumeclaims serviceaccounts", ALL),
    ("", "secrets", "get list watch create update patch delete"),
    ("", "pods/log pods/status", "get"),
    ("", "pods/exec pods/portforward", "create"),
    ("", "events endpoints resourcequotas limitranges", READ),
    ("apps", "deployments statefulsets daemonsets replicasets", ALL),
    ("apps", "deployments/scale", "get update patch"),
    ("batch", "jobs cronjobs", ALL),
    ("networking.k8s.io", "ingresses networkpolicies", ALL),
    ("policy", "poddisruptionbudgets", ALL),
    ("autoscaling", "horizontalpodautoscalers", ALL),
    (RBAC, "roles rolebindings", READ),
]
DEPLOYER = [
    ("", "services configmaps secrets serviceaccounts", "get list create update patch delete"),
    ("apps", "deployments statefulsets daemonsets", "get list watch create update patch delete"),
    ("batch", "jobs cronjobs", "get list create patch delete"),
    ("networking.k8s.io", "ingresses networkpolicies", "get create patch delete"),
    ("policy", "poddisruptionbudgets", "get create patch delete"),
    (RBAC, "roles rolebindings", "get create patch"),
]
# A few of these rules make an operator.
OPERATOR = [
    ("", "pods", ALL), ("", "services endpoints", ALL), ("", "configmaps", ALL), ("", "secrets", READ + " create update"),
    ("", "events", "create patch"), ("", "namespaces", READ), ("", "nodes", READ + " patch"), ("", "persistentvolumes", ALL),
    ("", "persistentvolumeclaims", READ + " update"), ("", "serviceaccounts", READ), ("apps", "deployments", ALL),
    ("apps", "deployments/status", "update patch"), ("apps", "statefulsets", ALL), ("apps", "daemonsets replicasets", READ),
    ("batch", "jobs", ALL), ("networking.k8s.io", "ingresses", READ + " update"), ("networking.k8s.io", "networkpolicies", ALL),
    ("networking.k8s.io", "ingresses/status", "update"), ("policy", "poddisruptionbudgets", READ),
    ("autoscaling", "horizontalpodautoscalers", READ), ("coordination.k8s.io", "leases", "get create update"),
    ("discovery.k8s.io", "endpointslices", READ), ("storage.k8s.io", "storageclasses volumeattachments", READ),
    ("cert-manager.io", "certificates", READ + " update patch"), ("monitoring.coreos.com", "servicemonitors", READ),
    (RBAC, "roles rolebindings", READ),
]
AGENTS = ["kubectl/v1.37.2 (linux/amd64) kubernetes/1a2b3c4", "kubectl/v1.36.4 (darwin/arm64) kubernetes/5d6e7f8",
          "k9s/v0.50.9 (linux/amd64) kubernetes/$Format"]


@dataclasses.dataclass(frozen=True)
class Subject:
    """A user or a service account."""
    name: str
    groups: tuple
    agent: str
    address: str
    node: str = ""
    pod: str = ""

    @property
    def is_account(self):
        return self.name.startswith("system:serviceaccount:")


@dataclasses.dataclass(frozen=True)
class Request:
    """A request that comes again and again. The reason of a denied one is empty."""
    subject: Subject
    reason: str
    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    path: str = ""
    selects_name: bool = False
    impersonated: object = None

    @property
    def key(self):
        """The user, the verb, the resource or path, and the namespace."""
        return self.subject.name, self.verb, self.resource or self.path, self.namespace


class Cluster:
    """The objects of the cluster, and its requests by family."""

    def __init__(self, seed, names):
        self.dice = random.Random(seed)
        self.names = names
        self.objects = []
        self.families = {family: [] for family in SHARES}
        self.teams = [[f"team-{team:02}-{part:02}" for part in range(TEAM_NAMESPACES)] for team in range(TEAMS)]
        self.platform = [f"platform-{number:02}" for number in range(20)]
        self.all_namespaces = [name for team in self.teams for name in team] + self.platform
        self.objects += [manifests.plain("Namespace", name) for name in self.all_namespaces]
        self.add_developers()
        self.add_deployers()
        self.add_operators()
        self.add_workloads()
        self.add_support()

    # Subjects

    def user(self, name, *groups):
        address = f"10.{self.dice.randrange(200, 250)}.{self.dice.randrange(250)}.{self.dice.randrange(1, 250)}"
        return Subject(name, (*groups, "system:authenticated"), self.dice.choice(AGENTS), address)

    def service_account(self, namespace, name, agent, in_pod=True):
        """Adds a service account whose token is of a pod, or was requested for a program outside."""
        self.objects.append(manifests.plain("ServiceAccount", name, namespace))
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        if not in_pod:
            return dataclasses.replace(self.user(f"system:serviceaccount:{namespace}:{name}"), groups=groups, agent=agent)
        node = self.dice.randrange(120)
        pod = f"{name}-{self.dice.randrange(16 ** 9):09x}-{self.dice.randrange(16 ** 5):05x}"
        address = f"10.{node}.{self.dice.randrange(4)}.{self.dice.randrange(1, 250)}"
        return Subject(f"system:serviceaccount:{namespace}:{name}", groups, agent, address, f"node-{node:03}", pod)

    # Roles, bindings and requests

    def add_role(self, name, rules, namespace=None, names=None):
        """Adds a role of rules as in the tables above."""
        written = [{"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
                   for group, resources, verbs in rules]
        for rule in written if names else []:
            rule["resourceNames"] = names
        self.objects.append(manifests.role(name, namespace, written))

    def bind(self, name, namespace, bound, subject):
        """Adds a binding, and returns the reason of the requests that it allows."""
        self.objects.append(manifests.binding(name, namespace, bound, [subject]))
        place = f"{name}/{namespace}" if namespace else name
        kind = "RoleBinding" if namespace else "ClusterRoleBinding"
        who = f"{subject['name']}/{subject['namespace']}" if "namespace" in subject else subject["name"]
        return f'RBAC: allowed by {kind} "{place}" of {bound[0]} "{bound[1]}" to {subject["kind"]} "{who}"'

    def used(self, rules, part):
        """Returns that part of the rights of the rules, each as group, resource, subresource and verb."""
        rights = [(group, *(resource + "/").split("/")[:2], verb)
                  for group, resources, verbs in rules for resource in resources.split() for verb in verbs.split()]
        return [right for right in rights if self.dice.random() < part]

    def requests(self, subject, reason, namespace, rights):
        """Yields the requests of rights in a namespace; an empty namespace is the whole cluster."""
        for group, resource, subresource, verb in rights:
            request = Request(subject, reason, verb, group, resource, namespace, "", subresource)
            if subresource or verb in NAMED:
                for number in range(self.names):
                    yield dataclasses.replace(request, name=f"{resource.rstrip('s')}-{number}")
            else:
                yield request

    def add_developers(self):
        self.add_role("developer", DEVELOPER)
        for number, namespaces in enumerate(self.teams):
            group = f"oidc:team-{number:02}"
            users = [self.user(f"developer-{number:02}-{place}@example.com", group) for place in range(DEVELOPERS)]
            rights = self.used(DEVELOPER, 0.2)
            for namespace in namespaces:
                reason = self.bind("developers", namespace, ("ClusterRole", "developer"), person("Group", group))
                for user in users:
                    self.families["developers"] += self.requests(user, reason, namespace, rights)
            for user in users:
                self.deny(user, (number + 1) % TEAMS)
                self.discover(user)

    def add_deployers(self):
        self.add_role("deployer", DEPLOYER)
        for number, namespaces in enumerate(self.teams):
            name = f"deployer-{number:02}"
            subject = self.service_account("platform-00", name, "Helm/3.20.1", in_pod=False)
            rights = self.used(DEPLOYER, 0.5)
            for namespace in namespaces:
                reason = self.bind("deployer", namespace, ("ClusterRole", "deployer"), account(name, "platform-00"))
                self.families["deployers"] += self.requests(subject, reason, namespace, rights)
            self.deny(subject, (number + 1) % TEAMS)
            self.discover(subject)

    def add_operators(self):
        for number in range(OPERATORS):
            namespace, name = self.platform[number % 20], f"operator-{number:02}"
            subject = self.service_account(namespace, name, f"{name}/v2.{number}.0 (linux/amd64) kubernetes/v0.36.1")
            rules = self.dice.sample(OPERATOR, 6)
            self.add_role(name, rules)
            reason = self.bind(name, None, ("ClusterRole", name), account(name, namespace))
            rights = self.used(rules, 0.6)
            for right in rights:
                if right[1] in CLUSTER_SCOPED or right[3] in ("list", "watch"):
                    self.families["operators"] += self.requests(subject, reason, "", [right])
                else:
                    for place in self.dice.sample(self.all_namespaces, OPERATED):
                        self.families["operators"] += self.requests(subject, reason, place, [right])

    def add_workloads(self):
        """Adds applications that read their own ConfigMap and Secret, and renew their lease."""
        rules = [("", "configmaps secrets", "get list watch update patch"), ("coordination.k8s.io", "leases", "get update patch delete")]
        for number in range(WORKLOADS):
            namespace, name = self.teams[number % TEAMS][number % TEAM_NAMESPACES], f"app-{number:02}"
            subject = self.service_account(namespace, name, f"{name}/v0.0.0 (linux/amd64) kubernetes/$Format")
            self.add_role(name, rules, namespace, [name])
            reason = self.bind(name, namespace, ("Role", name), account(name, namespace))
            lease = Request(subject, reason, "get", "coordination.k8s.io", "leases", namespace, name)
            config = Request(subject, reason, "get", "", "configmaps", namespace, name)
            self.families["workloads"] += [
                lease, dataclasses.replace(lease, verb="update"), config,
                dataclasses.replace(config, verb="list", selects_name=True),
                dataclasses.replace(config, verb="watch", selects_name=True),
                dataclasses.replace(config, resource="secrets"),
            ]
            self.deny(subject, (number + 1) % TEAMS)

    def add_support(self):
        """Adds an account that acts as developers, probes of the kubelets, and bindings that nobody uses."""
        support = self.user("support@example.com", "oidc:support")
        self.add_role("impersonator", [("", "users groups", "impersonate")])
        self.bind("support", None, ("ClusterRole", "impersonator"), person("User", support.name))
        for request in self.dice.sample(self.families["developers"], 200):
            self.families["others"].append(dataclasses.replace(request, subject=support, impersonated=request.subject))
        public = 'RBAC: allowed by ClusterRoleBinding "system:public-info-viewer" of ClusterRole ' \
                 '"system:public-info-viewer" to Group "system:unauthenticated"'
        probe = Subject("system:anonymous", ("system:unauthenticated",), "kube-probe/1.37", "10.0.0.1")
        self.families["others"] += 50 * [Request(probe, public, "get", path=path) for path in ["/livez", "/readyz"]]
        self.add_role("debugger", [("", "pods/exec pods/attach", "create"), ("", "pods/ephemeralcontainers", "update patch")])
        for number in range(50):
            name = f"developer-{number % TEAMS:02}-{number % DEVELOPERS}@example.com"
            self.bind(f"debug-{number}", self.dice.choice(self.platform), ("ClusterRole", "debugger"), person("User", name))

    def discover(self, subject):
        """Adds requests that the default policy allows."""
        reason = 'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"'
        paths = ["/api", "/apis", "/apis/apps/v1", "/openapi/v3"]
        self.families["others"] += [Request(subject, reason, "get", path=path) for path in paths]
        reason = reason.replace("system:discovery", "system:basic-user")
        self.families["others"].append(Request(subject, reason, "create", "authorization.k8s.io", "selfsubjectaccessreviews"))

    def deny(self, subject, team):
        """Adds requests that no role allows: objects of the cluster, and Secrets of another team."""
        other = self.dice.choice(self.teams[team])
        self.families["denied"] += [
            Request(subject, "", "list", "", "nodes"),
            Request(subject, "", "delete", "", "namespaces", other, other),
            Request(subject, "", "list", "", "secrets", other),
            Request(subject, "", "get", "", "secrets", other, "secret-0"),
            Request(subject, "", "create", RBAC, "clusterrolebindings"),
            Request(subject, "", "get", path="/metrics"),
        ]

    def weighted(self):
        """Returns the requests and their weights; watches and reads of a family are more frequent than its writes."""
        all_requests, weights = [], []
        for family, requests in self.families.items():
            own = [3 if request.verb in ("get", "watch") else 1 for request in requests]
            share = SHARES[family] / sum(own)
            all_requests += requests
            weights += [share * weight for weight in own]
        return all_requests, weights

    def write(self, path):
        """Writes the objects as a dump of the cluster."""
        return manifests.write_list(path, (manifests.live(item, self.dice) for item in self.objects))

package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"bailiwick.dev/conformance/psp/internal/server"
)

// The accounts of operators, which create pods in the namespaces of others.
var (
	databaseOperator = server.Account("database-operator", "operator")
	flowController   = server.Account("flows", "controller")
	cacheOperator    = server.Account("caches", "operator")
	sre              = server.Person("ida@example.org", "oidc:sre")
)

// nodes are those of every cluster.
var nodes = []string{"node-a", "node-b", "node-c"}

func (b *builder) kubeSystem() {
	namespace := b.namespace("kube-system", "kube-proxy", "coredns", "network")
	b.namespace("default")
	b.namespace("kube-public")
	b.bind(namespace, useRole(privileged), group("system:nodes"), accountsOf(namespace))
	b.daemonSet(namespace, "kube-proxy", b.spec("kube-proxy", onHostNetwork, asPrivileged, b.hostPath("/lib/modules", true)))
	b.deployment(namespace, "coredns", b.spec("coredns", adding("NET_BIND_SERVICE")))
	b.daemonSet(namespace, "network", b.spec("network", onHostNetwork, adding("NET_ADMIN"), b.hostPath("/etc/cni/net.d", false)))
	for _, name := range []string{"kube-apiserver", "kube-scheduler"} {
		spec := b.spec("", onHostNetwork, b.hostPath("/etc/kubernetes/"+name, true))
		// A mirror pod names no object of the server.
		spec.Volumes = spec.Volumes[len(spec.Volumes)-1:]
		mounts := spec.Containers[0].VolumeMounts
		spec.Containers[0].VolumeMounts = mounts[len(mounts)-1:]
		b.mirror(nodes[0], name, spec)
	}
}

// operators adds three operators. Their accounts may create pods everywhere, and two of them may use a policy.
func (b *builder) operators() {
	pods := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "create", "delete"}}
	namespace := b.namespace("database-operator", "operator")
	b.clusterRole("database-operator", pods)
	b.bindCluster("database-operator", "database-operator", account(namespace, "operator"))
	b.bindCluster("database-operator:psp", useRole(database), account(namespace, "operator"))
	b.bind(namespace, useRole(relaxed), accountsOf(namespace))
	b.deployment(namespace, "operator", b.spec("operator"))

	namespace = b.namespace("flows", "controller")
	// The rule for the policy is in the role of the controller itself.
	b.clusterRole("flow-controller", pods, rbacv1.PolicyRule{
		APIGroups: []string{"policy"}, Resources: []string{"podsecuritypolicies"}, ResourceNames: []string{relaxed}, Verbs: []string{"use"},
	})
	b.bindCluster("flow-controller", "flow-controller", account(namespace, "controller"))
	b.deployment(namespace, "controller", b.spec("controller", careful))

	// This one has no policy of its own: the accounts of its pods have to have one.
	namespace = b.namespace("caches", "operator")
	b.clusterRole("cache-operator", pods)
	b.bindCluster("cache-operator", "cache-operator", account(namespace, "operator"))
	b.bind(namespace, useRole(restricted), account(namespace, "operator"))
	b.deployment(namespace, "operator", b.spec("operator", careful))
}

// monitoring is a namespace where an agent of the nodes runs beside a web application.
func (b *builder) monitoring() {
	namespace := b.namespace("monitoring", "node-exporter", "log-shipper", "dashboards")
	b.bind(namespace, useRole(nodeAgent), account(namespace, "node-exporter"), account(namespace, "log-shipper"))
	b.bind(namespace, useRole(restricted), account(namespace, "dashboards"))
	b.daemonSet(namespace, "node-exporter", b.spec("node-exporter", withHostPID, b.hostPath("/proc", true), b.hostPath("/sys", true), hostPort(9100)))
	b.daemonSet(namespace, "log-shipper", b.spec("log-shipper", b.hostPath("/var/log", false)))
	b.deployment(namespace, "dashboards", b.spec("dashboards", user(472)))
	b.statefulSet(namespace, "metrics", b.spec("dashboards", user(65534), b.disk))
}

// ingress is a namespace with pods of one account under two policies, none of which admits them all.
func (b *builder) ingress() {
	namespace := b.namespace("ingress", "ingress")
	b.bind(namespace, useRole(hostIngress), account(namespace, "ingress"))
	b.bind(namespace, useRole(nodeAgent), account(namespace, "ingress"))
	b.daemonSet(namespace, "logs", b.spec("ingress", b.hostPath("/var/log", true)))
	spec := b.spec("ingress", adding("NET_BIND_SERVICE"), user(101), hostPort(443), onHostNetwork)
	b.daemonSet(namespace, "ingress", spec)
	b.deployment(namespace, "backend", b.spec("ingress", user(1000)))
}

func (b *builder) storage() {
	namespace := b.namespace("storage", "driver-node", "driver-controller")
	b.bind(namespace, useRole(driver), account(namespace, "driver-node"))
	b.bind(namespace, useRole(relaxed), account(namespace, "driver-controller"))
	b.daemonSet(namespace, "driver-node", b.spec("driver-node", asPrivileged, b.hostPath("/var/lib/kubelet", false), b.hostPath("/dev", false)))
	b.statefulSet(namespace, "driver-controller", b.spec("driver-controller"))
}

// deployer is a namespace with an account that may do everything.
func (b *builder) deployer() {
	namespace := b.namespace("deploy", "deployer")
	b.bindCluster("deployer", "cluster-admin", account(namespace, "deployer"))
	b.deployment(namespace, "deployer", b.spec("deployer", b.unusual()))
	b.job(namespace, "migrate", b.spec("deployer", user(0)))
	if b.chance(50) {
		// A build of images, with the power of the account.
		b.job(namespace, "build", b.spec("deployer", asPrivileged))
	}
}

// tenant is a namespace with a policy of its own, which gives its pods their user.
func (b *builder) tenant(number int) {
	name := fmt.Sprintf("tool-%s%d", one(b, "anagram", "quiz", "map", "stats", "wiki"), number)
	policy := name + "-psp"
	namespace := b.namespace(name, name)
	b.policy(policy, b.tenantSpec(number), nil)
	if who := one(b, accountsOf(namespace), account(namespace, "default")); b.chance(50) {
		b.bind(namespace, useRole(policy), who)
	} else {
		b.bindOwn(namespace, policy, who)
	}
	project := b.hostPath("/data/project/"+name, false)
	b.deployment(namespace, "web", b.spec("default", one(b, project, b.unusual(), noTokens)))
	if b.chance(60) {
		b.cronJob(namespace, "nightly", b.spec("default", one(b, project, b.hostPath("/etc/ldap.conf", true))))
	}
	for number := range b.rand.IntN(b.workers) {
		b.deployment(namespace, fmt.Sprintf("worker-%d", number), b.spec("default", b.unusual()))
	}
	if b.chance(10) {
		b.stalled(namespace, "update", b.spec("default", project), b.spec("default", user(0)))
	}
	if b.chance(10) {
		b.deployment(namespace, "foreign", b.spec("default", user(int64(50_000+number+1))))
	}
}

// relaxed is a namespace of a team with the policy of no limits but those of the host.
func (b *builder) relaxed(number int) {
	namespace := b.namespace(fmt.Sprintf("%s-%d", one(b, "shop", "mail", "blog", "chat"), number), "app")
	b.bind(namespace, useRole(relaxed), one(b, accountsOf(namespace), accountsOf(namespace), group("system:authenticated")))
	for index := range 1 + b.rand.IntN(4) {
		b.deployment(namespace, fmt.Sprintf("web-%d", index), b.spec(one(b, "default", "app"), b.unusual()))
	}
	b.extras(namespace)
}

// strict is a namespace of a team with the restricted policy.
func (b *builder) strict(number int) {
	namespace := b.namespace(fmt.Sprintf("%s-%d", one(b, "pay", "audit", "login", "vault"), number), "app")
	b.bind(namespace, useRole(restricted), accountsOf(namespace))
	b.deployment(namespace, "api", b.spec("app", one[change](b, careful, user(1000), nonRoot)))
	b.deployment(namespace, "web", b.spec("default", b.unusual()))
	b.cronJob(namespace, "report", b.spec("app", user(2000)))
	if b.chance(40) {
		b.deployment(namespace, "as-root", b.spec("app", user(0)))
	}
	b.extras(namespace)
}

// guarded is a namespace whose own workloads fit the restricted level, beside pods of an operator that the policy makes fit.
func (b *builder) guarded(number int) {
	namespace := b.namespace(fmt.Sprintf("%s-%d", one(b, "bank", "court", "clinic"), number), "app")
	b.bind(namespace, useRole(restricted), accountsOf(namespace))
	b.deployment(namespace, "api", b.spec("app", careful, user(1000)))
	b.cronJob(namespace, "report", b.spec("app", careful))
	b.bare(cacheOperator, namespace, "cache-0", b.spec("default", one[change](b, nonRoot, func(*corev1.PodSpec) {})), b.owner(cacheKind, "cache"))
	if b.chance(50) {
		b.statefulSet(namespace, "store", b.spec("default", user(1000)), b.owner(cacheKind, "store"))
	}
}

// mixed is a namespace where one account may more than the others.
func (b *builder) mixed(number int) {
	namespace := b.namespace(fmt.Sprintf("%s-%d", one(b, "edge", "build", "data", "lab"), number), "agent", "web")
	b.bind(namespace, useRole(one(b, nodeAgent, privileged)), account(namespace, "agent"))
	b.bind(namespace, useRole(one(b, relaxed, restricted)), account(namespace, "web"))
	b.daemonSet(namespace, "agent", b.spec("agent", withHostPID, b.hostPath("/var/log", true)))
	b.deployment(namespace, "web", b.spec("web", b.unusual(), user(1000)))
	b.deployment(namespace, "beside", b.spec("default", b.unusual()))
	b.extras(namespace)
}

// people is a namespace where a person may use a policy that the accounts may not.
func (b *builder) people(number int) {
	namespace := b.namespace(fmt.Sprintf("%s-%d", one(b, "sandbox", "class", "desk"), number), "app")
	b.bind(namespace, "edit", person("ada@example.org"), group("oidc:students"))
	b.bind(namespace, useRole(one(b, privileged, nodeAgent, relaxed)), person("ada@example.org"))
	b.bind(namespace, useRole(relaxed), group("oidc:students"))
	ada, student := server.Person("ada@example.org"), server.Person("bo@example.org", "oidc:students")
	b.bare(ada, namespace, "shell", b.spec("default", b.hostPath("/var/log", true)))
	b.bare(student, namespace, "notebook", b.spec("app", one[change](b, user(0), noTokens)))
	b.deployment(namespace, "web", b.spec("app", b.unusual()))
	if b.chance(50) {
		b.bare(sre, namespace, "debug", b.spec("default", asPrivileged, onHostNetwork))
	}
	b.extras(namespace)
}

// legacy is a namespace with a policy that knows no projected volumes.
func (b *builder) legacy(number int) {
	namespace := b.namespace(fmt.Sprintf("%s-%d", one(b, "old", "archive", "mainframe"), number))
	b.bind(namespace, useRole(legacy), account(namespace, "default"))
	b.deployment(namespace, "quiet", b.spec("default", noTokens))
	b.deployment(namespace, "web", b.spec("default"))
	b.job(namespace, "import", b.spec("default", noTokens, user(500)))
	b.extras(namespace)
}

// extras are what operators and chance bring into the namespaces of teams.
func (b *builder) extras(namespace string) {
	if b.chance(25) {
		cluster := b.owner(databaseKind, "main")
		for index := range 2 {
			b.bare(databaseOperator, namespace, fmt.Sprintf("main-db-%d", index), b.spec("default", user(101), b.disk), cluster)
		}
	}
	if b.chance(15) {
		b.statefulSet(namespace, "queue", b.spec("default", b.unusual()), b.owner(databaseKind, "queue"))
	}
	if b.chance(25) {
		b.bare(flowController, namespace, fmt.Sprintf("flow-%05d", b.rand.IntN(100_000)), b.spec("default", b.unusual()), b.owner(flowKind, "flow"))
	}
	if b.chance(20) {
		// Its Job, or its ReplicaSet, is not in the dump.
		kind, creator := "batch/v1 Job", server.Controller("job-controller")
		if b.chance(50) {
			kind, creator = "apps/v1 ReplicaSet", server.Controller("replicaset-controller")
		}
		b.bare(creator, namespace, "orphan-x7x2k", b.spec("default", b.unusual()), b.owner(kind, "orphan"))
	}
	if b.chance(20) {
		b.job(namespace, "once", b.spec("default", b.unusual()))
	}
	if b.chance(15) {
		b.stalled(namespace, "update", b.spec("default", user(1000)), b.spec("default", b.unusual(), adding("SYS_PTRACE")))
	}
}

package paths

const (
	// attacker is the user at the start of every path.
	attacker = "mallory"
	// baseline is the version of the default policy that the server has.
	baseline = "1.37"
)

// A route is a kind of step with its two worlds, walked.yaml and blocked.yaml.
type route struct {
	// name is the folder of the worlds: the kind, or the kind with a variant.
	name string
	// reaches is the power at the end of the reported path.
	reaches string
	// through is a subject or power that the reported path passes by the step or after it; empty for any.
	through string
	// shown is the kind of step that the report has instead: the report has one of equally long paths.
	shown string
	// needsOthers is true if the report may have a possible path in the blocked world: with objects of others, which
	// the world does not have.
	needsOthers bool
	// walk sends the requests of the path, and returns the first refusal.
	walk func(*walk) error
	// ends is the result of the walk.
	ends string
}

const crownRead = "reads a Secret of kube-system"

var routes = []route{
	{name: "held", reaches: "cluster-admin", walk: held, ends: crownRead},
	{name: "create-pods", reaches: "cluster-admin", walk: createPods, ends: crownRead + " by the token of the pod"},
	{name: "create-pods.node", reaches: "nodes", walk: createPodsOnNode, ends: "a privileged pod on a node"},
	{name: "change-workloads", reaches: "cluster-admin", walk: changeWorkloads, ends: crownRead + " by the token of the new pod"},
	{name: "change-workloads.changed", reaches: "cluster-admin", walk: changeTemplate, ends: crownRead + " by the token of the new pod"},
	{name: "change-workloads.named", reaches: "cluster-admin", walk: changeTemplate, ends: crownRead + " by the token of the new pod"},
	{name: "change-pods", reaches: "cluster-admin", walk: changePods, ends: crownRead + " by the token of the pod"},
	{name: "change-pods.ephemeral", reaches: "cluster-admin", walk: addContainer, ends: crownRead + " by the token of the pod"},
	{name: "change-pods.privileged", reaches: "nodes", walk: addPrivilegedContainer, ends: "a privileged container on a node"},
	{name: "exec", reaches: "cluster-admin", walk: execute, ends: crownRead + " by the token that the command prints"},
	{name: "token-request", reaches: "cluster-admin", walk: requestToken, ends: crownRead + " by the token"},
	{name: "read-secrets", reaches: "cluster-admin", walk: readSecrets, ends: crownRead + " by the token in the Secret"},
	{name: "make-token-secret", reaches: "cluster-admin", walk: makeTokenSecret, ends: crownRead + " by the token in the Secret"},
	{name: "impersonate", reaches: "cluster-admin", walk: impersonateAccount, ends: crownRead},
	{name: "impersonate.users", reaches: "cluster-admin", walk: impersonateUsers, ends: crownRead},
	{name: "impersonate.groups", reaches: "cluster-admin", walk: impersonateGroup, ends: crownRead},
	{name: "impersonate.beside", reaches: "cluster-admin", walk: impersonateBeside, ends: crownRead},
	{name: "impersonate.constrained", reaches: "cluster-admin", walk: impersonateRoot, ends: crownRead},
	{name: "bind-role", reaches: "cluster-admin", walk: bindRole, ends: crownRead},
	{name: "bind-role.named", reaches: "cluster-admin", walk: bindNamedRole, ends: crownRead},
	{name: "bind-role.existing", reaches: "namespace-admin:shop", walk: joinBinding, ends: "reads a Secret of the namespace"},
	{name: "escalate-role", reaches: "cluster-admin", walk: escalateRole, ends: crownRead},
	{name: "escalate-role.own", reaches: "namespace-admin:shop", walk: escalateOwnRole, ends: "reads a Secret of the namespace"},
	{name: "escalate-role.new", reaches: "namespace-admin:shop", walk: escalateNewRole, ends: "reads a Secret of the namespace"},
	{name: "write-rbac", reaches: "cluster-admin", shown: "held", walk: writeRbac, ends: "an accomplice " + crownRead},
	{name: "approve-csr", reaches: "cluster-admin", through: "User/root", walk: approveUser, ends: crownRead + " by the certificate"},
	{name: "approve-csr.group", reaches: "cluster-admin", through: "Group/admins", walk: approveGroup, ends: crownRead + " by the certificate"},
	{name: "approve-csr.kubelet", reaches: "cluster-admin", through: "nodes", walk: approveKubelet, ends: crownRead + " by a token of a pod of the node"},
	{name: "sign-csr", reaches: "cluster-admin", through: "User/root", walk: signUser, ends: crownRead + " by the certificate"},
	{name: "write-mutating-webhooks", reaches: "cluster-admin", walk: writeMutatingWebhook, ends: crownRead + " after a later write of the administrator"},
	{name: "write-mutating-webhooks.existing", reaches: "cluster-admin", needsOthers: true, walk: changeMutatingWebhook, ends: crownRead + " after a later write of the administrator"},
	{name: "write-validating-webhooks", reaches: "admission", walk: writeValidatingWebhook, ends: "reads and rejects a new Secret"},
	{name: "write-admission-policies", reaches: "cluster-admin", walk: writePolicy, ends: crownRead + " after a later write of the administrator"},
	{name: "write-admission-policies.unbound", reaches: "admission", needsOthers: true, walk: writePolicy, ends: crownRead + " after a later write of the administrator"},
	{name: "write-apiservices", reaches: "admission", walk: writeAPIService, ends: "reads a new object of the group"},
	{name: "write-apiservices.built-in", reaches: "admission", walk: changeAPIService, ends: "reads a new object of the group"},
	{name: "kubelet-api", reaches: "cluster-admin", walk: kubeletAPI, ends: "authorized up to the proxy, " + crownRead + " by the token of a pod"},
	{name: "kubelet-api.named", reaches: "cluster-admin", walk: kubeletAPI, ends: "authorized up to the proxy, " + crownRead + " by the token of a pod"},
	{name: "volumes", reaches: "nodes", walk: volumes, ends: "a pod with the folder `/` of its node"},
	{name: "node", reaches: "cluster-admin", through: "ServiceAccount/vault/boss", walk: controlNode, ends: crownRead + " by a token of a pod of the node"},
	{name: "namespace-labels", reaches: "nodes", walk: changeLabels, ends: "a privileged pod on a node"},
	{name: "namespace-labels.own", reaches: "nodes", walk: changeLabels, ends: "a privileged pod on a node"},
	{name: "aggregate", reaches: "cluster-admin", walk: aggregate, ends: crownRead},
	{name: "drive-gitops", reaches: "cluster-admin", walk: driveGitops, ends: "the server accepts the Application; Argo CD would apply it"},
	{name: "drive-installer", reaches: "cluster-admin", walk: driveInstaller, ends: "the server accepts the Subscription; OLM would install it"},
}

// listed are the kinds of steps that this server cannot walk, with the reasons.
var listed = map[string]string{
	"use-scc": "constraints are of OpenShift: tests/conformance/openshift walks them in its own code",
	"use-psp": "PodSecurityPolicy ended with Kubernetes 1.25: tests/conformance/psp walks it in its own code",
}

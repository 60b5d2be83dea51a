package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names of the policies of every world.
const (
	privileged  = "privileged"
	nodeAgent   = "node-agent"
	hostIngress = "host-ingress"
	restricted  = "restricted"
	relaxed     = "default"
	legacy      = "legacy"
	database    = "database"
	driver      = "storage-driver"
)

// The annotations of policies for seccomp.
const (
	seccompAllowed = "seccomp.security.alpha.kubernetes.io/allowedProfileNames"
	seccompDefault = "seccomp.security.alpha.kubernetes.io/defaultProfileName"
)

// usual are the volumes that clusters allow to everybody.
var usual = []policyv1beta1.FSType{"configMap", "emptyDir", "projected", "secret", "downwardAPI", "persistentVolumeClaim"}

// anything is a spec without limits of users and of SELinux.
func anything(volumes ...policyv1beta1.FSType) policyv1beta1.PodSecurityPolicySpec {
	return policyv1beta1.PodSecurityPolicySpec{
		Volumes:            volumes,
		RunAsUser:          policyv1beta1.RunAsUserStrategyOptions{Rule: "RunAsAny"},
		SELinux:            policyv1beta1.SELinuxStrategyOptions{Rule: "RunAsAny"},
		FSGroup:            policyv1beta1.FSGroupStrategyOptions{Rule: "RunAsAny"},
		SupplementalGroups: policyv1beta1.SupplementalGroupsStrategyOptions{Rule: "RunAsAny"},
	}
}

// policies adds the policies of every world, with a ClusterRole for each.
func (b *builder) policies() {
	all := anything("*")
	all.Privileged, all.HostNetwork, all.HostPID, all.HostIPC = true, true, true, true
	all.AllowedCapabilities = []corev1.Capability{"*"}
	all.HostPorts = []policyv1beta1.HostPortRange{{Min: 0, Max: 65535}}
	b.policy(privileged, all, map[string]string{seccompAllowed: "*"})

	agent := anything(append([]policyv1beta1.FSType{"hostPath"}, usual...)...)
	agent.HostNetwork, agent.HostPID = true, true
	agent.HostPorts = []policyv1beta1.HostPortRange{{Min: 9100, Max: 9200}}
	agent.AllowedHostPaths = []policyv1beta1.AllowedHostPath{
		{PathPrefix: "/proc", ReadOnly: true}, {PathPrefix: "/sys", ReadOnly: true}, {PathPrefix: "/", ReadOnly: true},
		{PathPrefix: "/var/log"},
	}
	b.policy(nodeAgent, agent, nil)

	edge := anything(usual...)
	edge.HostNetwork = true
	edge.HostPorts = []policyv1beta1.HostPortRange{{Min: 80, Max: 80}, {Min: 443, Max: 443}, {Min: 8000, Max: 9000}}
	edge.RequiredDropCapabilities = []corev1.Capability{"ALL"}
	edge.AllowedCapabilities = []corev1.Capability{"NET_BIND_SERVICE"}
	edge.RunAsUser.Rule = "MustRunAsNonRoot"
	b.policy(hostIngress, edge, nil)

	b.policy(restricted, strictSpec(), map[string]string{seccompAllowed: "docker/default,runtime/default", seccompDefault: "runtime/default"})
	b.policy(relaxed, anything(usual...), map[string]string{seccompAllowed: "*"})
	// From before the tokens of accounts were projected.
	old := anything("configMap", "emptyDir", "secret", "persistentVolumeClaim")
	old.RequiredDropCapabilities = []corev1.Capability{"KILL", "MKNOD"}
	b.policy(legacy, old, nil)

	store := anything(usual...)
	store.RunAsUser = policyv1beta1.RunAsUserStrategyOptions{Rule: "MustRunAs", Ranges: []policyv1beta1.IDRange{{Min: 100, Max: 999}}}
	store.FSGroup = policyv1beta1.FSGroupStrategyOptions{Rule: "MustRunAs", Ranges: []policyv1beta1.IDRange{{Min: 103, Max: 103}}}
	store.AllowedCapabilities = []corev1.Capability{"SYS_NICE"}
	b.policy(database, store, nil)

	disks := anything(append([]policyv1beta1.FSType{"hostPath"}, usual...)...)
	disks.Privileged, disks.HostNetwork = true, true
	disks.AllowedCapabilities = []corev1.Capability{"SYS_ADMIN"}
	disks.AllowedHostPaths = []policyv1beta1.AllowedHostPath{{PathPrefix: "/var/lib/kubelet"}, {PathPrefix: "/dev"}}
	b.policy(driver, disks, nil)

	if b.chance(70) {
		b.bindCluster(restricted+":everybody", useRole(restricted), group("system:authenticated"))
	}
	b.bindCluster("sre", useRole(privileged), group("oidc:sre"))
	b.bindCluster("sre-admin", "cluster-admin", group("oidc:sre"))
}

func strictSpec() policyv1beta1.PodSecurityPolicySpec {
	spec := anything(usual...)
	no := false
	spec.AllowPrivilegeEscalation = &no
	spec.RequiredDropCapabilities = []corev1.Capability{"ALL"}
	spec.RunAsUser.Rule = "MustRunAsNonRoot"
	groups := []policyv1beta1.IDRange{{Min: 1, Max: 65535}}
	spec.SupplementalGroups = policyv1beta1.SupplementalGroupsStrategyOptions{Rule: "MustRunAs", Ranges: groups}
	spec.FSGroup = policyv1beta1.FSGroupStrategyOptions{Rule: "MustRunAs", Ranges: groups}
	return spec
}

// tenantSpec is a policy for one tenant, whose pods have one user.
func (b *builder) tenantSpec(number int) policyv1beta1.PodSecurityPolicySpec {
	spec := anything(append([]policyv1beta1.FSType{"hostPath"}, usual...)...)
	no, uid := false, int64(50_000+number)
	spec.DefaultAllowPrivilegeEscalation, spec.AllowPrivilegeEscalation = &no, &no
	spec.RequiredDropCapabilities = []corev1.Capability{"ALL"}
	spec.RunAsUser = policyv1beta1.RunAsUserStrategyOptions{Rule: "MustRunAs", Ranges: []policyv1beta1.IDRange{{Min: uid, Max: uid}}}
	spec.RunAsGroup = &policyv1beta1.RunAsGroupStrategyOptions{Rule: "MustRunAs", Ranges: []policyv1beta1.IDRange{{Min: uid, Max: uid}}}
	spec.FSGroup = policyv1beta1.FSGroupStrategyOptions{Rule: "MustRunAs", Ranges: []policyv1beta1.IDRange{{Min: uid, Max: uid}}}
	spec.SupplementalGroups = policyv1beta1.SupplementalGroupsStrategyOptions{Rule: "MustRunAs", Ranges: []policyv1beta1.IDRange{{Min: 1, Max: 65535}}}
	spec.AllowedHostPaths = []policyv1beta1.AllowedHostPath{{PathPrefix: "/data/project"}, {PathPrefix: "/etc/ldap.conf", ReadOnly: true}}
	return spec
}

// policy adds a policy, and a role that allows its use.
func (b *builder) policy(name string, spec policyv1beta1.PodSecurityPolicySpec, annotations map[string]string) {
	b.objects = append(b.objects, &policyv1beta1.PodSecurityPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1beta1", Kind: "PodSecurityPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec:       spec,
	})
	// Roles from before 1.10 name the old group.
	api := "policy"
	if b.chance(15) {
		api = "extensions"
	}
	b.clusterRole(useRole(name), rbacv1.PolicyRule{
		APIGroups: []string{api}, Resources: []string{"podsecuritypolicies"}, ResourceNames: []string{name}, Verbs: []string{"use"},
	})
}

// useRole is the ClusterRole that allows the use of a policy.
func useRole(policy string) string { return "psp:" + policy }

func (b *builder) clusterRole(name string, rules ...rbacv1.PolicyRule) {
	b.objects = append(b.objects, &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules,
	})
}

func (b *builder) bindCluster(name, role string, subjects ...rbacv1.Subject) {
	b.objects = append(b.objects, &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects:   subjects,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	})
}

// bind grants a ClusterRole in a namespace.
func (b *builder) bind(namespace, role string, subjects ...rbacv1.Subject) {
	b.objects = append(b.objects, &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", role, len(b.objects))},
		Subjects:   subjects,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	})
}

// bindOwn grants the use of a policy by a Role of the namespace.
func (b *builder) bindOwn(namespace, policy string, subjects ...rbacv1.Subject) {
	b.objects = append(b.objects, &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "psp"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"policy"}, Resources: []string{"podsecuritypolicies"}, ResourceNames: []string{policy}, Verbs: []string{"use"},
		}},
	}, &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "psp"},
		Subjects:   subjects,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "psp"},
	})
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: name}
}

func person(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: name}
}

// accountsOf is the group of the service accounts of a namespace.
func accountsOf(namespace string) rbacv1.Subject { return group("system:serviceaccounts:" + namespace) }

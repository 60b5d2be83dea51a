package worlds

import (
	"fmt"
	"math/rand/v2"

	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	syncLabel = "security.openshift.io/scc.podSecurityLabelSync"
	labels    = "pod-security.kubernetes.io/"
)

var (
	namespaceNames = []string{"team-a", "team-b", "team-c", "default", "kube-system", "kube-tools", "openshift-monitoring",
		"openshift-operators", "openshift-own", "openshiftless", "a", "b"}
	accountNames = []string{"default", "builder", "deployer", "robot"}
	modes        = []string{"enforce", "audit", "warn"}
	managers     = []string{"pod-security-admission-label-synchronization-controller", "cluster-policy-controller",
		"kubectl-label", "argocd-controller", ""}
	ranges = []string{"1000660000/10000", "1000660000/10000", "1000660000/10000", "0/65536", "1/1", "0-65535", "1000-2000",
		"nonsense", "1000660000", "", " 7/ 8", "7 /8", "1/2,0/3", "0/0,1/2", "4294967295/1", "4294967296/1", "+1/2", "-1/2",
		"1-2/3", "01/02", "0x1/2", "1/\n2", "1/\t2", "\u00a01/2", "1_0/2", "1/2garbage", "5--6", "/", "-"}
	restrictedVolumes = []string{"configMap", "downwardAPI", "emptyDir", "projected", "secret", "csi",
		"persistentVolumeClaim", "ephemeral", "none", "image"}
	otherVolumes = []string{"azureFile", "azureDisk", "flocker", "flexVolume", "gcePersistentDisk", "awsElasticBlockStore",
		"gitRepo", "nfs", "iscsi", "glusterfs", "rbd", "cinder", "cephFS", "fc", "vsphere", "quobyte", "photonPersistentDisk",
		"portworxVolume", "scaleIO", "storageOS", "hostPath", "*", "serviceAccountToken", "bogus", "", "Secret"}
	goodCapabilities = []string{"NET_BIND_SERVICE", "NET_BIND_SERVICE", "CHOWN", "AUDIT_WRITE", "SYS_CHROOT", "KILL"}
	capabilities     = append([]string{"NET_RAW", "SYS_ADMIN", "*", "ALL", "all", "All", "net_bind_service",
		"CAP_NET_BIND_SERVICE", ""}, goodCapabilities...)
	profiles = []string{"runtime/default", "runtime/default", "docker/default", "localhost/a.json", "localhost/", "localhost",
		"*", "unconfined", "RuntimeDefault", ""}
	sysctls = []string{"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
		"net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start", "kernel.msgmax", "*", "net.ipv4.*"}
)

// Random makes a world with so many namespaces at most.
func Random(random *rand.Rand, count int) *World {
	make := maker{random}
	world := &World{Mode: make.pick("enforcing", "enforcing", "advising")}
	for at := range 1 + random.IntN(6) {
		world.Constraints = append(world.Constraints, make.constraints(fmt.Sprintf("scc-%d", at)))
	}
	if make.chance(50) {
		// Most clusters have something for everybody.
		first := world.Constraints[0]
		first.Groups = append(first.Groups, "system:authenticated")
	}
	seen := map[string]bool{}
	for range count {
		name := make.pick(namespaceNames...)
		if seen[name] {
			continue
		}
		seen[name] = true
		world.Namespaces = append(world.Namespaces, make.namespace(name))
		for at, account := range accountNames {
			if at < random.IntN(len(accountNames)+1) && make.chance(80) {
				meta := metav1.ObjectMeta{Namespace: name, Name: account}
				world.Accounts = append(world.Accounts, &corev1.ServiceAccount{ObjectMeta: meta})
			}
		}
	}
	for at := range random.IntN(4) {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("role-%d", at)}
		world.ClusterRoles = append(world.ClusterRoles, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: make.rules()})
	}
	for at := range random.IntN(5) {
		meta := metav1.ObjectMeta{Namespace: make.pick(namespaceNames...), Name: fmt.Sprintf("role-%d", at%3)}
		role := &rbacv1.Role{ObjectMeta: meta, Rules: make.rules()}
		if !hasRole(world.Roles, meta) {
			world.Roles = append(world.Roles, role)
		}
	}
	for at := range random.IntN(3) {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("binding-%d", at)}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: make.roleRef(), Subjects: make.subjects()}
		world.ClusterRoleBindings = append(world.ClusterRoleBindings, binding)
	}
	for at := range random.IntN(7) {
		meta := metav1.ObjectMeta{Namespace: make.pick(namespaceNames...), Name: fmt.Sprintf("binding-%d", at)}
		binding := &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: make.roleRef(), Subjects: make.subjects()}
		world.RoleBindings = append(world.RoleBindings, binding)
	}
	return world
}

// Constraints makes random constraints.
func Constraints(random *rand.Rand, name string) *securityv1.SecurityContextConstraints {
	return maker{random}.constraints(name)
}

type maker struct{ *rand.Rand }

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }

func (m maker) pick(from ...string) string { return from[m.IntN(len(from))] }

func (m maker) some(most int, from ...string) []string {
	if m.chance(15) {
		return nil
	}
	list := []string{}
	for range m.IntN(most + 1) {
		list = append(list, m.pick(from...))
	}
	return list
}

func (m maker) flag(percent int) *bool {
	if m.chance(25) {
		return nil
	}
	value := m.chance(percent)
	return &value
}

func (m maker) number(from ...int64) *int64 {
	if m.chance(30) {
		return nil
	}
	value := from[m.IntN(len(from))]
	return &value
}

func hasRole(roles []*rbacv1.Role, meta metav1.ObjectMeta) bool {
	for _, role := range roles {
		if role.Namespace == meta.Namespace && role.Name == meta.Name {
			return true
		}
	}
	return false
}

func typed[T ~string](list []string) []T {
	if list == nil {
		return nil
	}
	typed := make([]T, len(list))
	for at, text := range list {
		typed[at] = T(text)
	}
	return typed
}

func (m maker) constraints(name string) *securityv1.SecurityContextConstraints {
	// Most fields are tight most of the time, or nearly everything would be privileged.
	loose := m.pick("tight", "tight", "mild", "mild", "wild")
	rare := map[string]int{"tight": 1, "mild": 3, "wild": 25}[loose]
	scc := &securityv1.SecurityContextConstraints{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if m.chance(40) {
		priority := int32(m.IntN(4) - 1)
		scc.Priority = &priority
	}
	scc.AllowPrivilegedContainer = m.chance(rare)
	scc.AllowHostDirVolumePlugin = m.chance(rare)
	scc.AllowHostNetwork = m.chance(rare)
	scc.AllowHostPorts = m.chance(rare)
	scc.AllowHostPID = m.chance(rare)
	scc.AllowHostIPC = m.chance(rare)
	scc.ReadOnlyRootFilesystem = m.chance(20)
	scc.DefaultAddCapabilities = typed[corev1.Capability](m.some(2, capabilities...))
	scc.RequiredDropCapabilities = typed[corev1.Capability](m.some(3, "ALL", "ALL", "all", "KILL", "MKNOD"))
	scc.AllowedCapabilities = typed[corev1.Capability](m.some(2, goodCapabilities...))
	scc.Volumes = typed[securityv1.FSType](m.some(4, restrictedVolumes...))
	scc.SeccompProfiles = m.some(2, "runtime/default", "docker/default", "localhost/a")
	scc.SELinuxContext.Type = securityv1.SELinuxStrategyMustRunAs
	scc.RunAsUser.Type = securityv1.RunAsUserStrategyType(
		m.pick("MustRunAs", "MustRunAsRange", "MustRunAsRange", "MustRunAsNonRoot", "RunAsAny"))
	scc.RunAsUser.UID = m.number(-1, 0, 1, 1000)
	scc.RunAsUser.UIDRangeMin = m.number(-1, 0, 1, 1000)
	scc.RunAsUser.UIDRangeMax = m.number(0, 1, 1000)
	scc.AllowPrivilegeEscalation = m.flag(30)
	scc.DefaultAllowPrivilegeEscalation = m.flag(30)
	if loose == "tight" && m.chance(80) {
		// What is restricted has to be so in every field.
		no := false
		scc.AllowPrivilegeEscalation = &no
		scc.RequiredDropCapabilities = []corev1.Capability{"ALL"}
		scc.AllowedCapabilities = typed[corev1.Capability](m.some(1, "NET_BIND_SERVICE"))
		scc.SeccompProfiles = []string{m.pick("runtime/default", "docker/default", "localhost/a")}
		scc.RunAsUser.Type = securityv1.RunAsUserStrategyType(m.pick("MustRunAsRange", "MustRunAsRange", "MustRunAsNonRoot"))
	}
	if m.chance(10 * rare) {
		m.loosen(scc, loose == "wild")
	}
	if m.chance(3) {
		scc.Volumes = append(scc.Volumes, securityv1.FSType(m.pick("bogus", "serviceAccountToken", "")))
	}
	if m.chance(3) {
		scc.RunAsUser.Type = securityv1.RunAsUserStrategyType(m.pick("", "mustRunAs", "MustRunAsGroup"))
	}
	// Few are for everybody, or every namespace would be as loose as the loosest.
	if loose == "tight" || m.chance(30) {
		for range m.IntN(3) {
			scc.Groups = append(scc.Groups, m.group())
		}
	}
	for range m.IntN(3) {
		scc.Users = append(scc.Users, m.user())
	}
	return scc
}

func (m maker) loosen(scc *securityv1.SecurityContextConstraints, wild bool) {
	if m.chance(40) {
		scc.AllowedCapabilities = typed[corev1.Capability](m.some(3, capabilities...))
	}
	if m.chance(40) {
		scc.Volumes = typed[securityv1.FSType](m.some(4, append(otherVolumes, restrictedVolumes...)...))
	}
	if m.chance(40) {
		scc.SeccompProfiles = m.some(3, profiles...)
	}
	if m.chance(40) {
		scc.AllowedUnsafeSysctls = m.some(3, sysctls...)
		scc.ForbiddenSysctls = m.some(3, sysctls...)
	}
	if wild || m.chance(30) {
		scc.SELinuxContext.Type = securityv1.SELinuxContextStrategyType(m.pick("MustRunAs", "MustRunAs", "RunAsAny", ""))
		scc.SELinuxContext.SELinuxOptions = &corev1.SELinuxOptions{
			User:  m.pick("", "", "", "system_u"),
			Role:  m.pick("", "", "", "system_r"),
			Type:  m.pick("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t", "spc_t"),
			Level: m.pick("", "s0:c1,c0"),
		}
	}
}

func (m maker) user() string {
	account := "system:serviceaccount:" + m.pick(namespaceNames...) + ":" + m.pick(accountNames...)
	return m.pick(account, account, account, "alice", "system:admin", "*")
}

func (m maker) group() string {
	own := "system:serviceaccounts:" + m.pick(namespaceNames...)
	return m.pick("system:authenticated", "system:serviceaccounts", own, own, own, "system:serviceaccounts:", "system:masters",
		"system:authenticated:oauth", "system:unauthenticated", "developers")
}

func (m maker) names() []string {
	if m.chance(30) {
		return nil
	}
	list := []string{}
	for range m.IntN(3) {
		list = append(list, m.pick("scc-0", "scc-1", "scc-2", "scc-3", "scc-4", "scc-5", "other", "*"))
	}
	return list
}

func (m maker) rules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for range m.IntN(3) {
		rules = append(rules, rbacv1.PolicyRule{
			Verbs:         m.some(2, "use", "use", "use", "*", "get"),
			APIGroups:     m.some(2, "security.openshift.io", "security.openshift.io", "*", "", "apps"),
			Resources:     m.some(2, "securitycontextconstraints", "securitycontextconstraints", "*", "securitycontextconstraints/status", "*/scale", "pods"),
			ResourceNames: m.names(),
		})
	}
	return rules
}

func (m maker) roleRef() rbacv1.RoleRef {
	return rbacv1.RoleRef{
		APIGroup: m.pick(rbacv1.GroupName, rbacv1.GroupName, rbacv1.GroupName, rbacv1.GroupName, "", "apps"),
		Kind:     m.pick("ClusterRole", "ClusterRole", "Role", "Role", "Odd", ""),
		Name:     fmt.Sprintf("role-%d", m.IntN(3)),
	}
}

func (m maker) subjects() []rbacv1.Subject {
	var subjects []rbacv1.Subject
	for range m.IntN(4) {
		switch m.IntN(6) {
		case 0:
			subjects = append(subjects, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: m.user()})
		case 1, 2:
			group := m.pick(rbacv1.GroupName, rbacv1.GroupName, rbacv1.GroupName, "", "apps")
			subjects = append(subjects, rbacv1.Subject{Kind: "Group", APIGroup: group, Name: m.group()})
		case 3:
			subjects = append(subjects, rbacv1.Subject{Kind: m.pick("Odd", ""), Name: m.user()})
		default:
			namespace := m.pick(append([]string{"", ""}, namespaceNames...)...)
			group := m.pick("", "", "", "", rbacv1.GroupName)
			name := m.pick(accountNames...)
			subjects = append(subjects, rbacv1.Subject{Kind: "ServiceAccount", APIGroup: group, Namespace: namespace, Name: name})
		}
	}
	return subjects
}

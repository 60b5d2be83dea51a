package persona

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// ClusterRoles are those that the controller makes for a namespace.
func ClusterRoles(namespace *corev1.Namespace) []*rbacv1.ClusterRole {
	if !nsHasPersonaManagement(namespace) {
		return nil
	}
	return generateNamespaceClusterRoles(namespace)
}

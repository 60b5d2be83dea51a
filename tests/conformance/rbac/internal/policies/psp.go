package policies

import corev1 "k8s.io/api/core/v1"

// A podSecurityPolicy is what the generator wants to know of one; the type left Kubernetes' API with 1.25.
type podSecurityPolicy struct {
	Spec struct {
		RunAsUser          strategy      `json:"runAsUser"`
		RunAsGroup         strategy      `json:"runAsGroup"`
		FSGroup            strategy      `json:"fsGroup"`
		SupplementalGroups strategy      `json:"supplementalGroups"`
		SELinux            seLinux       `json:"seLinux"`
		AllowedHostPaths   []allowedPath `json:"allowedHostPaths"`
	} `json:"spec"`
}

type strategy struct {
	Ranges []idRange `json:"ranges"`
}

type idRange struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

type seLinux struct {
	SELinuxOptions *corev1.SELinuxOptions `json:"seLinuxOptions"`
}

type allowedPath struct {
	PathPrefix string `json:"pathPrefix"`
}

package main

import (
	"fmt"
	"os"

	securityv1 "github.com/openshift/api/security/v1"
	"github.com/openshift/apiserver-library-go/pkg/securitycontextconstraints/sccmatching"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	conversion "k8s.io/kubernetes/pkg/apis/core/v1"
)

// real is what OpenShift makes of a pod, with its reasons.
func real(scc *securityv1.SecurityContextConstraints, pod *corev1.Pod, annotations map[string]string) (verdict, string) {
	// Admission waits for these two annotations before it looks at anything else, and gives up without them.
	for _, key := range []string{securityv1.UIDRangeAnnotation, securityv1.MCSAnnotation} {
		if _, ok := annotations[key]; !ok {
			return broken, "the namespace has no " + key
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: annotations}}
	provider, err := sccmatching.CreateProviderFromConstraint(namespace, scc)
	if err != nil {
		return broken, err.Error()
	}
	stored := pod.DeepCopy()
	conversion.SetObjectDefaults_Pod(stored)
	internal := &core.Pod{}
	if err := conversion.Convert_v1_Pod_To_core_Pod(stored, internal, nil); err != nil {
		return broken, err.Error()
	}
	if problems := sccmatching.AssignSecurityContext(provider, internal, field.NewPath("")); len(problems) > 0 {
		return refused, problems.ToAggregate().Error()
	}
	return accepted, ""
}

// A lie is a mistake that somebody could make: constraints or pods that are not as they are.
var lies = map[string]func(scc *securityv1.SecurityContextConstraints, pod *corev1.Pod){
	"SELinux does not matter": func(scc *securityv1.SecurityContextConstraints, _ *corev1.Pod) {
		scc.SELinuxContext.Type = securityv1.SELinuxStrategyRunAsAny
	},
	"users do not matter": func(scc *securityv1.SecurityContextConstraints, _ *corev1.Pod) {
		scc.RunAsUser.Type = securityv1.RunAsUserStrategyRunAsAny
	},
	"groups do not matter": func(scc *securityv1.SecurityContextConstraints, _ *corev1.Pod) {
		scc.SupplementalGroups.Type = securityv1.SupplementalGroupsStrategyRunAsAny
		scc.FSGroup.Type = securityv1.FSGroupStrategyRunAsAny
	},
	"capabilities do not matter": func(scc *securityv1.SecurityContextConstraints, _ *corev1.Pod) {
		scc.AllowedCapabilities = []corev1.Capability{"*"}
	},
	"profiles do not matter": func(scc *securityv1.SecurityContextConstraints, _ *corev1.Pod) {
		scc.SeccompProfiles = []string{"*"}
	},
	"volumes do not matter": func(scc *securityv1.SecurityContextConstraints, _ *corev1.Pod) {
		scc.Volumes = []securityv1.FSType{"*"}
	},
	"sysctls do not matter": func(_ *securityv1.SecurityContextConstraints, pod *corev1.Pod) {
		if pod.Spec.SecurityContext != nil {
			pod.Spec.SecurityContext.Sysctls = nil
		}
	},
	"init containers do not matter": func(_ *securityv1.SecurityContextConstraints, pod *corev1.Pod) {
		pod.Spec.InitContainers = nil
	},
	"the host does not matter": func(scc *securityv1.SecurityContextConstraints, _ *corev1.Pod) {
		scc.AllowHostIPC, scc.AllowHostNetwork, scc.AllowHostPID, scc.AllowHostPorts = true, true, true, true
	},
	"root file systems do not matter": func(scc *securityv1.SecurityContextConstraints, _ *corev1.Pod) {
		scc.ReadOnlyRootFilesystem = false
	},
	"escalation does not matter": func(scc *securityv1.SecurityContextConstraints, _ *corev1.Pod) {
		scc.AllowPrivilegeEscalation = nil
	},
}

func selfTest(pods int) (int, error) {
	liar := func(lie func(*securityv1.SecurityContextConstraints, *corev1.Pod)) speaker {
		return func(scc *securityv1.SecurityContextConstraints, pod *corev1.Pod, annotations map[string]string) (verdict, error) {
			scc, pod = scc.DeepCopy(), pod.DeepCopy()
			if lie != nil {
				lie(scc, pod)
			}
			said, _ := real(scc, pod, annotations)
			return said, nil
		}
	}
	honest, err := compare(liar(nil), 1, pods)
	if err != nil || len(honest.differences) > 0 {
		return cannot, fmt.Errorf("the code of OpenShift differs from itself: %v %s", err, honest.example)
	}
	noticed := 0
	for name, lie := range lies {
		report, err := compare(liar(lie), 1, pods)
		if err != nil {
			return cannot, err
		}
		if len(report.differences) == 0 {
			return cannot, fmt.Errorf("nobody notices that %s", name)
		}
		noticed++
	}
	fmt.Fprintf(os.Stdout, "%d mistakes about pods are noticed\n", noticed)
	return equal, nil
}

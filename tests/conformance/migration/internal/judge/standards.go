package judge

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // defaulting
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"bailiwick.dev/conformance/migration/internal/plan"
)

// Standards judges the pods of workloads by the Pod Security labels of their namespaces, as a server of a version does. A pod that the
// server has rejected before stays rejected.
func Standards(truth []plan.Entry, labels map[string]map[string]string, version string) (Verdicts, error) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	server, err := api.ParseVersion("v" + version)
	if err != nil {
		return nil, err
	}
	defaults := api.LevelVersion{Level: api.LevelPrivileged, Version: server}
	verdicts := Verdicts{}
	for index := range truth {
		entry := &truth[index]
		if entry.Rejection != "" {
			verdicts[entry.Key()] = entry.Rejection
			continue
		}
		policies, problems := api.PolicyToEvaluate(labels[entry.Namespace], api.Policy{Enforce: defaults, Audit: defaults, Warn: defaults})
		if len(problems) > 0 {
			return nil, fmt.Errorf("labels of %s: %w", entry.Namespace, problems.ToAggregate())
		}
		// The checks here are those of a newer release.
		if policies.Enforce.Version.Latest() {
			policies.Enforce.Version = server
		}
		pod := entry.Pod.DeepCopy()
		pod.APIVersion, pod.Kind = "v1", "Pod"
		legacyscheme.Scheme.Default(pod)
		verdicts[entry.Key()] = verdict(evaluator, policies.Enforce, pod)
	}
	return verdicts, nil
}

func verdict(evaluator policy.Evaluator, wanted api.LevelVersion, pod *corev1.Pod) string {
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(wanted, &pod.ObjectMeta, &pod.Spec))
	if result.Allowed {
		return ""
	}
	return fmt.Sprintf("violates PodSecurity %q: %s", wanted.String(), result.ForbiddenDetail())
}

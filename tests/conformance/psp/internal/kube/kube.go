// Package kube answers questions about PodSecurityPolicies with the code of Kubernetes 1.24.
package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1internal "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyinternal "k8s.io/kubernetes/pkg/apis/policy/v1beta1"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/capabilities"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/security/podsecuritypolicy"
)

func init() {
	// Clusters with policies allow privileged containers: that is what the policies are for.
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
}

// Answer is what either side says about a policy and a pod.
type Answer struct {
	// Broken is true for a policy that cannot be used.
	Broken bool
	// Mutated tells whether something was filled in.
	Mutated bool
	// Fields are those that the policy does not allow, each once.
	Fields []string
	// Invalid is true for a pod that is not valid after all that.
	Invalid bool
	// Pod holds the parts that a policy fills in, and Whole the pod with everything else.
	Pod   any
	Whole []byte
}

// Policy reads a policy with its defaults.
func Policy(text []byte) (*policyv1beta1.PodSecurityPolicy, error) {
	object := &policyv1beta1.PodSecurityPolicy{}
	if err := json.Unmarshal(text, object); err != nil {
		return nil, err
	}
	policyinternal.SetObjectDefaults_PodSecurityPolicy(object)
	return object, nil
}

// Pod reads a pod with its defaults.
func Pod(text []byte) (*core.Pod, error) {
	object := &corev1.Pod{}
	if err := json.Unmarshal(text, object); err != nil {
		return nil, err
	}
	corev1internal.SetObjectDefaults_Pod(object)
	pod := &core.Pod{}
	return pod, corev1internal.Convert_v1_Pod_To_core_Pod(object, pod, nil)
}

// IsValid tells whether an API server would take a policy.
func IsValid(text []byte) bool {
	object, err := Policy(text)
	if err != nil {
		return false
	}
	internal := &policy.PodSecurityPolicy{}
	if err := policyinternal.Convert_v1beta1_PodSecurityPolicy_To_policy_PodSecurityPolicy(object, internal, nil); err != nil {
		return false
	}
	return len(policyvalidation.ValidatePodSecurityPolicy(internal)) == 0
}

// Admit asks the real provider.
func Admit(policyText, podText []byte) (*Answer, error) {
	object, err := Policy(policyText)
	if err != nil {
		return nil, err
	}
	pod, err := Pod(podText)
	if err != nil {
		return nil, err
	}
	provider, err := podsecuritypolicy.NewSimpleProvider(object, "n", podsecuritypolicy.NewSimpleStrategyFactory())
	if err != nil {
		return &Answer{Broken: true}, nil
	}
	filled := pod.DeepCopy()
	if err := provider.MutatePod(filled); err != nil {
		return nil, err
	}
	answer := &Answer{
		Mutated: !equality.Semantic.DeepEqual(pod, filled),
		Fields:  Fields(provider.ValidatePod(filled)),
		Invalid: !isValidPod(filled),
	}
	answer.Pod, answer.Whole, err = parts(filled)
	return answer, err
}

// Fields are the fields of errors, each once and in order.
func Fields(errors field.ErrorList) []string {
	fields := []string{}
	for _, problem := range errors {
		fields = append(fields, problem.Field)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// isValidPod does what happens to a new pod between the mutating and the validating plugins.
func isValidPod(filled *core.Pod) bool {
	pod := filled.DeepCopy()
	podregistry.Strategy.PrepareForCreate(context.Background(), pod)
	problems := podregistry.Strategy.Validate(context.Background(), pod)
	return !slices.ContainsFunc(problems, func(problem *field.Error) bool { return concernsPolicies(problem.Field) })
}

// concernsPolicies tells whether a field of a pod has to do with policies. The random pods get other things wrong, too.
func concernsPolicies(name string) bool {
	if strings.Contains(name, "sysctls") {
		return false
	}
	return strings.Contains(name, "securityContext") || strings.HasPrefix(name, "metadata.annotations") || strings.HasSuffix(name, "hostPath.path")
}

// parts are the parts of a pod that `bailiwick ask` tells, and the pod as JSON.
func parts(pod *core.Pod) (any, []byte, error) {
	object := &corev1.Pod{}
	if err := corev1internal.Convert_core_Pod_To_v1_Pod(pod.DeepCopy(), object, nil); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, nil, err
	}
	parts, err := Parts(text)
	return parts, text, err
}

// Parts reads a pod as JSON and keeps what a policy fills in, in a form that can be compared.
func Parts(text []byte) (any, error) {
	var whole struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec struct {
			RuntimeClassName    any             `json:"runtimeClassName"`
			SecurityContext     map[string]any  `json:"securityContext"`
			InitContainers      []containerPart `json:"initContainers"`
			Containers          []containerPart `json:"containers"`
			EphemeralContainers []containerPart `json:"ephemeralContainers"`
		} `json:"spec"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&whole); err != nil {
		return nil, err
	}
	// An API server gives every pod a context. Of kernel parameters only the names are told, and nobody fills them in.
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC", "sysctls"} {
		delete(whole.Spec.SecurityContext, key)
	}
	return map[string]any{
		"annotations":      fmt.Sprint(whole.Metadata.Annotations),
		"runtimeClassName": fmt.Sprint(whole.Spec.RuntimeClassName),
		"securityContext":  canonical(whole.Spec.SecurityContext),
		"init":             canonical(whole.Spec.InitContainers),
		"containers":       canonical(whole.Spec.Containers),
		"ephemeral":        canonical(whole.Spec.EphemeralContainers),
	}, nil
}

type containerPart struct {
	Name            string         `json:"name"`
	SecurityContext map[string]any `json:"securityContext"`
}

// canonical writes a value with its keys in order; no object and an empty one are not the same, but for the pod.
func canonical(value any) string {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			return "{}"
		}
	case []containerPart:
		if len(value) == 0 {
			return "[]"
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

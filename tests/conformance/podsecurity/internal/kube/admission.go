package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/pod-security-admission/admission"
	admissionapi "k8s.io/pod-security-admission/admission/api"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/metrics"
	kjson "sigs.k8s.io/json"

	"bailiwick.dev/conformance/podsecurity/internal/protocol"
)

// kinds are the objects that bring pods, with their resources.
var kinds = map[string]struct {
	resource schema.GroupVersionResource
	empty    func() runtime.Object
}{
	"v1 Pod":                   {corev1.SchemeGroupVersion.WithResource("pods"), func() runtime.Object { return &corev1.Pod{} }},
	"v1 PodTemplate":           {corev1.SchemeGroupVersion.WithResource("podtemplates"), func() runtime.Object { return &corev1.PodTemplate{} }},
	"v1 ReplicationController": {corev1.SchemeGroupVersion.WithResource("replicationcontrollers"), func() runtime.Object { return &corev1.ReplicationController{} }},
	"apps/v1 ReplicaSet":       {appsv1.SchemeGroupVersion.WithResource("replicasets"), func() runtime.Object { return &appsv1.ReplicaSet{} }},
	"apps/v1 Deployment":       {appsv1.SchemeGroupVersion.WithResource("deployments"), func() runtime.Object { return &appsv1.Deployment{} }},
	"apps/v1 DaemonSet":        {appsv1.SchemeGroupVersion.WithResource("daemonsets"), func() runtime.Object { return &appsv1.DaemonSet{} }},
	"apps/v1 StatefulSet":      {appsv1.SchemeGroupVersion.WithResource("statefulsets"), func() runtime.Object { return &appsv1.StatefulSet{} }},
	"batch/v1 Job":             {batchv1.SchemeGroupVersion.WithResource("jobs"), func() runtime.Object { return &batchv1.Job{} }},
	"batch/v1 CronJob":         {batchv1.SchemeGroupVersion.WithResource("cronjobs"), func() runtime.Object { return &batchv1.CronJob{} }},
}

// SetDefaults fills in what the API server does before admission (pkg/apis/core/v1/defaults.go), as far as the checks
// look at it.
func SetDefaults(pod *corev1.Pod) {
	setSpecDefaults(&pod.Spec)
	if !pod.Spec.HostNetwork {
		return
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, container := range containers {
			for index := range container.Ports {
				if port := &container.Ports[index]; port.HostPort == 0 {
					port.HostPort = port.ContainerPort
				}
			}
		}
	}
}

// setSpecDefaults is what templates get, too.
func setSpecDefaults(spec *corev1.PodSpec) {
	for index := range spec.Volumes {
		if spec.Volumes[index].VolumeSource == (corev1.VolumeSource{}) {
			spec.Volumes[index].EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
	}
}

// podAdmission puts a creation to the admission plugin.
func (s *Server) podAdmission(question *protocol.PodAdmission) (protocol.Answer, error) {
	meta := metav1.PartialObjectMetadata{}
	if err := decode(question.Object, &meta); err != nil {
		return nil, err
	}
	kind, known := kinds[meta.APIVersion+" "+meta.Kind]
	if !known {
		return nil, fmt.Errorf("there is no kind %s %s", meta.APIVersion, meta.Kind)
	}
	object := kind.empty()
	if err := decode(question.Object, object); err != nil {
		return nil, err
	}
	if pod, ok := object.(*corev1.Pod); ok {
		SetDefaults(pod)
	} else if _, spec, err := (admission.DefaultPodSpecExtractor{}).ExtractPodSpec(object); err == nil && spec != nil {
		setSpecDefaults(spec)
	}
	plugin, err := s.plugin(question.Defaults, question.Exemptions, question.Labels)
	if err != nil {
		return nil, err
	}
	response := plugin.Validate(context.Background(), &api.AttributesRecord{
		Name: meta.Name, Namespace: meta.Namespace, Resource: kind.resource, Operation: admissionv1.Create,
		Object: object, Username: question.User,
	})
	message, warnings, audit := "", []string{}, map[string]string{}
	if response.Result != nil {
		_, message, _ = strings.Cut(response.Result.Message, " is forbidden: ")
	}
	for key, value := range response.AuditAnnotations {
		audit[key] = value
	}
	return protocol.Answer{
		"allowed": response.Allowed, "message": message, "warnings": append(warnings, response.Warnings...), "audit": audit,
	}, nil
}

// namespacePolicy asks for the policy, and puts the namespace to the admission plugin.
func (s *Server) namespacePolicy(question *protocol.NamespacePolicy) (protocol.Answer, error) {
	plugin, err := s.plugin(question.Defaults, nil, nil)
	if err != nil {
		return nil, err
	}
	found, problems := plugin.PolicyToEvaluate(question.Labels)
	attributes := &api.AttributesRecord{
		Name: "n", Namespace: "n", Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), Operation: admissionv1.Create,
		Object: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: question.Labels}},
	}
	if question.Old != nil {
		attributes.Operation = admissionv1.Update
		attributes.OldObject = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: *question.Old}}
	}
	errors := []string{}
	for _, problem := range problems {
		errors = append(errors, problem.Error())
	}
	return protocol.Answer{
		"enforce": found.Enforce.String(), "audit": found.Audit.String(), "warn": found.Warn.String(), "errors": errors,
		"accepted": plugin.Validate(context.Background(), attributes).Allowed,
	}, nil
}

// plugin is the admission plugin with a configuration, in a cluster of one namespace without pods.
func (s *Server) plugin(defaults map[string]string, exemptions *protocol.Exemptions, labels map[string]string) (*admission.Admission, error) {
	value := func(key, otherwise string) string {
		if defaults[key] != "" {
			return defaults[key]
		}
		return otherwise
	}
	configuration := &admissionapi.PodSecurityConfiguration{Defaults: admissionapi.PodSecurityDefaults{
		Enforce: value("enforce", "privileged"), EnforceVersion: value("enforce-version", "latest"),
		Audit: value("audit", "privileged"), AuditVersion: value("audit-version", "latest"),
		Warn: value("warn", "privileged"), WarnVersion: value("warn-version", "latest"),
	}}
	if exemptions != nil {
		configuration.Exemptions = admissionapi.PodSecurityExemptions(*exemptions)
	}
	plugin := &admission.Admission{
		Configuration: configuration, Evaluator: s, Metrics: unmeasured{}, NamespaceGetter: cluster(labels), PodLister: cluster(labels),
	}
	return plugin, plugin.CompleteConfiguration()
}

// cluster has one namespace, by its labels.
type cluster map[string]string

func (c cluster) GetNamespace(_ context.Context, name string) (*corev1.Namespace, error) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: c}}, nil
}

func (c cluster) ListPods(context.Context, string) ([]*corev1.Pod, error) { return nil, nil }

// unmeasured counts nothing.
type unmeasured struct{}

func (unmeasured) RecordEvaluation(metrics.Decision, api.LevelVersion, metrics.Mode, api.Attributes) {
}
func (unmeasured) RecordExemption(api.Attributes)   {}
func (unmeasured) RecordError(bool, api.Attributes) {}

// decode reads as the API server does: by exact names, and without what it does not know.
func decode(text json.RawMessage, into any) error {
	return kjson.UnmarshalCaseSensitivePreserveInts(text, into)
}

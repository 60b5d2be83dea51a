// Package kube answers with the code of Kubernetes itself.
package kube

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"bailiwick.dev/conformance/podsecurity/internal/protocol"
)

// Server is the real side.
type Server struct {
	evaluator policy.Evaluator
	// found are the checks that had something against the pod that was evaluated last.
	found []string
	// Misread changes each pod before it is judged; for lies.
	Misread func(*metav1.ObjectMeta, *corev1.PodSpec)
}

// NewServer has all the checks, each of which leaves its name when it finds something.
func NewServer() (*Server, error) {
	server := &Server{}
	checks := policy.DefaultChecks()
	for index := range checks {
		id := string(checks[index].ID)
		for version := range checks[index].Versions {
			real := checks[index].Versions[version].CheckPod
			checks[index].Versions[version].CheckPod = func(metadata *metav1.ObjectMeta, spec *corev1.PodSpec) policy.CheckResult {
				result := real(metadata, spec)
				if !result.Allowed {
					server.found = append(server.found, id)
				}
				return result
			}
		}
	}
	evaluator, err := policy.NewEvaluator(checks, nil)
	server.evaluator = evaluator
	return server, err
}

// Answer answers a question as `bailiwick ask` does.
func (s *Server) Answer(question *protocol.Question) (protocol.Answer, error) {
	var answer protocol.Answer
	var err error
	switch {
	case question.PodSecurity != nil:
		answer, err = s.podSecurity(question.PodSecurity)
	case question.PodAdmission != nil:
		answer, err = s.podAdmission(question.PodAdmission)
	case question.NamespacePolicy != nil:
		answer, err = s.namespacePolicy(question.NamespacePolicy)
	default:
		err = fmt.Errorf("nothing is asked")
	}
	if err != nil {
		return nil, err
	}
	return protocol.Tree(answer)
}

func (s *Server) podSecurity(question *protocol.PodSecurity) (protocol.Answer, error) {
	pod := &corev1.Pod{}
	if err := decode(question.Pod, pod); err != nil {
		return nil, err
	}
	SetDefaults(pod)
	if len(question.Policies) > 0 {
		var answers []protocol.Answer
		for _, text := range question.Policies {
			level, version, _ := strings.Cut(text, ":")
			answer, err := s.verdict(pod, level, version)
			if err != nil {
				return nil, err
			}
			answers = append(answers, answer)
		}
		return protocol.Answer{"answers": answers}, nil
	}
	answer, err := s.verdict(pod, question.Level, question.Version)
	if err != nil {
		return nil, err
	}
	for _, level := range []api.Level{api.LevelRestricted, api.LevelBaseline, api.LevelPrivileged} {
		fits, err := s.verdict(pod, string(level), question.Version)
		if err != nil {
			return nil, err
		}
		if fits["allowed"] == true {
			answer["fits"] = level
			break
		}
	}
	return answer, nil
}

func (s *Server) verdict(pod *corev1.Pod, level, version string) (protocol.Answer, error) {
	parsedLevel, err := api.ParseLevel(level)
	if err != nil {
		return nil, err
	}
	parsedVersion, err := api.ParseVersion(version)
	if err != nil {
		return nil, err
	}
	wanted := api.LevelVersion{Level: parsedLevel, Version: parsedVersion}
	s.found = []string{}
	result := policy.AggregateCheckResults(s.EvaluatePod(wanted, &pod.ObjectMeta, &pod.Spec))
	message := ""
	if !result.Allowed {
		message = fmt.Sprintf("violates PodSecurity %q: %s", wanted.String(), result.ForbiddenDetail())
	}
	return protocol.Answer{
		"allowed": result.Allowed,
		"reason":  result.ForbiddenReason(),
		"detail":  result.ForbiddenDetail(),
		"message": message,
		"checks":  s.found,
	}, nil
}

// EvaluatePod makes the server the evaluator of the admission plugin.
func (s *Server) EvaluatePod(wanted api.LevelVersion, metadata *metav1.ObjectMeta, spec *corev1.PodSpec) []policy.CheckResult {
	if s.Misread != nil {
		metadata, spec = metadata.DeepCopy(), spec.DeepCopy()
		s.Misread(metadata, spec)
	}
	return s.evaluator.EvaluatePod(wanted, metadata, spec)
}

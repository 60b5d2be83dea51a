// Package protocol has the questions of `bailiwick ask` that are about Pod Security.
package protocol

import (
	"encoding/json"
	"reflect"
)

// Question is one of its fields.
type Question struct {
	PodSecurity     *PodSecurity     `json:"pod-security,omitempty"`
	PodAdmission    *PodAdmission    `json:"pod-admission,omitempty"`
	NamespacePolicy *NamespacePolicy `json:"namespace-policy,omitempty"`
}

// PodSecurity asks what the checks have against a pod: those of a level and a version, or of each of some policies.
type PodSecurity struct {
	Pod      json.RawMessage `json:"pod"`
	Level    string          `json:"level,omitempty"`
	Version  string          `json:"version,omitempty"`
	Policies []string        `json:"policies,omitempty"`
}

// PodAdmission asks what admission answers to who creates an object.
type PodAdmission struct {
	Object     json.RawMessage   `json:"object"`
	User       string            `json:"user,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Defaults   map[string]string `json:"defaults,omitempty"`
	Exemptions *Exemptions       `json:"exemptions,omitempty"`
}

// Exemptions are whom Pod Security does not concern.
type Exemptions struct {
	Usernames      []string `json:"usernames,omitempty"`
	Namespaces     []string `json:"namespaces,omitempty"`
	RuntimeClasses []string `json:"runtimeClasses,omitempty"`
}

// NamespacePolicy asks what labels mean. Without old labels the namespace is a new one.
type NamespacePolicy struct {
	Labels   map[string]string  `json:"labels,omitempty"`
	Old      *map[string]string `json:"old,omitempty"`
	Defaults map[string]string  `json:"defaults,omitempty"`
}

// Kind names the question.
func (q *Question) Kind() string {
	switch {
	case q.PodSecurity != nil:
		return "pod-security"
	case q.PodAdmission != nil:
		return "pod-admission"
	case q.NamespacePolicy != nil:
		return "namespace-policy"
	}
	return "empty"
}

// Answer is what comes back, as a tree.
type Answer map[string]any

// Tree gives an answer the types that reading it from JSON gives it.
func Tree(answer Answer) (Answer, error) {
	line, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	read := Answer{}
	return read, json.Unmarshal(line, &read)
}

// Same tells whether two answers say the same.
func Same(one, other Answer) bool { return reflect.DeepEqual(one, other) }

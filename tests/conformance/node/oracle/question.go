package main

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// question is what is asked about one cluster.
type question struct {
	Version    string            `json:"version"`
	Gates      map[string]bool   `json:"gates,omitempty"`
	OpenShift  bool              `json:"openshift"`
	Objects    []json.RawMessage `json:"objects"`
	Requests   []request         `json:"requests"`
	Admission  []review          `json:"admission"`
	Validation []pair            `json:"validation"`
}

// request is what an authorizer is asked.
type request struct {
	User          string   `json:"user"`
	Groups        []string `json:"groups,omitempty"`
	Verb          string   `json:"verb"`
	APIGroup      string   `json:"apiGroup"`
	Resource      string   `json:"resource,omitempty"`
	Subresource   string   `json:"subresource,omitempty"`
	Namespace     string   `json:"namespace,omitempty"`
	Name          string   `json:"name,omitempty"`
	FieldSelector string   `json:"fieldSelector,omitempty"`
	Path          string   `json:"path,omitempty"`
}

// review is what admission is asked.
type review struct {
	User             string          `json:"user"`
	Groups           []string        `json:"groups,omitempty"`
	Operation        string          `json:"operation"`
	APIGroup         string          `json:"apiGroup"`
	Version          string          `json:"version"`
	Resource         string          `json:"resource"`
	Subresource      string          `json:"subresource,omitempty"`
	Kind             string          `json:"kind"`
	Namespace        string          `json:"namespace,omitempty"`
	Name             string          `json:"name,omitempty"`
	Object           json.RawMessage `json:"object,omitempty"`
	OldObject        json.RawMessage `json:"oldObject,omitempty"`
	AudiencesAllowed []string        `json:"audiencesAllowed,omitempty"`
	SignersAllowed   []string        `json:"signersAllowed,omitempty"`
	Authz            string          `json:"authz,omitempty"`
}

// pair is an object that is validated, against an older one if it is an update.
type pair struct {
	Object    json.RawMessage `json:"object"`
	OldObject json.RawMessage `json:"oldObject,omitempty"`
}

func (q *question) decide() (interface{}, error) {
	if err := setGates(q.Gates); err != nil {
		return nil, err
	}
	stored, err := q.stored()
	if err != nil {
		return nil, err
	}
	requests, err := q.authorize(stored)
	if err != nil {
		return nil, err
	}
	admission, err := q.admit(stored)
	if err != nil {
		return nil, err
	}
	validation, err := q.validate()
	if err != nil {
		return nil, err
	}
	return object{"requests": requests, "admission": admission, "validation": validation}, nil
}

// stored are the objects in the versions in which they are watched.
func (q *question) stored() ([]runtime.Object, error) {
	var stored []runtime.Object
	for _, raw := range q.Objects {
		internal, err := decode(raw)
		if err != nil {
			return nil, err
		}
		external, err := served(internal)
		if err != nil {
			return nil, err
		}
		stored = append(stored, external)
	}
	return stored, nil
}

// decode reads an object as the API server reads what is sent to it: with defaults, in the version of its own code.
func decode(raw []byte) (runtime.Object, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	internal, _, err := legacyscheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", raw, err)
	}
	return internal, nil
}

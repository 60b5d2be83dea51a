package main

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func main() {
	serve(map[string]answerer{"stack": answerStack, "namespace-personas": answerPersonas, "truncate": answerTruncate, "gate": answerGate})
}

func answerPersonas(body []byte) (interface{}, error) {
	var asked struct {
		Namespaces []struct {
			Name   string
			Labels map[string]string
		}
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	all := []interface{}{}
	for _, entry := range asked.Namespaces {
		namespace := &corev1.Namespace{}
		namespace.SetName(entry.Name)
		namespace.SetLabels(entry.Labels)
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		for _, role := range personas(namespace) {
			setKind(role)
			all = append(all, role)
		}
	}
	return object{"objects": all}, nil
}

func answerTruncate(body []byte) (interface{}, error) {
	var asked struct {
		In          string
		Len         int
		MultiParent []string
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	if len(asked.MultiParent) == 2 {
		parent := &corev1.Pod{}
		parent.SetNamespace(asked.MultiParent[0])
		parent.SetName(asked.MultiParent[1])
		return object{"out": multiParent(parent)}, nil
	}
	out, err := cut(asked.In, asked.Len)
	return object{"out": out}, err
}

func answerGate(body []byte) (interface{}, error) {
	var asked struct{ Rule rbacv1.PolicyRule }
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	return object{"allowed": permitted(asked.Rule)}, nil
}

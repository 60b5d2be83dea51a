// Package compare puts random questions to Crossplane's own code and to another process, and shows where they differ.
package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/crossplane/internal/cases"
)

// releases are the programs with Crossplane's own code, by the release that they were made from.
var releases = []string{"v0.3", "v0.9", "v0.11", "v1.14", "v2.3"}

// Oracles answer with Crossplane's own code.
type Oracles struct {
	sessions map[string]*ask.Session
	// known are the answers to questions that were asked before, when they are to be kept.
	known map[string][]byte
}

// errBroken is an oracle that cannot say what Crossplane does, such as for a question that is none.
var errBroken = errors.New("the oracle cannot answer")

// Start runs all oracles, which lie in one folder.
func Start(folder string) (*Oracles, error) {
	oracles := &Oracles{sessions: map[string]*ask.Session{}}
	for _, release := range releases {
		session, err := ask.Start(filepath.Join(folder, release))
		if err != nil {
			return nil, err
		}
		oracles.sessions[release] = session
	}
	return oracles, nil
}

// Keep makes the oracles remember their answers, for who asks the same again and again.
func (o *Oracles) Keep() { o.known = map[string][]byte{} }

// Ask lets the release answer that the question is about.
func (o *Oracles) Ask(kind string, body any) (map[string]any, error) {
	if o.known == nil {
		return o.ask(kind, body)
	}
	question, err := ask.Line(cases.Object{kind: body})
	if err != nil {
		return nil, err
	}
	kept, isKept := o.known[string(question)]
	if !isKept {
		answer, err := o.ask(kind, body)
		if err != nil {
			return nil, err
		}
		if kept, err = json.Marshal(answer); err != nil {
			return nil, err
		}
		o.known[string(question)] = kept
	}
	// Not the same answer again, because whoever got it may change it.
	answer := map[string]any{}
	return answer, json.Unmarshal(kept, &answer)
}

func (o *Oracles) ask(kind string, body any) (map[string]any, error) {
	question := body.(cases.Object)
	answer, err := o.put(release(kind, question), kind, question)
	if err != nil || kind != "stack" {
		return answer, err
	}
	switch question["revision"] {
	case "1.0":
		// The gate is younger, and we want it for all.
		younger, err := o.put("v0.9", kind, question)
		if err != nil {
			return nil, err
		}
		if gated, ok := younger["gated"]; ok && answer["refused"] == nil {
			answer["gated"] = gated
		}
	case "1.1":
		answer["objects"] = older(answer["objects"])
	}
	return answer, nil
}

// put asks one release.
func (o *Oracles) put(release, kind string, question cases.Object) (map[string]any, error) {
	answer := map[string]any{}
	if err := o.sessions[release].Ask(kind, question, &answer); err != nil {
		return nil, err
	}
	if problem, ok := answer["broken"]; ok {
		return nil, fmt.Errorf("%w: %v", errBroken, problem)
	}
	return answer, nil
}

// release is who knows. The releases with revision 1.1 are not to be had as modules; what v0.9 unpacks has the same rules.
func release(kind string, body cases.Object) string {
	revision, _ := body["revision"].(string)
	switch kind {
	case "provider", "composite":
		return strings.TrimPrefix(revision, "rbac-manager-")
	case "permission-request":
		return "v1.14"
	case "provider-family":
		// Since v2 no default registry can be chosen.
		if _, isChosen := body["defaultRegistry"]; isChosen {
			return "v1.14"
		}
		return "v2.3"
	}
	switch {
	case kind == "stack" && revision == "1.0":
		return "v0.3"
	case kind == "stack" && revision == "v0.11":
		return "v0.11"
	}
	return "v0.9"
}

// older are the objects that the rules of a stack became before v0.6, which are those of v0.3: an account, a role of its
// name and a binding.
func older(objects any) any {
	list, _ := objects.([]any)
	if len(list) < 3 {
		return objects
	}
	account, role, binding := list[0].(cases.Object), list[1].(cases.Object), list[2].(cases.Object)
	own := account["metadata"].(cases.Object)
	kind, metadata := "Role", cases.Object{"name": own["name"], "namespace": own["namespace"]}
	if binding["kind"] == "ClusterRoleBinding" {
		kind, metadata = "ClusterRole", cases.Object{"name": own["name"]}
	}
	return []any{
		account,
		cases.Object{"apiVersion": role["apiVersion"], "kind": kind, "metadata": metadata, "rules": role["rules"]},
		cases.Object{
			"apiVersion": binding["apiVersion"], "kind": binding["kind"], "metadata": metadata, "subjects": binding["subjects"],
			"roleRef": cases.Object{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": own["name"]},
		},
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// listed is an object of a list of the report.
type listed struct {
	Object string `json:"object"`
	Reason string `json:"reason"`
}

// target is a target of the report of an import.
type target struct {
	Read        int               `json:"read"`
	AboutAccess int               `json:"aboutAccess"`
	Equal       int               `json:"equal"`
	EqualAccess []listed          `json:"equalAccess"`
	Different   []listed          `json:"different"`
	Manifests   []listed          `json:"manifests"`
	Refused     []listed          `json:"refused"`
	Omitted     []listed          `json:"omitted"`
	Homes       map[string]string `json:"homes"`
	Policies    int               `json:"policies"`
	Lines       int               `json:"lines"`
	Access      struct {
		None bool `json:"none"`
	} `json:"access"`
}

// accessKinds has the kinds that policies other than Manifests have to state.
var accessKinds = map[string]bool{
	"ClusterRole": true, "ClusterRoleBinding": true, "LimitRange": true, "Namespace": true, "ResourceQuota": true,
	"Role": true, "RoleBinding": true, "ServiceAccount": true,
}

func readReport(path string) (target, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return target{}, err
	}
	var report struct {
		Targets []target `json:"targets"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return target{}, fmt.Errorf("%s: %w", path, err)
	}
	if len(report.Targets) != 1 {
		return target{}, fmt.Errorf("%s: %d targets, not 1", path, len(report.Targets))
	}
	return report.Targets[0], nil
}

// equalInAccess returns the objects whose rules or subjects may stand in another order.
func (t target) equalInAccess() map[string]bool {
	found := map[string]bool{}
	for _, one := range t.EqualAccess {
		found[one.Object] = true
	}
	return found
}

// differences compares the report with the objects of the input.
func (t target) differences(objects []object) []string {
	var differences []string
	differ := func(format string, values ...any) { differences = append(differences, fmt.Sprintf(format, values...)) }
	for name, list := range map[string][]listed{"different": t.Different, "refused": t.Refused, "omitted": t.Omitted} {
		for _, one := range list {
			differ("%s is in the list `%s`: %s", one.Object, name, one.Reason)
		}
	}
	if t.Equal+len(t.EqualAccess) != t.Read {
		differ("%d objects are equal and %d equal in access, of %d", t.Equal, len(t.EqualAccess), t.Read)
	}
	if !t.Access.None {
		differ("the access of subjects differs")
	}
	about := 0
	kinds, reported := map[string]int{}, map[string]int{}
	for _, found := range objects {
		kinds[found.text("kind")]++
		if isAboutAccess(found) {
			about++
		}
	}
	for identity := range t.Homes {
		kind, _, _ := strings.Cut(identity, "/")
		reported[kind]++
	}
	differences = append(differences, counts(kinds, reported)...)
	if len(objects) != t.Read || about != t.AboutAccess {
		differ("%d objects were read, %d of them about access; the report has %d and %d", len(objects), about, t.Read, t.AboutAccess)
	}
	return append(differences, t.homeDifferences(objects)...)
}

// counts compares the numbers of objects of each kind.
func counts(kinds, reported map[string]int) []string {
	var differences []string
	for kind := range reported {
		kinds[kind] += 0
	}
	for kind, number := range kinds {
		if number != reported[kind] {
			differences = append(differences, fmt.Sprintf("%d objects of the kind %s; the report has %d", number, kind, reported[kind]))
		}
	}
	return differences
}

// homeDifferences checks the policy of each object: Manifests only with a reason in the list.
func (t target) homeDifferences(objects []object) []string {
	left := map[string]bool{}
	for _, one := range t.Manifests {
		left[one.Object] = one.Reason != ""
	}
	var differences []string
	for _, found := range objects {
		home, key := t.Homes[found.key()], found.key()
		switch isManifests := strings.HasPrefix(home, "Manifests/"); {
		case home == "":
			differences = append(differences, key+" has no policy")
		case isManifests != left[key]:
			differences = append(differences, fmt.Sprintf("%s is in %s; in the list of Manifests: %t", key, home, left[key]))
		}
	}
	return differences
}

// isAboutAccess tells objects of RBAC, namespaces and accounts from others.
func isAboutAccess(o object) bool {
	group := groupOf(o.text("apiVersion"))
	return (group == "" || group == "rbac.authorization.k8s.io") && accessKinds[o.text("kind")]
}

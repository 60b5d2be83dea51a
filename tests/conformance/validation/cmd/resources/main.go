// Command resources adds the API resources of a release of Kubernetes to the table of all minors.
//
//	go run ./validation/cmd/resources ../../crates/bailiwick-kubernetes/src/facts/api-resources.json 1.38.0
//	go run ./validation/cmd/resources --check ../../crates/bailiwick-kubernetes/src/facts/api-resources.json 1.36.3 1.37.2
//
// The resources are those of the discovery documents of the release (`api/discovery` of k8s.io/kubernetes, since 1.32), and a version is
// on by default if it is stable (`pkg/controlplane/instance.go`). A resource that did not change only gets a longer stretch of minors.
// A minor that the table has already leaves the file as it is. With `--check` each release is added to the table without it and all
// later ones, and has to make the table as it is: of the newest release byte for byte, of an earlier one without the later ones.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	arguments := os.Args[1:]
	check := len(arguments) > 0 && arguments[0] == "--check"
	if check {
		arguments = arguments[1:]
	}
	if len(arguments) < 2 || !check && len(arguments) > 2 {
		fmt.Fprintln(os.Stderr, "usage: resources TABLE RELEASE, or resources --check TABLE RELEASE...")
		os.Exit(2)
	}
	err := update(arguments[0], arguments[1])
	if check {
		err = checkAll(arguments[0], arguments[1:])
	}
	var difference *differenceError
	switch {
	case errors.As(err, &difference):
		fmt.Println(err)
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "resources:", err)
		os.Exit(3)
	}
}

// differenceError is a table that comes out in another way.
type differenceError struct {
	minor        int
	made, wanted []byte
}

func (d *differenceError) Error() string {
	left, right := strings.Split(string(d.made), "\n"), strings.Split(string(d.wanted), "\n")
	for index := range min(len(left), len(right)) {
		if left[index] != right[index] {
			return fmt.Sprintf("1.%d makes another table:\n  made   %s\n  wanted %s", d.minor, left[index], right[index])
		}
	}
	return fmt.Sprintf("1.%d makes another table: %d lines and not %d", d.minor, len(left), len(right))
}

func update(path, release string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	known, rest, err := parse(text)
	if err != nil {
		return err
	}
	minor, found, err := discover(release)
	if err != nil || minor <= known.LastMinor {
		return err
	}
	if minor != known.LastMinor+1 {
		return fmt.Errorf("the table ends at 1.%d: add the release after it first", known.LastMinor)
	}
	known.add(minor, found)
	return os.WriteFile(path, slices.Concat(known.write(), rest), 0o644)
}

func checkAll(path string, releases []string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, release := range releases {
		minor, found, err := discover(release)
		if err != nil {
			return err
		}
		before, rest, err := parse(text)
		if err != nil {
			return err
		}
		expected, _, err := parse(text)
		if err != nil {
			return err
		}
		isNewest := minor == before.LastMinor
		before.cut(minor - 1)
		before.add(minor, found)
		if made := slices.Concat(before.write(), rest); isNewest && !bytes.Equal(made, text) {
			return &differenceError{minor, made, text}
		}
		expected.cut(minor)
		if made, wanted := before.write(), expected.write(); !bytes.Equal(made, wanted) {
			return &differenceError{minor, made, wanted}
		}
		fmt.Printf("1.%d: the table comes out of the table of 1.%d and the discovery documents of %s\n", minor, minor-1, release)
	}
	return nil
}

// stretch is a first and a last minor; no last means the last minor of the table.
type stretch [2]*int

type table struct {
	LastMinor int        `json:"lastMinor"`
	Resources []resource `json:"resources"`
}

type resource struct {
	Group      string    `json:"group"`
	Resource   string    `json:"resource"`
	Kind       string    `json:"kind"`
	Namespaced bool      `json:"namespaced"`
	Singular   string    `json:"singular"`
	ShortNames []string  `json:"shortNames"`
	Categories []string  `json:"categories"`
	Versions   []version `json:"versions"`
}

type version struct {
	Version      string        `json:"version"`
	In           []stretch     `json:"in"`
	Default      *[]stretch    `json:"default"`
	Verbs        []string      `json:"verbs"`
	VerbsBy      []dated       `json:"verbsBy"`
	Subresources []subresource `json:"subresources"`
}

type dated struct {
	In    []stretch `json:"in"`
	Verbs []string  `json:"verbs"`
}

type subresource struct {
	Name  string    `json:"name"`
	Verbs []string  `json:"verbs"`
	In    []stretch `json:"in"`
}

// parse reads the resources of the table, and returns the text behind them.
func parse(text []byte) (*table, []byte, error) {
	known := &table{}
	if err := json.Unmarshal(text, known); err != nil {
		return nil, nil, err
	}
	end := bytes.Index(text, []byte("\n],\n\"equivalents\""))
	if end < 0 {
		return nil, nil, fmt.Errorf("the table has no equivalents behind its resources")
	}
	return known, text[end:], nil
}

// add adds what a release serves. The release is that of the minor behind the last one.
func (t *table) add(minor int, found []resource) {
	t.LastMinor = minor
	for _, one := range found {
		place := slices.IndexFunc(t.Resources, func(known resource) bool { return known.Group == one.Group && known.Resource == one.Resource })
		if place < 0 {
			t.Resources = append(t.Resources, resource{Group: one.Group, Resource: one.Resource})
			place = len(t.Resources) - 1
		}
		known := &t.Resources[place]
		known.Kind, known.Namespaced, known.Singular, known.ShortNames, known.Categories = one.Kind, one.Namespaced, one.Singular, one.ShortNames, one.Categories
		for _, served := range one.Versions {
			known.serve(minor, served)
		}
	}
	for index := range t.Resources {
		known := &t.Resources[index]
		for place := range known.Versions {
			one := &known.Versions[place]
			isServed := slices.ContainsFunc(found, func(served resource) bool {
				return served.Group == known.Group && served.Resource == known.Resource &&
					slices.ContainsFunc(served.Versions, func(version version) bool { return version.Version == one.Version })
			})
			if !isServed {
				one.close(minor - 1)
			}
		}
	}
	slices.SortStableFunc(t.Resources, func(a, b resource) int {
		if order := strings.Compare(a.Group, b.Group); order != 0 {
			return order
		}
		return strings.Compare(a.Resource, b.Resource)
	})
}

// serve adds a version of a resource that is served at a minor.
func (r *resource) serve(minor int, served version) {
	place := slices.IndexFunc(r.Versions, func(known version) bool { return known.Version == served.Version })
	if place < 0 {
		served.In = []stretch{{&minor}}
		if !isStable(served.Version) {
			served.Default = &[]stretch{}
		}
		r.Versions = append(r.Versions, served)
		slices.SortStableFunc(r.Versions, func(a, b version) int { return compareVersions(b.Version, a.Version) })
		return
	}
	known := &r.Versions[place]
	known.In = open(known.In, minor)
	switch {
	case len(known.VerbsBy) > 0 && !slices.Equal(known.VerbsBy[len(known.VerbsBy)-1].Verbs, served.Verbs):
		closeAll(known.VerbsBy[len(known.VerbsBy)-1].In, minor-1)
		known.VerbsBy = append(known.VerbsBy, dated{[]stretch{{&minor}}, served.Verbs})
	case len(known.VerbsBy) == 0 && !slices.Equal(known.Verbs, served.Verbs):
		before := slices.Clone(known.In)
		closeAll(before, minor-1)
		known.VerbsBy = []dated{{before, known.Verbs}, {[]stretch{{&minor}}, served.Verbs}}
		known.Verbs = nil
	}
	for index := range known.Subresources {
		one := &known.Subresources[index]
		isServed := slices.ContainsFunc(served.Subresources, func(served subresource) bool { return served.Name == one.Name })
		switch {
		case !isServed && one.In == nil:
			one.In = slices.Clone(known.In)
			closeAll(one.In, minor-1)
		case !isServed:
			closeAll(one.In, minor-1)
		case one.In != nil:
			one.In = open(one.In, minor)
		}
	}
	for _, one := range served.Subresources {
		known.serveSubresource(minor, one)
	}
}

func (v *version) serveSubresource(minor int, served subresource) {
	place := slices.IndexFunc(v.Subresources, func(known subresource) bool { return known.Name == served.Name })
	if place >= 0 {
		// The table has one list of verbs of a subresource: the newest.
		v.Subresources[place].Verbs = served.Verbs
		return
	}
	served.In = []stretch{{&minor}}
	v.Subresources = append(v.Subresources, served)
	slices.SortStableFunc(v.Subresources, func(a, b subresource) int { return strings.Compare(a.Name, b.Name) })
}

func (v *version) close(last int) {
	closeAll(v.In, last)
	if v.Default != nil {
		closeAll(*v.Default, last)
	}
	for _, one := range v.VerbsBy {
		closeAll(one.In, last)
	}
	for _, one := range v.Subresources {
		closeAll(one.In, last)
	}
}

// open makes the last stretch reach to a minor.
func open(stretches []stretch, minor int) []stretch {
	if len(stretches) > 0 && stretches[len(stretches)-1][1] == nil {
		return stretches
	}
	return append(stretches, stretch{&minor})
}

// closeAll ends the last stretch, if it has no end.
func closeAll(stretches []stretch, last int) {
	if len(stretches) > 0 && stretches[len(stretches)-1][1] == nil {
		stretches[len(stretches)-1][1] = &last
	}
}

// cut leaves out everything behind a minor.
func (t *table) cut(last int) {
	cut := func(stretches []stretch) []stretch {
		var kept []stretch
		for _, one := range stretches {
			if *one[0] <= last {
				if one[1] != nil && *one[1] >= last {
					one[1] = nil
				}
				kept = append(kept, one)
			}
		}
		return kept
	}
	t.LastMinor = last
	for index := range t.Resources {
		one := &t.Resources[index]
		for place := range one.Versions {
			version := &one.Versions[place]
			version.In = cut(version.In)
			if version.Default != nil {
				kept := cut(*version.Default)
				version.Default = &kept
			}
			for number := range version.VerbsBy {
				version.VerbsBy[number].In = cut(version.VerbsBy[number].In)
			}
			version.VerbsBy = slices.DeleteFunc(version.VerbsBy, func(one dated) bool { return len(one.In) == 0 })
			version.Subresources = slices.DeleteFunc(version.Subresources, func(one subresource) bool { return one.In != nil && len(cut(one.In)) == 0 })
			for number := range version.Subresources {
				version.Subresources[number].In = cut(version.Subresources[number].In)
			}
		}
		one.Versions = slices.DeleteFunc(one.Versions, func(one version) bool { return len(one.In) == 0 })
	}
	t.Resources = slices.DeleteFunc(t.Resources, func(one resource) bool { return len(one.Versions) == 0 })
}

func isStable(version string) bool {
	return !strings.Contains(version, "alpha") && !strings.Contains(version, "beta")
}

// compareVersions puts v1 before v2, and v1alpha1 before v1beta1 before v1.
func compareVersions(a, b string) int {
	if stable, other := isStable(a), isStable(b); stable != other {
		if stable {
			return 1
		}
		return -1
	}
	number := func(version string) int {
		found, _ := strconv.Atoi(strings.TrimLeft(version, "v"))
		return found
	}
	if isStable(a) {
		return number(a) - number(b)
	}
	// The name of a stage sorts as the stage does.
	stage := func(version string) string { return strings.TrimLeft(strings.TrimLeft(version, "v"), "0123456789") }
	if order := strings.Compare(strings.TrimRight(stage(a), "0123456789"), strings.TrimRight(stage(b), "0123456789")); order != 0 {
		return order
	}
	return strings.Compare(a, b)
}

// discover reads what a release serves.
func discover(release string) (int, []resource, error) {
	parts := strings.Split(release, ".")
	if len(parts) != 3 {
		return 0, nil, fmt.Errorf("`%s` is no release such as 1.37.2", release)
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, nil, err
	}
	command := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@v"+release)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return 0, nil, err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		return 0, nil, err
	}
	found, err := readCore(filepath.Join(module.Dir, "api", "discovery", "api__v1.json"))
	if err != nil {
		return 0, nil, err
	}
	groups, err := readGroups(filepath.Join(module.Dir, "api", "discovery", "aggregated_v2.json"))
	return minor, append(found, groups...), err
}

func readCore(path string) ([]resource, error) {
	var list struct {
		Resources []struct {
			Name, SingularName, Kind      string
			Namespaced                    bool
			Verbs, ShortNames, Categories []string
		}
	}
	if err := readJSON(path, &list); err != nil {
		return nil, err
	}
	var found []resource
	for _, one := range list.Resources {
		name, sub, isSub := strings.Cut(one.Name, "/")
		if isSub {
			owner := slices.IndexFunc(found, func(known resource) bool { return known.Resource == name })
			if owner < 0 {
				return nil, fmt.Errorf("%s comes before its resource", one.Name)
			}
			found[owner].Versions[0].Subresources = append(found[owner].Versions[0].Subresources, subresource{Name: sub, Verbs: sorted(one.Verbs)})
			continue
		}
		found = append(found, resource{
			Resource: name, Kind: one.Kind, Namespaced: one.Namespaced, Singular: one.SingularName, ShortNames: one.ShortNames,
			Categories: one.Categories, Versions: []version{{Version: "v1", Verbs: sorted(one.Verbs)}},
		})
	}
	return found, nil
}

func readGroups(path string) ([]resource, error) {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct {
				Version   string
				Resources []struct {
					Resource, SingularResource, Scope string
					ResponseKind                      struct{ Kind string }
					Verbs, ShortNames, Categories     []string
					Subresources                      []struct {
						Subresource string
						Verbs       []string
					}
				}
			}
		}
	}
	if err := readJSON(path, &list); err != nil {
		return nil, err
	}
	var found []resource
	for _, group := range list.Items {
		for _, served := range group.Versions {
			for _, one := range served.Resources {
				made := version{Version: served.Version, Verbs: sorted(one.Verbs)}
				for _, sub := range one.Subresources {
					made.Subresources = append(made.Subresources, subresource{Name: sub.Subresource, Verbs: sorted(sub.Verbs)})
				}
				owner := slices.IndexFunc(found, func(known resource) bool {
					return known.Group == group.Metadata.Name && known.Resource == one.Resource
				})
				if owner < 0 {
					found = append(found, resource{
						Group: group.Metadata.Name, Resource: one.Resource, Kind: one.ResponseKind.Kind, Namespaced: one.Scope == "Namespaced",
						Singular: one.SingularResource, ShortNames: one.ShortNames, Categories: one.Categories,
					})
					owner = len(found) - 1
				}
				found[owner].Versions = append(found[owner].Versions, made)
			}
		}
	}
	return found, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func sorted(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	return words
}

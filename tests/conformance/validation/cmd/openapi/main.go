// Command openapi writes src/k8s/facts/openapi.txt: the fields of every built-in kind, for each minor of Kubernetes.
//
//	go run ./cmd/openapi 1.16.15 1.17.17 ... 1.37.2 > ../../../src/k8s/facts/openapi.txt
//
// It reads api/openapi-spec/swagger.json of each release of k8s.io/kubernetes, which the go command downloads. A new
// minor is one argument more. The form of the file is described at the top of src/k8s/openapi.rs.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// schema is the part of an OpenAPI 2 schema that Kubernetes uses.
type schema struct {
	Type                 string             `json:"type"`
	Format               string             `json:"format"`
	Ref                  string             `json:"$ref"`
	Items                *schema            `json:"items"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	Properties           map[string]*schema `json:"properties"`
	Kinds                []kind             `json:"x-kubernetes-group-version-kind"`
}

type kind struct {
	Group, Version, Kind string
}

// minors is a set of minors: bit N stands for 1.N.
type minors uint64

func (set minors) has(minor int) bool { return set&(1<<minor) != 0 }

// table holds the minors of each type, of the form of each field, and of the type of each kind.
type table struct {
	types  map[string]minors
	fields map[string]map[[2]string]minors
	kinds  map[[2]string]map[string]minors
	all    []int
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(2)
	}
}

func run(releases []string) error {
	if len(releases) == 0 {
		return fmt.Errorf("name the releases, such as 1.36.3 1.37.2")
	}
	found := table{types: map[string]minors{}, fields: map[string]map[[2]string]minors{}, kinds: map[[2]string]map[string]minors{}}
	for _, release := range releases {
		parts := strings.Split(release, ".")
		if len(parts) != 3 {
			return fmt.Errorf("%s is not a release such as 1.37.2", release)
		}
		minor, err := strconv.Atoi(parts[1])
		if err != nil {
			return err
		}
		definitions, err := read(release)
		if err != nil {
			return fmt.Errorf("%s: %w", release, err)
		}
		found.all = append(found.all, minor)
		found.add(minor, definitions)
	}
	return found.write(releases)
}

// read returns the definitions of a release's OpenAPI document.
func read(release string) (map[string]*schema, error) {
	command := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@v"+release)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "api", "openapi-spec", "swagger.json"))
	if err != nil {
		return nil, err
	}
	var document struct {
		Definitions map[string]*schema `json:"definitions"`
	}
	return document.Definitions, json.Unmarshal(text, &document)
}

// add takes the kinds that a client creates, and every type that they lead to.
func (found *table) add(minor int, definitions map[string]*schema) {
	bit := minors(1) << minor
	var visit func(name string)
	visit = func(name string) {
		short := shorten(name)
		if found.types[short].has(minor) {
			return
		}
		found.types[short] |= bit
		if found.fields[short] == nil {
			found.fields[short] = map[[2]string]minors{}
		}
		for field, value := range definitions[name].Properties {
			found.fields[short][[2]string{field, form(value, visit)}] |= bit
		}
	}
	for name, definition := range definitions {
		metadata := definition.Properties["metadata"]
		if metadata == nil || !strings.HasSuffix(metadata.Ref, ".ObjectMeta") {
			continue
		}
		for _, known := range definition.Kinds {
			version := known.Version
			if known.Group != "" {
				version = known.Group + "/" + known.Version
			}
			key := [2]string{version, known.Kind}
			if found.kinds[key] == nil {
				found.kinds[key] = map[string]minors{}
			}
			found.kinds[key][shorten(name)] |= bit
			visit(name)
		}
	}
}

// scalars are the types that Kubernetes reads by code of their own.
var scalars = map[string]string{
	"io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
	"io.k8s.apimachinery.pkg.api.resource.Quantity":   "quantity",
	"io.k8s.apimachinery.pkg.apis.meta.v1.Time":       "time",
	"io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime":  "micro-time",
	"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1":   "any",
	"io.k8s.apimachinery.pkg.runtime.RawExtension":    "any",
	"JSON":                         "any",
	"JSONSchemaPropsOrArray":       "schema-or-list",
	"JSONSchemaPropsOrBool":        "schema-or-bool",
	"JSONSchemaPropsOrStringArray": "schema-or-strings",
}

// form writes the type of a value.
func form(value *schema, visit func(string)) string {
	if value.Ref != "" {
		name := strings.TrimPrefix(value.Ref, "#/definitions/")
		last := name[strings.LastIndex(name, ".")+1:]
		if scalar := scalars[name]; scalar != "" {
			return scalar
		}
		if scalar := scalars[last]; scalar != "" && strings.HasPrefix(name, "io.k8s.apiextensions-apiserver.") {
			return scalar
		}
		visit(name)
		return shorten(name)
	}
	switch {
	case value.Type == "array" && value.Items != nil:
		return "[]" + form(value.Items, visit)
	case value.Type == "object" && value.AdditionalProperties != nil:
		return "{}" + form(value.AdditionalProperties, visit)
	case value.Type == "string" && value.Format == "byte":
		return "bytes"
	case value.Type == "integer" && value.Format == "int32", value.Type == "integer" && value.Format == "int64":
		return value.Format
	case value.Type == "string" && value.Format == "", value.Type == "number", value.Type == "boolean":
		return value.Type
	}
	panic(fmt.Sprintf("a form that this program does not know: %+v", *value))
}

// shorten leaves out what the names of all definitions have in common.
func shorten(name string) string {
	for _, prefix := range []string{
		"io.k8s.apiextensions-apiserver.pkg.apis.", "io.k8s.kube-aggregator.pkg.apis.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.api.",
	} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}

func (found *table) write(releases []string) error {
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(out, "# Made by tests/conformance/validation/cmd/openapi from Kubernetes %s.\n", strings.Join(releases, " "))
	every := minors(0)
	for _, minor := range found.all {
		every |= 1 << minor
	}
	for _, key := range sorted(found.kinds, less) {
		for _, name := range sorted(found.kinds[key], func(a, b string) bool { return a < b }) {
			fmt.Fprintf(out, "= %s %s %s%s\n", key[0], key[1], name, found.ranges(found.kinds[key][name], every))
		}
	}
	for _, name := range sorted(found.types, func(a, b string) bool { return a < b }) {
		fmt.Fprintln(out, name)
		for _, field := range sorted(found.fields[name], less) {
			fmt.Fprintf(out, " %s %s%s\n", field[0], field[1], found.ranges(found.fields[name][field], found.types[name]))
		}
	}
	return out.Flush()
}

// ranges writes the minors of a set, such as ` 16-21,25-`; nothing where they are all of a whole.
func (found *table) ranges(set, whole minors) string {
	if set == whole {
		return ""
	}
	var text []string
	last := found.all[len(found.all)-1]
	for minor := 0; minor <= last; minor++ {
		if !set.has(minor) {
			continue
		}
		first := minor
		for minor < last && set.has(minor+1) {
			minor++
		}
		if minor == last {
			text = append(text, fmt.Sprintf("%d-", first))
		} else {
			text = append(text, fmt.Sprintf("%d-%d", first, minor))
		}
	}
	return " " + strings.Join(text, ",")
}

func less(a, b [2]string) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

func sorted[K comparable, V any](entries map[K]V, less func(a, b K) bool) []K {
	keys := make([]K, 0, len(entries))
	for key := range entries {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return less(keys[i], keys[j]) })
	return keys
}

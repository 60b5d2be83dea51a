// Command openapi writes crates/bailiwick-kubernetes/src/facts/openapi.txt: the fields of every built-in kind, for each minor of Kubernetes.
//
//	go run ./validation/cmd/openapi 1.16.15 1.17.17 ... 1.37.2 > ../../crates/bailiwick-kubernetes/src/facts/openapi.txt
//
// It reads api/openapi-spec/swagger.json of each release of k8s.io/kubernetes, which the go command downloads, and from 1.24
// on the words that a text may be from pkg/generated/openapi: the document leaves them out. A new minor is one argument more. The form of the file is described at the top of crates/bailiwick-kubernetes/src/openapi.rs.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	Description          string             `json:"description"`
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
	// From the newest on: releases before 1.24 do not have the words, and take those of 1.24.
	var words map[place]string
	for _, release := range slices.Backward(releases) {
		parts := strings.Split(release, ".")
		if len(parts) != 3 {
			return fmt.Errorf("%s is not a release such as 1.37.2", release)
		}
		minor, err := strconv.Atoi(parts[1])
		if err != nil {
			return err
		}
		definitions, own, err := read(release)
		if err != nil {
			return fmt.Errorf("%s: %w", release, err)
		}
		if own != nil {
			words = own
		}
		found.all = append(found.all, minor)
		found.add(minor, definitions, words)
	}
	slices.Sort(found.all)
	return found.write(releases)
}

// read returns the definitions of a release's OpenAPI document, and the words of its fields.
func read(release string) (map[string]*schema, map[place]string, error) {
	command := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@v"+release)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, nil, err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "api", "openapi-spec", "swagger.json"))
	if err != nil {
		return nil, nil, err
	}
	var document struct {
		Definitions map[string]*schema `json:"definitions"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, nil, err
	}
	source, err := os.ReadFile(filepath.Join(module.Dir, "pkg", "generated", "openapi", "zz_generated.openapi.go"))
	if errors.Is(err, fs.ErrNotExist) {
		return document.Definitions, nil, nil
	}
	return document.Definitions, wordsOf(string(source)), err
}

// place is a field of a type.
type place struct{ typeName, field string }

var (
	generated = regexp.MustCompile(`^func schema_(?:k8sio_)?api_([a-z]+)_(v\d+(?:(?:alpha|beta)\d+)?)_(\w+)\(`)
	property  = regexp.MustCompile(`^\t{5}"(\w+)": \{`)
	// gated is a field that the server drops, whatever it holds, while its feature gate is off.
	gated  = regexp.MustCompile(`(?i)\balpha\b|feature ?(gate|flag)`)
	quoted = regexp.MustCompile(`"([^"]*)"`)
)

// wordsOf reads the words that a text may be from the generated definitions: `A|B`, or `[]A|B` for the items of a list.
func wordsOf(source string) map[place]string {
	found, at, items := map[place]string{}, place{}, ""
	for _, line := range strings.Split(source, "\n") {
		if parts := generated.FindStringSubmatch(line); parts != nil {
			at = place{typeName: parts[1] + "." + parts[2] + "." + parts[3]}
		} else if strings.HasPrefix(line, "func ") {
			at = place{}
		}
		if parts := property.FindStringSubmatch(line); parts != nil {
			at.field, items = parts[1], ""
		}
		if strings.Contains(line, "Items:") {
			items = "[]"
		}
		if _, list, ok := strings.Cut(line, "Enum: "); ok && at.typeName != "" {
			var words []string
			for _, word := range quoted.FindAllStringSubmatch(list, -1) {
				words = append(words, strings.ReplaceAll(word[1], " ", "%20"))
			}
			found[at] = items + "=" + strings.Join(words, "|")
		}
	}
	return found
}

// add takes the kinds that a client creates, and every type that they lead to.
func (found *table) add(minor int, definitions map[string]*schema, words map[place]string) {
	bit := minors(1) << minor
	open := openTypes(definitions)
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
			written := form(value, visit)
			known := words[place{short, field}]
			if known != "" && open[name] && (written == "string" || written == "[]string") && !isGated(name, field, value) {
				written = known
			}
			found.fields[short][[2]string{field, written}] |= bit
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

// isGated is whether the server drops a field while a feature gate is off.
func isGated(typeName, field string, value *schema) bool {
	// The description of this field does not name its gate, ImageVolume.
	return gated.MatchString(value.Description) || strings.HasSuffix(typeName, ".core.v1.Volume") && field == "image"
}

// openTypes are the types that a kind leads to by fields without a feature gate.
func openTypes(definitions map[string]*schema) map[string]bool {
	open := map[string]bool{}
	var visit func(name string)
	reach := func(value *schema) string {
		for value.Items != nil || value.AdditionalProperties != nil {
			if value.Items != nil {
				value = value.Items
			} else {
				value = value.AdditionalProperties
			}
		}
		return strings.TrimPrefix(value.Ref, "#/definitions/")
	}
	visit = func(name string) {
		if open[name] || definitions[name] == nil {
			return
		}
		open[name] = true
		for field, value := range definitions[name].Properties {
			if !isGated(name, field, value) {
				visit(reach(value))
			}
		}
	}
	for name, definition := range definitions {
		if len(definition.Kinds) > 0 {
			visit(name)
		}
	}
	return open
}

// scalars are the types that Kubernetes reads by code of their own.
var scalars = map[string]string{
	"io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
	"io.k8s.apimachinery.pkg.api.resource.Quantity":   "quantity",
	"io.k8s.apimachinery.pkg.apis.meta.v1.Time":       "time",
	"io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime":  "micro-time",
	"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1":   "object",
	"io.k8s.apimachinery.pkg.runtime.RawExtension":    "object",
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
		var fields strings.Builder
		for _, field := range sorted(found.fields[name], less) {
			fmt.Fprintf(&fields, " %s %s%s\n", field[0], field[1], found.ranges(found.fields[name][field], found.types[name]))
		}
		fmt.Fprintf(out, "%s %d\n%s", name, fields.Len(), fields.String())
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

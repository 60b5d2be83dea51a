// Package compare compares the answers of Bailiwick and of Kubernetes' own code about a manifest.
package compare

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Ours is Bailiwick's answer to the question `validate`.
type Ours struct {
	Accepted bool            `json:"accepted"`
	Checked  string          `json:"checked"`
	Errors   []OurError      `json:"errors"`
	Warnings []Misfit        `json:"warnings"`
	Stored   json.RawMessage `json:"stored"`
	Error    string          `json:"error"`
}

// OurError is one reason for a refusal.
type OurError struct{ Field, Type, Message string }

// Theirs is the answer of Kubernetes' own code.
type Theirs struct {
	Stage, Message string
	Errors         []TheirError
	Misfits        []Misfit
	Stored         json.RawMessage
}

// Misfit is an expression of a policy that does not fit a kind.
type Misfit struct{ Field, APIVersion, Kind, Message string }

// TheirError is one reason for a refusal.
type TheirError struct{ Type, Field, Message string }

// Verdict is the outcome of a comparison.
type Verdict int

const (
	Same Verdict = iota
	// Unjudged: only the server's validation of a kind whose rules Bailiwick does not know refuses the manifest.
	Unjudged
	// Skipped: the harness cannot judge; the reason is counted.
	Skipped
	Different
)

// notCompared are messages of the real code when a part of an API server is missing.
var notCompared = []string{"unexpected internal error"}

// Compare compares two answers about a manifest.
func Compare(object map[string]any, ours Ours, theirs Theirs) (Verdict, string) {
	if ours.Error != "" && (theirs.Stage == "decode" || theirs.Stage == "strict") {
		return Same, ""
	}
	if ours.Error != "" {
		return Different, "Bailiwick cannot answer: " + ours.Error
	}
	for _, message := range notCompared {
		if strings.Contains(theirs.Message, message) {
			return Skipped, message
		}
	}
	if slices.ContainsFunc(ours.Errors, func(one OurError) bool { return one.Type == "not-served" }) {
		if theirs.Stage == "decode" {
			return Same, ""
		}
		return Skipped, "a version that the server can read and does not serve"
	}
	if ours.Checked == "metadata" && strings.HasPrefix(theirs.Message, "no kind ") {
		return Skipped, "a group of custom resources"
	}
	// The admission plug-in PodSecurity refuses these after validation; tests/conformance/podsecurity compares them.
	ours.Errors = slices.DeleteFunc(slices.Clone(ours.Errors), func(one OurError) bool {
		return strings.HasPrefix(one.Field, "metadata.labels[pod-security.kubernetes.io/")
	})
	ours.Accepted = len(ours.Errors) == 0
	switch theirs.Stage {
	case "decode", "strict":
		if ours.Accepted {
			return Different, "accepted, and the server's decoding refuses: " + theirs.Message
		}
		return Same, ""
	case "validate":
		return compareErrors(object, ours, theirs)
	case "panic":
		return Skipped, "the real code needs an API server"
	case "":
		if isPrefixAlone(object, ours) {
			return Skipped, "a kind that does not look at generateName since 1.37"
		}
		if !ours.Accepted {
			return Different, fmt.Sprintf("refused, and the server accepts: %v", ours.Errors)
		}
		return Same, ""
	}
	return Different, "the real code failed: " + theirs.Stage + " " + theirs.Message
}

// isPrefixAlone is whether a refusal is about generateName, of a kind whose declarative validation leaves it out.
func isPrefixAlone(object map[string]any, ours Ours) bool {
	kind, _ := object["kind"].(string)
	return (kind == "ReplicationController" || kind == "DeviceClass") &&
		len(ours.Errors) > 0 && slices.Equal(ourFields(ours.Errors), []string{"metadata.generateName"})
}

func compareErrors(object map[string]any, ours Ours, theirs Theirs) (Verdict, string) {
	kind, _ := object["kind"].(string)
	found := ourFields(ours.Errors)
	if kind == "LimitRange" {
		theirs.Errors = slices.DeleteFunc(slices.Clone(theirs.Errors), func(one TheirError) bool { return isRepeated(one, found) })
	}
	expected := fields(theirs.Errors)
	if strings.HasSuffix(kind, "AdmissionPolicy") && onlyDeepDiffer(theirs.Errors, found) {
		return Skipped, "an expression of more levels than Bailiwick reads"
	}
	if ours.Checked == "rules" {
		if ours.Accepted || !slices.Equal(expected, found) {
			return Different, fmt.Sprintf("errors at %v, and the server's are at %v: %s", found, expected, theirs.Message)
		}
		return Same, ""
	}
	if !ours.Accepted {
		return Same, ""
	}
	for _, field := range theirs.Errors {
		if isMetadata(object, field) {
			return Different, "accepted, and the server refuses the metadata: " + theirs.Message
		}
	}
	return Unjudged, ""
}

// sharedRules are the parts of the metadata that all kinds have the same rules for.
var sharedRules = []string{"name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences", "generation"}

// namesOfTheirOwn are kinds whose names follow from other fields, or have a grammar of their own.
var namesOfTheirOwn = []string{"CustomResourceDefinition", "APIService", "StorageVersion", "IPAddress", "ClusterTrustBundle", "LeaseCandidate", "Job"}

// isMetadata is whether an error is one of the rules that all objects share, about something that the manifest states.
func isMetadata(object map[string]any, found TheirError) bool {
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	field, ok := strings.CutPrefix(found.Field, "metadata.")
	if !ok || (field == "name" || field == "generateName") && slices.Contains(namesOfTheirOwn, kind) {
		return false
	}
	field, _, _ = strings.Cut(field, "[")
	field, _, _ = strings.Cut(field, ".")
	_, isStated := metadata[field]
	return slices.Contains(sharedRules, field) && (isStated || field == "name")
}

// expressionField is where an admission policy has a CEL expression.
var expressionField = regexp.MustCompile(`[eE]xpression$`)

// deep is a chain of more fields than Bailiwick reads in an expression.
var deep = regexp.MustCompile(`(?:\.\w+){115}`)

// onlyDeepDiffer is whether all errors that Bailiwick lacks are about expressions that it does not read to their end.
func onlyDeepDiffer(expected []TheirError, found []string) bool {
	differs := false
	for _, one := range expected {
		if slices.Contains(found, one.Field) {
			continue
		}
		if !expressionField.MatchString(one.Field) || !deep.MatchString(one.Message) {
			return false
		}
		differs = true
	}
	return differs
}

// defaultedLimit is a field of a LimitRange that defaulting copies from `max`.
var defaultedLimit = regexp.MustCompile(`^(spec\.limits\[\d+\])\.default(?:Request)?(\[.*\])$`)

// isRepeated is whether an error is about a limit that defaulting copied from one that Bailiwick reports.
func isRepeated(one TheirError, found []string) bool {
	parts := defaultedLimit.FindStringSubmatch(one.Field)
	if parts == nil || slices.Contains(found, one.Field) {
		return false
	}
	return slices.ContainsFunc([]string{".max", ".min", ".default"}, func(from string) bool {
		return slices.Contains(found, parts[1]+from+parts[2])
	})
}

func fields(errors []TheirError) []string {
	var found []string
	for _, one := range errors {
		// A slip of the server up to 1.31.
		found = append(found, strings.Replace(one.Field, "matchResouces", "matchResources", 1))
	}
	return unique(found)
}

func ourFields(errors []OurError) []string {
	var found []string
	for _, one := range errors {
		found = append(found, one.Field)
	}
	return unique(found)
}

func unique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// SameStored compares what the server stores of a manifest with what it stores of Bailiwick's form of it.
func SameStored(object map[string]any, original, again Theirs) (bool, string) {
	if again.Stage != "" {
		return false, "the server refuses the stored form: " + again.Message
	}
	var left, right map[string]any
	if json.Unmarshal(original.Stored, &left) != nil || json.Unmarshal(again.Stored, &right) != nil {
		return false, "the real code wrote no JSON"
	}
	for _, stored := range []map[string]any{left, right} {
		forget(object, stored)
	}
	if !reflect.DeepEqual(plain(left), plain(right)) {
		return false, fmt.Sprintf("stored as %s, and Bailiwick's form as %s", original.Stored, again.Stored)
	}
	return true, ""
}

// forget removes what differs from run to run, and the one difference that Bailiwick makes: an aggregated ClusterRole has no
// rules in its form, because the controller writes them.
func forget(object, stored map[string]any) {
	if status, ok := stored["status"].(map[string]any); ok {
		delete(status, "lastPhaseTransitionTime")
	}
	if stated, _ := object["metadata"].(map[string]any); stated["name"] == nil || stated["name"] == "" {
		if metadata, ok := stored["metadata"].(map[string]any); ok {
			delete(metadata, "name")
		}
	}
	if rules, ok := stored["rules"].([]any); ok && len(rules) == 0 && stored["aggregationRule"] != nil {
		stored["rules"] = nil
	}
}

var (
	loose    = regexp.MustCompile(`^\+?0*[0-9]+\.?$`)
	exponent = regexp.MustCompile(`^[0-9.]+[eE]\+?[0-9]+$`)
)

// plain writes quantities in one of the forms that the server keeps or changes, depending on their length: without a plus sign,
// leading zeros and a final point, and with a small `e`.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = plain(inner)
		}
	case []any:
		for index, inner := range value {
			value[index] = plain(inner)
		}
	case string:
		if loose.MatchString(value) {
			return strings.TrimLeft(strings.Trim(value, "+."), "0")
		}
		if exponent.MatchString(value) {
			return strings.ReplaceAll(strings.ToLower(value), "+", "")
		}
	}
	return value
}

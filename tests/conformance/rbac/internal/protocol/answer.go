package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Answer is what either side says to one question. Normal brings two answers that mean the same into the same form.
type Answer interface{ Normal() }

// Failure is the answer to a bad question. Its text is not compared, only that there is one.
type Failure struct {
	Error string `json:"error"`
}

// WorldAnswer counts objects; what counts as one is up to the side that answers.
type WorldAnswer struct {
	Objects int `json:"objects"`
}

type CanIAnswer struct {
	// Answer is what the compiler says on top of the decision; the server knows nothing of it.
	Answer     string            `json:"answer,omitempty"`
	Allowed    *bool             `json:"allowed"`
	By         []string          `json:"by"`
	Missing    []string          `json:"missing"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

type RulesAnswer struct {
	Rules   []rbacv1.PolicyRule `json:"rules"`
	Missing []string            `json:"missing"`
}

type CoversAnswer struct {
	Covers    *bool               `json:"covers"`
	Uncovered []rbacv1.PolicyRule `json:"uncovered"`
}

type WhoCanAnswer struct {
	Subjects []string `json:"subjects"`
	Missing  []string `json:"missing"`
}

type AggregateAnswer struct {
	Roles map[string][]rbacv1.PolicyRule `json:"roles"`
}

type WriteAnswer struct {
	VerbAllowed *bool               `json:"verbAllowed"`
	Escalation  string              `json:"escalation"`
	Allowed     *bool               `json:"allowed"`
	Uncovered   []rbacv1.PolicyRule `json:"uncovered"`
}

type ReconcileAnswer struct {
	Operation string         `json:"operation"`
	Protected *bool          `json:"protected"`
	Missing   map[string]any `json:"missing"`
	Extra     map[string]any `json:"extra"`
	Result    map[string]any `json:"result"`
}

type PolicyAnswer struct {
	Objects []map[string]any `json:"objects"`
}

func (*Failure) Normal()     {}
func (*WorldAnswer) Normal() {}

func (a *CanIAnswer) Normal() {
	a.By, a.Missing = set(a.By), set(a.Missing)
	for name, value := range a.Attributes {
		if value == "" {
			delete(a.Attributes, name)
		}
	}
	if len(a.Attributes) == 0 {
		a.Attributes = nil
	}
}

func (a *RulesAnswer) Normal() {
	a.Missing = set(a.Missing)
	a.Rules = normalRules(a.Rules)
	// The order of bindings is that of a hash map in the server.
	sort.Slice(a.Rules, func(i, j int) bool { return text(a.Rules[i]) < text(a.Rules[j]) })
}

func (a *CoversAnswer) Normal() { a.Uncovered = normalRules(a.Uncovered) }

func (a *WhoCanAnswer) Normal() { a.Subjects, a.Missing = set(a.Subjects), set(a.Missing) }

func (a *AggregateAnswer) Normal() {
	for name, rules := range a.Roles {
		a.Roles[name] = normalRules(rules)
	}
	if len(a.Roles) == 0 {
		a.Roles = nil
	}
}

func (a *WriteAnswer) Normal() { a.Uncovered = normalRules(a.Uncovered) }

func (a *ReconcileAnswer) Normal() {
	a.Missing, a.Extra, a.Result = withoutEmpty(a.Missing), withoutEmpty(a.Extra), withoutEmpty(a.Result)
	delete(a.Result, "apiVersion")
	delete(a.Result, "kind")
}

func (a *PolicyAnswer) Normal() {
	for index := range a.Objects {
		a.Objects[index] = withoutEmpty(a.Objects[index])
	}
	sort.Slice(a.Objects, func(i, j int) bool { return Identity(a.Objects[i]) < Identity(a.Objects[j]) })
}

// Parse reads the answer of the other side to a question that was answered with `like`.
func Parse(line []byte, like Answer) (Answer, error) {
	into := reflect.New(reflect.TypeOf(like).Elem()).Interface().(Answer)
	var failure Failure
	if bytes.Contains(line, []byte(`"error"`)) && json.Unmarshal(line, &failure) == nil && failure.Error != "" {
		return &failure, nil
	}
	if err := json.Unmarshal(line, into); err != nil {
		return nil, fmt.Errorf("cannot read the answer %q: %w", shorten(line), err)
	}
	return into, nil
}

// Same compares a real answer with the other side's. Both have to be normal.
func Same(real, other Answer) bool {
	if _, failed := real.(*Failure); failed {
		_, alike := other.(*Failure)
		return alike
	}
	if _, world := real.(*WorldAnswer); world {
		_, alike := other.(*WorldAnswer)
		return alike
	}
	if real, ok := real.(*CanIAnswer); ok {
		other, ok := other.(*CanIAnswer)
		return ok && sameDecision(real, other)
	}
	return reflect.DeepEqual(real, other)
}

func sameDecision(real, other *CanIAnswer) bool {
	if other.Allowed == nil || *real.Allowed != *other.Allowed {
		return false
	}
	// The word on top may say why the decision is not the whole truth, but it may not contradict it.
	if other.Answer == "yes" && !*real.Allowed || other.Answer == "no" && *real.Allowed {
		return false
	}
	if !slices.Equal(real.By, other.By) || !slices.Equal(real.Missing, other.Missing) {
		return false
	}
	return real.Attributes == nil && other.Attributes == nil || reflect.DeepEqual(real.Attributes, other.Attributes)
}

// Identity names an object by kind, namespace and name.
func Identity(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	part := func(from map[string]any, key string) string {
		text, _ := from[key].(string)
		return text
	}
	return strings.Join([]string{part(object, "kind"), part(metadata, "namespace"), part(metadata, "name")}, "\x00")
}

func set(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	if len(names) == 1 {
		return names
	}
	sort.Strings(names)
	return slices.Compact(names)
}

func normalRules(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	if len(rules) == 0 {
		return nil
	}
	for index := range rules {
		rule := &rules[index]
		for _, list := range []*[]string{&rule.Verbs, &rule.APIGroups, &rule.Resources, &rule.ResourceNames, &rule.NonResourceURLs} {
			if len(*list) == 0 {
				*list = nil
			}
		}
	}
	return rules
}

// withoutEmpty drops what the server leaves out when it is empty, wherever it stands.
func withoutEmpty(object map[string]any) map[string]any {
	for key, value := range object {
		switch value := value.(type) {
		case map[string]any:
			// An empty selector selects everything, so it stays.
			if len(withoutEmpty(value)) == 0 {
				delete(object, key)
			}
		case []any:
			for _, item := range value {
				if item, ok := item.(map[string]any); ok {
					withoutEmpty(item)
				}
			}
			if len(value) == 0 {
				delete(object, key)
			}
		case nil:
			delete(object, key)
		case string:
			if value == "" && (key == "apiGroup" || key == "namespace") {
				delete(object, key)
			}
		}
	}
	if len(object) == 0 {
		return nil
	}
	return object
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}

func shorten(line []byte) []byte {
	if len(line) > 200 {
		return append(slices.Clone(line[:200]), "..."...)
	}
	return line
}

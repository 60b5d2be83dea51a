package expressions

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"bailiwick.dev/conformance/validation/internal/compare"
)

// Report counts what both sides say of expressions.
type Report struct {
	Policies, Unread int
	// Accepted and Refused are expressions about which both sides agree.
	Accepted, Refused int
	// Wrong are refusals of what the server accepts.
	Wrong []string
	// Missed counts what the server refuses and we accept, by cause.
	Missed map[string]int
	// Example has the first of each cause.
	Example map[string]string
}

// NewReport makes an empty report.
func NewReport() *Report { return &Report{Missed: map[string]int{}, Example: map[string]string{}} }

// Take compares the errors of a policy, place by place.
func (r *Report) Take(policy map[string]any, ours compare.Ours, theirs compare.Theirs) {
	r.Policies++
	if theirs.Stage != "" && theirs.Stage != "validate" || isNotServed(ours) {
		r.Unread++
		return
	}
	found, expected := map[string]string{}, map[string]string{}
	for _, one := range ours.Errors {
		found[one.Field] = one.Message
	}
	for _, one := range theirs.Errors {
		expected[one.Field] = one.Message
	}
	// The server knows nothing of the type of a variable that it refuses, so what it says of the rest is not ours.
	follows := false
	for field := range expected {
		_, known := found[field]
		follows = follows || !known && strings.HasPrefix(field, "spec.variables")
	}
	for field, message := range found {
		if _, known := expected[field]; !known && !follows {
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s: %q is refused (%s), and the server accepts it", field, at(policy, field), message))
		}
	}
	for field, message := range expected {
		if _, known := found[field]; !known {
			cause := cause(message)
			r.Missed[cause]++
			if r.Example[cause] == "" {
				r.Example[cause] = at(policy, field)
			}
		}
	}
	both := 0
	for field := range found {
		if _, known := expected[field]; known {
			both++
		}
	}
	r.Refused += both
	r.Accepted += max(len(places(policy["spec"]))-len(found)-len(expected)+both, 0)
}

func isNotServed(ours compare.Ours) bool {
	return slices.ContainsFunc(ours.Errors, func(one compare.OurError) bool { return one.Type == "not-served" })
}

var (
	position = regexp.MustCompile(`ERROR: <input>:[0-9]+:[0-9]+: (.*)`)
	quoted   = regexp.MustCompile("'[^']*'|`[^`]*`|\"[^\"]*\"|<[^>]*>|[0-9]+")
)

// cause is the message of the compiler without names and places.
func cause(message string) string {
	if match := position.FindStringSubmatch(message); match != nil {
		message = match[1]
	} else if index := strings.LastIndex(message, ": "); index >= 0 && strings.Contains(message, "must evaluate") {
		message = message[index+2:]
	}
	message = quoted.ReplaceAllString(message, "_")
	return message[:min(len(message), 100)]
}

var step = regexp.MustCompile(`[A-Za-z]+|[0-9]+`)

// at is the expression at a field.
func at(policy map[string]any, field string) string {
	var value any = policy
	for _, name := range step.FindAllString(field, -1) {
		switch inner := value.(type) {
		case map[string]any:
			value = inner[name]
		case []any:
			index := 0
			fmt.Sscan(name, &index)
			if index < len(inner) {
				value = inner[index]
			}
		}
	}
	return fmt.Sprint(value)
}

// Vacuous is an error if nearly nothing was compared.
func (r *Report) Vacuous() error {
	if r.Accepted < r.Policies/4 || r.Refused < r.Policies/4 {
		return fmt.Errorf("in %d policies, %d expressions are accepted and %d are refused: this compares nothing", r.Policies, r.Accepted, r.Refused)
	}
	return nil
}

// Print writes the counts.
func (r *Report) Print(minor, most int) {
	missed := 0
	for _, count := range r.Missed {
		missed += count
	}
	fmt.Printf("1.%d: %d policies, %d of them not read; expressions: %d accepted by both, %d refused by both, %d refused by the server alone, %d by us alone\n",
		minor, r.Policies, r.Unread, r.Accepted, r.Refused, missed, len(r.Wrong))
	causes := make([]string, 0, len(r.Missed))
	for cause := range r.Missed {
		causes = append(causes, cause)
	}
	sort.Slice(causes, func(i, j int) bool {
		return r.Missed[causes[i]] > r.Missed[causes[j]] || r.Missed[causes[i]] == r.Missed[causes[j]] && causes[i] < causes[j]
	})
	for _, cause := range causes {
		fmt.Printf("  %4d refused by the server alone: %s: %.200s\n", r.Missed[cause], cause, r.Example[cause])
	}
	for _, wrong := range r.Wrong[:min(most, len(r.Wrong))] {
		fmt.Printf("DIFFER %.1000s\n", wrong)
	}
}

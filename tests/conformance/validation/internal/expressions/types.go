package expressions

import (
	"encoding/json"
	"fmt"
	"sort"

	"bailiwick.dev/conformance/validation/internal/compare"
)

// TypeReport counts what both sides say of the types of expressions.
type TypeReport struct {
	// Policies are those that are compared, and Refused those that the server does not take.
	Policies, Refused int
	// Fitting are policies without a warning, and Warnings the warnings that both sides give.
	Fitting, Warnings int
	Differences       []string
}

// NewTypeReport makes an empty report.
func NewTypeReport() *TypeReport { return &TypeReport{} }

// Take compares the warnings about a policy by expression and kind.
func (r *TypeReport) Take(policy map[string]any, ours compare.Ours, theirs compare.Theirs) {
	if !ours.Accepted {
		r.Refused++
		return
	}
	r.Policies++
	if theirs.Stage != "" {
		r.Differences = append(r.Differences, "the real code failed: "+theirs.Stage+" "+theirs.Message)
		return
	}
	found, expected := byPlace(ours.Warnings), byPlace(theirs.Misfits)
	if len(found) == 0 && len(expected) == 0 {
		r.Fitting++
	}
	for _, place := range sortedPlaces(found) {
		if _, known := expected[place]; known {
			r.Warnings++
		} else {
			r.differ(policy, place, "we warn: "+found[place]+"; the server does not")
		}
	}
	for _, place := range sortedPlaces(expected) {
		if _, known := found[place]; !known {
			r.differ(policy, place, "the server warns: "+expected[place]+"; we do not")
		}
	}
}

func (r *TypeReport) differ(policy map[string]any, place [3]string, why string) {
	variables, _ := json.Marshal(policy["spec"].(map[string]any)["variables"])
	r.Differences = append(r.Differences, fmt.Sprintf("%s for %s %s: %q with %s: %s", place[0], place[1], place[2], at(policy, place[0]), variables, why))
}

func byPlace(misfits []compare.Misfit) map[[3]string]string {
	found := map[[3]string]string{}
	for _, misfit := range misfits {
		found[[3]string{misfit.Field, misfit.APIVersion, misfit.Kind}] = misfit.Message
	}
	return found
}

func sortedPlaces(of map[[3]string]string) [][3]string {
	var keys [][3]string
	for key := range of {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
	return keys
}

// Vacuous is an error if nearly nothing was compared.
func (r *TypeReport) Vacuous() error {
	if r.Fitting < r.Policies/10 || r.Warnings < r.Policies/10 {
		return fmt.Errorf("of %d policies, %d fit, and there are %d warnings: this compares nothing", r.Policies, r.Fitting, r.Warnings)
	}
	return nil
}

// Print writes the counts.
func (r *TypeReport) Print(minor, most int) {
	fmt.Printf("1.%d: types: %d policies, %d more refused; %d fit their kinds, %d warnings by both, %d differ\n",
		minor, r.Policies, r.Refused, r.Fitting, r.Warnings, len(r.Differences))
	for _, difference := range r.Differences[:min(most, len(r.Differences))] {
		fmt.Printf("DIFFER %.1500s\n", difference)
	}
}

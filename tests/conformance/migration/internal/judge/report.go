// Package judge compares what the program says about a world with what Kubernetes does.
package judge

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"k8s.io/pod-security-admission/api"

	"bailiwick.dev/conformance/migration/internal/plan"
)

// Report compares the rows of the report with the truth: each workload once, with the policy that 1.24 gives its pods, the number of
// its pods, and the policies that they record. `owned` is how many templates of the dump belong to another workload.
func Report(truth []plan.Entry, report *plan.Report, owned int) []string {
	type row struct {
		policy   string
		pods     int
		recorded map[string]int
	}
	wanted := map[string]*row{}
	for _, entry := range truth {
		name := entry.RootKey()
		if wanted[name] == nil {
			wanted[name] = &row{recorded: map[string]int{}}
		}
		found := wanted[name]
		if entry.Root == "" {
			found.policy = entry.Policy
		}
		found.pods += len(entry.Pods)
		if len(entry.Pods) > 0 {
			found.recorded[entry.Policy] += len(entry.Pods)
		}
	}
	var differences []string
	add := func(format string, values ...any) { differences = append(differences, fmt.Sprintf(format, values...)) }
	seen := map[string]bool{}
	for _, workload := range report.Workloads {
		name := workload.Key()
		found := wanted[name]
		switch {
		case found == nil:
			add("%s: in the report, and not in the dump", name)
			continue
		case seen[name]:
			add("%s: twice in the report", name)
		}
		seen[name] = true
		policy := ""
		if workload.Policy != nil {
			policy = *workload.Policy
		}
		if policy != found.policy {
			add("%s: policy %q in the report, %q by 1.24", name, policy, found.policy)
		}
		if workload.Pods != found.pods || !maps.Equal(workload.Recorded, found.recorded) {
			add("%s: %d pods with %v in the report, %d with %v in the dump", name, workload.Pods, workload.Recorded, found.pods, found.recorded)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !seen[name] {
			add("%s: not in the report", name)
		}
	}
	if report.OwnedTemplates != owned {
		add("%d templates of other workloads in the report, %d in the dump", report.OwnedTemplates, owned)
	}
	return differences
}

// Levels compares the labels of a mode in a stage with the levels of the report. A namespace without the label is privileged.
func Levels(report *plan.Report, labels map[string]map[string]string, mode string) []string {
	order := []api.Level{api.LevelPrivileged, api.LevelBaseline, api.LevelRestricted}
	var differences []string
	for _, namespace := range report.Namespaces {
		label := labels[namespace.Name]["pod-security.kubernetes.io/"+mode]
		if label == "" {
			label = string(api.LevelPrivileged)
		}
		if slices.Index(order, api.Level(label)) < slices.Index(order, api.Level(namespace.Level)) {
			differences = append(differences, fmt.Sprintf("Namespace %s: %s is %s, and %s in the report", namespace.Name, mode, label, namespace.Level))
		}
	}
	return differences
}

// A Verdicts map has a message for each workload whose pod Kubernetes rejects, and an empty text for the others.
type Verdicts map[string]string

// Refusals compares the verdicts with the answer of `migrate verify`: the rejected workloads are those of the answer. A rejected Deployment
// stands for the pods of its former template, too: the answer does not list them again.
func Refusals(truth []plan.Entry, verdicts Verdicts, answer *plan.Verification) []string {
	named := answer.Named(truth)
	all := maps.Clone(named)
	var differences []string
	for _, entry := range truth {
		message, judged := verdicts[entry.Key()]
		switch {
		case !judged && entry.Ran():
			differences = append(differences, entry.Key()+": nobody was asked")
		case message != "" && !all[entry.Key()] && !all[entry.RootKey()]:
			differences = append(differences, fmt.Sprintf("%s: rejected, and `migrate verify` says that it is admitted: %s", entry.Key(), message))
		case message == "" && judged && all[entry.Key()]:
			differences = append(differences, entry.Key()+": admitted, and `migrate verify` says that it is rejected")
		}
		delete(named, entry.Key())
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		differences = append(differences, name+": rejected by `migrate verify`, and not among the workloads")
	}
	sort.Strings(differences)
	return differences
}

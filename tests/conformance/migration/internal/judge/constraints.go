package judge

import (
	"fmt"
	"slices"

	"bailiwick.dev/conformance/migration/internal/plan"
)

// chosen is the annotation with the constraints that admitted a pod.
const chosen = "openshift.io/scc"

// Constraints compares the constraints that OpenShift chooses for the pods with the answer of `migrate verify`: they are those of the
// profile of the service account for the pods that 1.24 admits, and those that the answer names for others. The answer does not tell of
// former templates and of rejected pods.
func Constraints(truth []plan.Entry, report *plan.Report, answer *plan.Verification) []string {
	named := map[string]string{}
	for constraints, workloads := range answer.Openshift.OtherConstraints {
		for _, workload := range workloads {
			named[workload] = constraints
		}
	}
	refused := answer.Named(truth)
	var differences []string
	for index := range truth {
		entry := &truth[index]
		constraints := entry.Pod.Annotations[chosen]
		if refused[entry.Key()] || entry.Root != "" || entry.Rejection != "" || constraints == "" {
			continue
		}
		ofProfile := report.ConstraintsOf(entry.Namespace, accountOf(entry))
		wanted, isNamed := named[entry.Kind+"/"+entry.Namespace+"/"+entry.Name]
		if !isNamed || entry.Policy != "" && ofProfile != "" {
			wanted = ofProfile
		}
		if wanted != constraints {
			differences = append(differences, fmt.Sprintf("%s: admitted by %s, and by %q in the answer", entry.Key(), constraints, wanted))
		}
	}
	return differences
}

func accountOf(entry *plan.Entry) string {
	if name := entry.Pod.Spec.ServiceAccountName; name != "" {
		return name
	}
	return "default"
}

// checkConstraints returns the differences of a stage on OpenShift.
func (i *Inputs) checkConstraints() ([]string, error) {
	verdicts, err := Standards(i.Truth, i.Labels, i.Version)
	if err != nil {
		return nil, err
	}
	return append(Refusals(i.Truth, verdicts, &i.Answer), Constraints(i.Truth, &i.Report, &i.Answer)...), nil
}

// liesAboutConstraints are told about a stage on OpenShift.
var liesAboutConstraints = []lie{
	{"other constraints of a pod", func(i *Inputs) bool {
		return i.change(isAdmitted, func(entry *plan.Entry) { entry.Pod.Annotations[chosen] = "anyuid" })
	}},
	{"a pod that constraints reject", func(i *Inputs) bool {
		return i.change(func(entry *plan.Entry) bool { return isAdmitted(entry) && !i.isRefused(entry) }, func(entry *plan.Entry) { entry.Rejection = "forbidden" })
	}},
	{"a refusal that the program invents", func(i *Inputs) bool {
		return i.change(func(entry *plan.Entry) bool { return isAdmitted(entry) && !i.isRefused(entry) }, func(entry *plan.Entry) {
			i.Answer.Refused = append(i.Answer.Refused, plan.Refusal{Kind: entry.Kind, Namespace: entry.Namespace, Name: entry.Name})
		})
	}},
	{"another profile of a namespace", func(i *Inputs) bool {
		for index := range i.Report.Namespaces {
			row := &i.Report.Namespaces[index]
			if row.Profile != nil && slices.ContainsFunc(i.Truth, func(entry plan.Entry) bool {
				return entry.Namespace == row.Name && isAdmitted(&entry) && i.Report.ConstraintsOf(row.Name, accountOf(&entry)) == *row.Profile
			}) {
				other := "other"
				row.Profile = &other
				return true
			}
		}
		return false
	}},
}

// isAdmitted is true for a workload whose pod has constraints.
func isAdmitted(entry *plan.Entry) bool {
	return entry.Root == "" && entry.Rejection == "" && entry.Pod.Annotations[chosen] != ""
}

// isRefused is true for a workload that the answer rejects.
func (i *Inputs) isRefused(entry *plan.Entry) bool {
	return slices.ContainsFunc(i.Answer.Refused, func(refusal plan.Refusal) bool { return refusal.Key() == entry.Key() })
}

// SelfTestConstraints tells each lie about a stage on OpenShift. It returns the lies that nobody notices.
func SelfTestConstraints(read func() (*Inputs, error)) (int, []string, error) {
	return tell(liesAboutConstraints, read, (*Inputs).checkConstraints)
}

package judge

import (
	"fmt"

	"k8s.io/pod-security-admission/api"

	"bailiwick.dev/conformance/migration/internal/plan"
)

// Inputs are what the checks look at.
type Inputs struct {
	Truth    []plan.Entry
	Report   plan.Report
	Owned    int
	Labels   map[string]map[string]string
	Version  string
	Verdicts Verdicts
	Answer   plan.Verification
}

// check returns the differences that all checks find.
func (i *Inputs) check() ([]string, error) {
	verdicts, err := Standards(i.Truth, i.Labels, i.Version)
	if err != nil {
		return nil, err
	}
	differences := append(Report(i.Truth, &i.Report, i.Owned), Levels(&i.Report, i.Labels, "enforce")...)
	// The answer is about another stage: whatever the levels reject is a difference here.
	differences = append(differences, Refusals(i.Truth, verdicts, &plan.Verification{})...)
	return append(differences, Refusals(i.Truth, i.Verdicts, &i.Answer)...), nil
}

// A lie changes the inputs. It is false where the world gives no opportunity.
type lie struct {
	name string
	tell func(*Inputs) bool
}

var lies = []lie{
	{"another policy in the truth", func(i *Inputs) bool {
		return i.change(func(entry *plan.Entry) bool { return entry.Policy != "" && entry.Root == "" }, func(entry *plan.Entry) { entry.Policy = "other" })
	}},
	{"a pod that is not in the truth", func(i *Inputs) bool {
		return i.change(func(entry *plan.Entry) bool { return len(entry.Pods) > 1 }, func(entry *plan.Entry) { entry.Pods = entry.Pods[1:] })
	}},
	{"a workload that the report drops", func(i *Inputs) bool {
		i.Report.Workloads = i.Report.Workloads[1:]
		return true
	}},
	{"a row too many in the report", func(i *Inputs) bool {
		i.Report.Workloads = append(i.Report.Workloads, plan.Workload{Kind: "Deployment", Namespace: "default", Name: "nowhere"})
		return true
	}},
	{"a template that is counted twice", func(i *Inputs) bool {
		i.Report.OwnedTemplates++
		return true
	}},
	{"a loosened label", func(i *Inputs) bool {
		return i.label(string(api.LevelPrivileged), func(level string) bool { return level == "baseline" || level == "restricted" })
	}},
	{"a label that is too strict", func(i *Inputs) bool {
		return i.label(string(api.LevelRestricted), func(level string) bool { return level == "privileged" || level == "" })
	}},
	{"a pod that the server rejects", func(i *Inputs) bool {
		for name, message := range i.Verdicts {
			if message == "" {
				i.Verdicts[name] = "forbidden"
				return true
			}
		}
		return false
	}},
	{"a refusal that the program invents", func(i *Inputs) bool {
		for index := range i.Truth {
			if entry := &i.Truth[index]; entry.Ran() && i.Verdicts[entry.Key()] == "" {
				i.Answer.Refused = append(i.Answer.Refused, plan.Refusal{Kind: entry.Kind, Namespace: entry.Namespace, Name: entry.Name})
				return true
			}
		}
		return false
	}},
	{"a workload that the server was not asked about", func(i *Inputs) bool {
		for index := range i.Truth {
			if entry := &i.Truth[index]; entry.Ran() {
				delete(i.Verdicts, entry.Key())
				return true
			}
		}
		return false
	}},
}

// change changes the first entry that is fit for it.
func (i *Inputs) change(isFit func(*plan.Entry) bool, change func(*plan.Entry)) bool {
	for index := range i.Truth {
		if isFit(&i.Truth[index]) {
			change(&i.Truth[index])
			return true
		}
	}
	return false
}

// label changes the `enforce` label of a namespace with pods that ran.
func (i *Inputs) label(level string, isFit func(string) bool) bool {
	for index := range i.Truth {
		labels := i.Labels[i.Truth[index].Namespace]
		if labels != nil && i.Truth[index].Ran() && isFit(labels[api.EnforceLevelLabel]) {
			labels[api.EnforceLevelLabel] = level
			return true
		}
	}
	return false
}

// SelfTest tells each lie about fresh inputs without a difference. It returns the lies that nobody notices.
func SelfTest(read func() (*Inputs, error)) (int, []string, error) {
	return tell(lies, read, (*Inputs).check)
}

// tell tells each lie, and returns those without a further difference.
func tell(lies []lie, read func() (*Inputs, error), check func(*Inputs) ([]string, error)) (int, []string, error) {
	var unnoticed []string
	for _, lie := range lies {
		inputs, err := read()
		if err != nil {
			return 0, nil, err
		}
		before, err := check(inputs)
		if err != nil {
			return 0, nil, err
		}
		if !lie.tell(inputs) {
			return 0, nil, fmt.Errorf("the world gives no opportunity for the lie %q", lie.name)
		}
		after, err := check(inputs)
		if err != nil {
			return 0, nil, err
		}
		if len(after) <= len(before) {
			unnoticed = append(unnoticed, "nobody notices "+lie.name)
		}
	}
	return len(lies), unnoticed, nil
}

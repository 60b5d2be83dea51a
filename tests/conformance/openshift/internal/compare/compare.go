// Package compare holds what Bailiwick says about a world against what the code of OpenShift does to it.
package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"

	securityv1 "github.com/openshift/api/security/v1"
	sccsort "github.com/openshift/apiserver-library-go/pkg/securitycontextconstraints/util/sort"

	"bailiwick.dev/conformance/openshift/internal/syncer"
	"bailiwick.dev/conformance/openshift/internal/worlds"
)

// perWorld is how many namespaces a world has at most.
const perWorld = 8

// retries is how often the syncer is asked again where its answer depends on the order of a Go map.
const retries = 3000

// Answer is what is said about a namespace.
type Answer struct {
	Controlled     bool                `json:"controlled"`
	Action         string              `json:"action"`
	Reason         string              `json:"reason"`
	Level          *string             `json:"level"`
	Usable         map[string][]string `json:"sccs"`
	Writes         map[string]string   `json:"writes"`
	Force          bool                `json:"force"`
	DependsOnOrder bool                `json:"dependsOnOrder"`
}

// Speaker answers about every namespace of a world, and sorts constraints.
type Speaker interface {
	Labels(world *worlds.World) (map[string]Answer, error)
	Order(list []*securityv1.SecurityContextConstraints) ([]string, error)
}

// Report counts what was compared.
type Report struct {
	Worlds, Namespaces, Written, Failed, Uncontrolled, Wavering, Orders int
	Levels                                                              map[string]int
	// Differences by kind, and one of them in full.
	Differences map[string]int
	Example     string
	example     *worlds.World
}

// Run compares so many namespaces, and the order of constraints in each world.
func Run(speaker Speaker, seed uint64, namespaces int) (*Report, error) {
	random := rand.New(rand.NewPCG(seed, 1))
	report := &Report{Differences: map[string]int{}, Levels: map[string]int{}}
	for report.Namespaces < namespaces {
		world := worlds.Random(random, perWorld)
		differences, err := one(speaker, world, report)
		if err != nil {
			return nil, err
		}
		for _, difference := range differences {
			report.Differences[difference.kind]++
			if report.example == nil {
				report.example, report.Example = world, difference.String()
			}
		}
	}
	return report, nil
}

type difference struct{ kind, namespace, ours, theirs string }

func (d difference) String() string {
	return fmt.Sprintf("%s of %s: bailiwick says %s, OpenShift %s", d.kind, d.namespace, d.ours, d.theirs)
}

// one compares a world; a report counts it, where there is one.
func one(speaker Speaker, world *worlds.World, report *Report) ([]difference, error) {
	answers, err := speaker.Labels(world)
	if err != nil {
		return nil, err
	}
	runner, err := syncer.New(world)
	if err != nil {
		return nil, err
	}
	var found []difference
	for _, namespace := range world.Namespaces {
		name := namespace.Name
		answer, ok := answers[name]
		if !ok {
			found = append(found, difference{"answer", name, "nothing", "something"})
			continue
		}
		outcome := runner.Run(name)
		differences := hold(name, answer, outcome)
		// Where the order of a map decides, what is said has to be among what can happen.
		for attempt := 0; answer.DependsOnOrder && len(differences) > 0 && attempt < retries; attempt++ {
			differences = hold(name, answer, runner.Run(name))
		}
		found = append(found, differences...)
		if report != nil {
			report.count(answer, outcome)
		}
	}
	theirs := slices.Clone(world.Constraints)
	sort.Sort(sccsort.ByPriority(theirs))
	ours, err := speaker.Order(world.Constraints)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, scc := range theirs {
		names = append(names, scc.Name)
	}
	if !slices.Equal(ours, names) {
		found = append(found, difference{"order", "the cluster", fmt.Sprint(ours), fmt.Sprint(names)})
	}
	if report != nil {
		report.Worlds++
		report.Orders++
	}
	return found, nil
}

// hold holds an answer against an outcome.
func hold(name string, answer Answer, outcome syncer.Outcome) []difference {
	var found []difference
	differ := func(kind string, equal bool, ours, theirs any) {
		if !equal {
			found = append(found, difference{kind, name, fmt.Sprint(ours), fmt.Sprint(theirs)})
		}
	}
	same := maps.EqualFunc(answer.Usable, outcome.Usable, func(ours, theirs []string) bool { return slices.Equal(ours, theirs) })
	differ("constraints", same, answer.Usable, outcome.Usable)
	differ("control", answer.Controlled == outcome.Controlled, answer.Controlled, outcome.Controlled)
	differ("failure", (answer.Action == "error") == outcome.Failed, answer.Action+" "+answer.Reason, outcome.Failed)
	differ("write", (answer.Action == "write") == outcome.Wrote, answer.Action+" "+answer.Reason, outcome.Wrote)
	if answer.Action == "write" && outcome.Wrote {
		labels := map[string]string{}
		for short, value := range answer.Writes {
			labels["pod-security.kubernetes.io/"+short] = value
		}
		differ("labels", maps.Equal(labels, outcome.Labels), labels, outcome.Labels)
		differ("force", answer.Force == outcome.Forced, answer.Force, outcome.Forced)
	}
	return found
}

func (r *Report) count(answer Answer, outcome syncer.Outcome) {
	r.Namespaces++
	if !outcome.Controlled {
		r.Uncontrolled++
	}
	if outcome.Failed {
		r.Failed++
	}
	if outcome.Wrote {
		r.Written++
		for label, value := range outcome.Labels {
			if label == "pod-security.kubernetes.io/warn" {
				r.Levels[value]++
			}
		}
	}
	if answer.DependsOnOrder {
		r.Wavering++
	}
}

// Differ tells whether anything differs.
func (r *Report) Differ() bool { return len(r.Differences) > 0 }

// Print prints what was compared.
func (r *Report) Print(out io.Writer) {
	fmt.Fprintf(out, "%d worlds, %d namespaces: %d written (%v), %d not controlled, %d failed, %d by the order of a map; %d orders of constraints\n",
		r.Worlds, r.Namespaces, r.Written, r.Levels, r.Uncontrolled, r.Failed, r.Wavering, r.Orders)
	for _, kind := range slices.Sorted(maps.Keys(r.Differences)) {
		fmt.Fprintf(out, "%6d differences in %s\n", r.Differences[kind], kind)
	}
	if !r.Differ() {
		fmt.Fprintln(out, "nothing differs")
	}
}

// Explain prints the smallest world that was found in which something differs.
func (r *Report) Explain(out io.Writer, speaker Speaker) error {
	world := r.example
	text := r.Example
	for shrunk := true; shrunk; {
		shrunk = false
		for number := 0; number < world.Size(); number++ {
			smaller := world.Without(number)
			differences, err := one(speaker, smaller, nil)
			if err != nil {
				return err
			}
			if len(differences) > 0 {
				world, text, shrunk = smaller, differences[0].String(), true
				break
			}
		}
	}
	fmt.Fprintf(out, "\n%s\nmode %s, with these objects:\n", text, world.Mode)
	for _, object := range world.Objects() {
		line, err := json.Marshal(object)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", line)
	}
	return nil
}

package reach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/node/internal/compare"
)

// kind is under what such questions are asked.
const kind = "node-reach"

// attempts is how many smaller questions are tried at most.
const attempts = 6000

// Lists are what is reached, by how sure it is.
type Lists struct {
	Yes   []string `json:"yes"`
	Maybe []string `json:"maybe"`
}

// Answer is what comes to each node.
type Answer struct {
	Nodes map[string]struct {
		Secrets         Lists `json:"secrets"`
		ServiceAccounts Lists `json:"serviceAccounts"`
	} `json:"nodes"`
	Error  string `json:"error,omitempty"`
	Broken string `json:"broken,omitempty"`
}

// thing is an object at a node.
type thing struct{ node, sort, name string }

// words are how sure it is of each thing that is reached.
func (a *Answer) words() map[thing]string {
	words := map[thing]string{}
	for node, of := range a.Nodes {
		for sort, lists := range map[string]Lists{"secrets": of.Secrets, "serviceAccounts": of.ServiceAccounts} {
			for word, names := range map[string][]string{"maybe": lists.Maybe, "yes": lists.Yes} {
				for _, name := range names {
					if words[thing{node, sort, name}] != "" {
						word = "more than one"
					}
					words[thing{node, sort, name}] = word
				}
			}
		}
	}
	return words
}

// asked is what somebody says to a question. An error of the program counts as saying nothing but that.
func asked(whom ask.Answerer, question Object) (map[thing]string, int, error) {
	var answer Answer
	if err := whom.Ask(kind, question, &answer); err != nil {
		return nil, 0, err
	}
	if answer.Broken != "" {
		return nil, 0, fmt.Errorf("%w: %s", compare.ErrBroken, answer.Broken)
	}
	if answer.Error != "" {
		return map[thing]string{{sort: "error"}: answer.Error}, 0, nil
	}
	return answer.words(), len(answer.Nodes), nil
}

// Difference is a thing about which the sides differ in a question.
type Difference struct {
	thing      thing
	real, ours string
	question   Object
}

// differences are all in a question, in an order that is always the same.
func differences(question Object, theirs, ours map[thing]string) []Difference {
	all := maps.Clone(theirs)
	maps.Copy(all, ours)
	found := []Difference{}
	for thing := range all {
		if theirs[thing] != ours[thing] {
			found = append(found, Difference{thing, theirs[thing], ours[thing], question})
		}
	}
	slices.SortFunc(found, func(a, b Difference) int {
		return slices.Compare([]string{a.thing.node, a.thing.sort, a.thing.name}, []string{b.thing.node, b.thing.sort, b.thing.name})
	})
	return found
}

// Options say what to compare.
type Options struct {
	Seed uint64
	// Clusters is how many there are, and Most how many differences are enough.
	Clusters, Most int
}

// Report is what came of a comparison.
type Report struct {
	clusters, nodes, things int
	// counts are the real words by what brings a thing.
	counts      map[string]map[string]int
	unlike      map[string]int
	differences []Difference
}

var serials = regexp.MustCompile(`^.*/|-(secret-)?[0-9]+`)

// bringer is what brings a thing, as its name tells.
func (t thing) bringer() string { return t.sort + " " + serials.ReplaceAllString(t.name, "") }

// Run compares until everything is asked, or until there are enough differences.
func Run(oracle, other ask.Answerer, options Options) (*Report, error) {
	source := rand.New(rand.NewPCG(options.Seed, 2))
	report := &Report{counts: map[string]map[string]int{}, unlike: map[string]int{}}
	for report.clusters < options.Clusters && len(report.differences) < max(1, options.Most) {
		question := Random(source)
		report.clusters++
		theirs, nodes, err := asked(oracle, question)
		if err != nil {
			return nil, fmt.Errorf("%w in %v", err, question)
		}
		ours, _, err := asked(other, question)
		if err != nil {
			return nil, err
		}
		report.count(theirs, nodes)
		for _, each := range differences(question, theirs, ours) {
			name := fmt.Sprintf("%s: %s", each.thing.bringer(), each.texts())
			report.unlike[name]++
			if report.unlike[name] == 1 && len(report.differences) < max(1, options.Most) {
				report.differences = append(report.differences, each.shrink(oracle, other))
			}
		}
	}
	return report, nil
}

// count counts each thing that comes to some node, also at the nodes where it is not.
func (r *Report) count(theirs map[thing]string, nodes int) {
	r.nodes += nodes
	places := map[thing]int{}
	add := func(bringer, word string, times int) {
		if r.counts[bringer] == nil {
			r.counts[bringer] = map[string]int{}
		}
		r.counts[bringer][word] += times
		r.things += times
	}
	for each, word := range theirs {
		add(each.bringer(), word, 1)
		places[thing{sort: each.sort, name: each.name}]++
	}
	for each, reached := range places {
		add(each.bringer(), "no", nodes-reached)
	}
}

func (d Difference) texts() string {
	text := func(word string) string {
		if word == "" {
			return "no"
		}
		return word
	}
	return fmt.Sprintf("Kubernetes %s, bailiwick %s", text(d.real), text(d.ours))
}

// shrink takes away what a difference does not need. What cannot be asked is passed over.
func (d Difference) shrink(oracle, other ask.Answerer) Difference {
	plain, err := compare.Generic(d.question)
	if err != nil {
		return d
	}
	d.question = plain
	left := attempts
	for again := true; again; {
		again = false
		for _, candidate := range compare.Smaller(d.question) {
			if left--; left < 0 {
				return d
			}
			question, _ := candidate.(Object)
			if question["version"] != Version || !whole(question) {
				continue
			}
			theirs, _, err := asked(oracle, question)
			if err != nil {
				continue
			}
			ours, _, err := asked(other, question)
			if err != nil {
				return d
			}
			if theirs[d.thing] == d.real && ours[d.thing] == d.ours {
				d.question, again = question, true
				break
			}
		}
	}
	return d
}

// whole tells whether all objects have the names that no stored one is without.
func whole(question Object) bool {
	objects, there := question["objects"].([]any)
	return there && !slices.ContainsFunc(objects, func(each any) bool {
		object, _ := each.(Object)
		metadata := part(object, "metadata")
		kind, _ := object["kind"].(string)
		named := metadata["name"] != nil && (metadata["namespace"] != nil || slices.Contains(clusterWide, kind))
		return kind == "" || object["apiVersion"] == nil || !named
	})
}

// clusterWide are the kinds in no namespace.
var clusterWide = []string{"Node", "PersistentVolume"}

// Differs tells whether anything differs.
func (r *Report) Differs() bool { return len(r.differences) > 0 }

// Print prints what was compared, and what differs.
func (r *Report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%d clusters, %d nodes, %d things at nodes\n", r.clusters, r.nodes, r.things)
	for _, bringer := range slices.Sorted(maps.Keys(r.counts)) {
		words := r.counts[bringer]
		fmt.Fprintf(out, "%-44s yes %6d  maybe %6d  no %6d\n", bringer, words["yes"], words["maybe"], words["no"])
	}
	if !r.Differs() {
		fmt.Fprintln(out, "nothing differs")
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.unlike)) {
		fmt.Fprintf(out, "%8d times different: %s\n", r.unlike[name], name)
	}
	var problems []error
	for _, each := range r.differences {
		line, err := json.Marshal(Object{kind: each.question})
		problems = append(problems, err)
		fmt.Fprintf(out, "\n%s %s at %s: %s\n%s\n", each.thing.sort, each.thing.name, each.thing.node, each.texts(), line)
	}
	return errors.Join(problems...)
}

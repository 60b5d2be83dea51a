package compare

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/node/internal/worlds"
)

// Options say what to compare.
type Options struct {
	// Seed decides the questions, and Decisions how many there are.
	Seed      uint64
	Decisions int
	Versions  []string
	// Most is how many differences are enough; one without it.
	Most int
	// Rough leaves the question in which the sides differ as large as it is.
	Rough bool
	// Watch is told about every item and the real verdict.
	Watch func(version string, gates map[string]bool, item worlds.Item, sort string, verdict Verdict)
}

// Tally counts verdicts.
type Tally struct{ Asked, Allowed int }

// Report is what came of a comparison.
type Report struct {
	Worlds, Decisions int
	// Sorts are the verdicts by release and sort, and Recipes by what was made.
	Sorts, Recipes map[string]*Tally
	// Unlike are differences by what was asked, and Differences the first of them.
	Unlike      map[string]int
	Differences []Difference
}

// Run compares until everything is asked, or until there are enough differences.
func Run(oracles *Oracles, other ask.Answerer, options Options) (*Report, error) {
	source := rand.New(rand.NewPCG(options.Seed, 1))
	report := &Report{Sorts: map[string]*Tally{}, Recipes: map[string]*Tally{}, Unlike: map[string]int{}}
	for report.Decisions < options.Decisions && len(report.Differences) < max(1, options.Most) {
		version := options.Versions[report.Worlds%len(options.Versions)]
		world := worlds.Random(source, version, oracles.Gates(version))
		if err := oracles.Fit(world); err != nil {
			return nil, err
		}
		report.Worlds++
		if err := report.one(oracles, other, world, options); err != nil {
			return nil, err
		}
	}
	return report, nil
}

func (r *Report) one(oracles *Oracles, other ask.Answerer, world *worlds.World, options Options) error {
	body := world.Body()
	var real, ours Answer
	if err := oracles.Ask("node", body, &real); err != nil {
		return fmt.Errorf("%w in %v", err, body)
	}
	if err := other.Ask("node", body, &ours); err != nil {
		return err
	}
	failed := false
	for _, sort := range worlds.Sorts {
		theirs, own := real.Verdicts(sort), ours.Verdicts(sort)
		if len(theirs) != len(world.Items[sort]) {
			return fmt.Errorf("%w: %d answers of %s", ErrBroken, len(theirs), sort)
		}
		for index, item := range world.Items[sort] {
			r.count(world.Version, sort, item, theirs[index])
			if options.Watch != nil {
				options.Watch(world.Version, world.Gates, item, sort, theirs[index])
			}
			said := Verdict{Text: "nothing"}
			switch {
			case ours.Error != "":
				// An error is about the whole question, so that one item is enough to show it.
				said.Text = "error " + ours.Error
				if failed {
					continue
				}
				failed = true
			case index < len(own):
				said = own[index]
				if said.Allowed == theirs[index].Allowed {
					continue
				}
			}
			r.differ(oracles, other, world, sort, index, theirs[index], said, options)
		}
	}
	return nil
}

func (r *Report) count(version, sort string, item worlds.Item, verdict Verdict) {
	r.Decisions++
	kind, _, _ := strings.Cut(item.Recipe, ":")
	switch {
	case sort == "requests":
		kind, _, _ = strings.Cut(item.Recipe, " ")
	case strings.HasPrefix(kind, "token for"):
		kind = "token request"
	}
	for _, each := range []struct {
		in   map[string]*Tally
		name string
	}{{r.Sorts, version + " " + sort}, {r.Recipes, sort + ": " + kind}} {
		if each.in[each.name] == nil {
			each.in[each.name] = &Tally{}
		}
		each.in[each.name].Asked++
		if verdict.Allowed {
			each.in[each.name].Allowed++
		}
	}
}

// differ notes a difference, and shrinks it if there was none like it.
func (r *Report) differ(oracles *Oracles, other ask.Answerer, world *worlds.World, sort string, index int, theirs, own Verdict, options Options) {
	item := world.Items[sort][index]
	slices.Sort(item.Changes)
	name := fmt.Sprintf("%s: %s, %q", world.Version, item.Recipe, item.Changes)
	if strings.HasPrefix(own.Text, "error ") {
		name = world.Version + ": " + own.Text
	}
	for _, known := range r.Differences {
		if known.explains(world.Version, item, own) {
			name = known.Name
		}
	}
	r.Unlike[name]++
	if r.Unlike[name] > 1 || len(r.Differences) >= max(1, options.Most) {
		return
	}
	only := world.Body()
	for _, each := range worlds.Sorts {
		only[each] = []worlds.Object{}
	}
	only[sort] = []worlds.Object{item.Body}
	found := Difference{Name: name, Sort: sort, Question: only, Real: theirs, Ours: own, version: world.Version, item: item}
	if !options.Rough {
		found = found.shrink(oracles, other)
	}
	r.Differences = append(r.Differences, found)
}

// Differs tells whether anything differs.
func (r *Report) Differs() bool { return len(r.Differences) > 0 }

// Print prints what was compared, and what differs.
func (r *Report) Print(out io.Writer) error {
	fmt.Fprintf(out, "%d worlds, %d decisions\n", r.Worlds, r.Decisions)
	for _, all := range []map[string]*Tally{r.Sorts, r.Recipes} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			tally := all[name]
			fmt.Fprintf(out, "%8d %-44s %3d %% allowed\n", tally.Asked, name, 100*tally.Allowed/tally.Asked)
		}
	}
	if !r.Differs() {
		fmt.Fprintln(out, "nothing differs")
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unlike)) {
		fmt.Fprintf(out, "%8d times different: %s\n", r.Unlike[name], name)
	}
	var problems []error
	for _, each := range r.Differences {
		problems = append(problems, each.print(out))
	}
	return errors.Join(problems...)
}

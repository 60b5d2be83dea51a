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
	"bailiwick.dev/conformance/crossplane/internal/cases"
)

// attempts is how many smaller questions are tried at most.
const attempts = 3000

// Options say what to compare.
type Options struct {
	// Seed decides the questions, and Stacks how many of them are about stacks.
	Seed   uint64
	Stacks int
	// Most is how many differences are enough; one without it.
	Most int
	// Rough leaves the question in which the sides differ as large as it is.
	Rough bool
}

// Difference is a question that the sides answer differently.
type Difference struct {
	// Question is the smallest that was found, and Point is where the answers differ.
	Question cases.Question
	Point    string
	// Real and Ours are the answers.
	Real, Ours map[string]any
}

// Report is what came of a comparison.
type Report struct {
	// Asked counts the questions, and Stacks those about stacks.
	Asked, Stacks int
	// Counts are the questions by what came of them.
	Counts map[string]int
	// Differences are the first ones, no two of them alike.
	Differences []Difference
}

// Run compares until there are enough differences.
func Run(oracles *Oracles, other ask.Answerer, options Options) (*Report, error) {
	source := rand.New(rand.NewPCG(options.Seed, 1))
	report := &Report{Counts: map[string]int{}}
	for report.Stacks < options.Stacks && len(report.Differences) < max(1, options.Most) {
		question := cases.Random(source)
		real, ours, verdict, err := exchange(oracles, other, question)
		if err != nil {
			return nil, err
		}
		report.Asked++
		if question.Kind == "stack" {
			report.Stacks++
		}
		found := Difference{question, verdict.point, real, ours}
		switch {
		case verdict.point == "":
			report.Counts[verdict.count]++
		case slices.ContainsFunc(report.Differences, found.isLike):
			report.Counts["different as before"]++
		case options.Rough:
			report.Differences = append(report.Differences, found)
		default:
			report.Differences = append(report.Differences, found.shrink(oracles, other))
		}
	}
	return report, nil
}

// isLike is true where another difference is in the same point of the same kind of questions.
func (d Difference) isLike(other Difference) bool {
	return d.Question.Kind == other.Question.Kind && d.Question.Body["revision"] == other.Question.Body["revision"] && same(d.Point, other.Point)
}

func exchange(oracles *Oracles, other ask.Answerer, question cases.Question) (real, ours map[string]any, result verdict, err error) {
	if real, err = oracles.Ask(question.Kind, question.Body); err != nil {
		return nil, nil, verdict{}, err
	}
	ours = map[string]any{}
	if err = other.Ask(question.Kind, question.Body, &ours); err != nil {
		return nil, nil, verdict{}, err
	}
	return real, ours, judge(question.Kind, question.Body, real, ours), nil
}

// shrink takes away what a difference does not need. What fails on the way only ends it early.
func (d Difference) shrink(oracles *Oracles, other ask.Answerer) Difference {
	left := attempts
	for again := true; again; {
		again = false
		for _, candidate := range smaller(d.Question.Body) {
			left--
			if left < 0 {
				return d
			}
			question := cases.Question{Kind: d.Question.Kind, Body: candidate.(cases.Object)}
			if !question.IsWhole() {
				continue
			}
			real, ours, verdict, err := exchange(oracles, other, question)
			if errors.Is(err, errBroken) {
				continue
			}
			if err != nil {
				return d
			}
			if same(verdict.point, d.Point) {
				d, again = Difference{question, verdict.point, real, ours}, true
				break
			}
		}
	}
	return d
}

// same is true where two differences are in the same point.
func same(one, two string) bool {
	left, _, _ := strings.Cut(one, "\n")
	right, _, _ := strings.Cut(two, "\n")
	left, _, _ = strings.Cut(left, ": ")
	right, _, _ = strings.Cut(right, ": ")
	return one != "" && left == right
}

// smaller are the values with one part less.
func smaller(value any) []any {
	var all []any
	switch value := value.(type) {
	case cases.Object:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			less := maps.Clone(value)
			delete(less, key)
			all = append(all, less)
			for _, part := range smaller(value[key]) {
				other := maps.Clone(value)
				other[key] = part
				all = append(all, other)
			}
		}
	case []any:
		for index, part := range value {
			all = append(all, slices.Delete(slices.Clone(value), index, index+1))
			for _, part := range smaller(part) {
				other := slices.Clone(value)
				other[index] = part
				all = append(all, other)
			}
		}
	}
	return all
}

// Differs tells whether there was a difference.
func (r *Report) Differs() bool { return len(r.Differences) > 0 }

// Print shows the report, and the smallest questions found in which the sides differ.
func (r *Report) Print(out io.Writer) {
	fmt.Fprintf(out, "%d questions, %d of them stacks\n", r.Asked, r.Stacks)
	for _, count := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(out, "  %-56s %6d\n", count, r.Counts[count])
	}
	if !r.Differs() {
		fmt.Fprintln(out, "no difference")
	}
	for _, found := range r.Differences {
		line, err := ask.Line(cases.Object{found.Question.Kind: found.Question.Body})
		if err != nil {
			line = []byte(err.Error())
		}
		fmt.Fprintf(out, "\n%s\nin the question\n%s\nCrossplane answers\n%s\nwe answer\n%s\n", found.Point, line, text(plain(found.Real)), text(plain(found.Ours)))
	}
}

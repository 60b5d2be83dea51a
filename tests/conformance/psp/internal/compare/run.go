package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/psp/internal/cases"
)

// batch is how many questions are on their way at once.
const batch = 200

// Options say what to compare.
type Options struct {
	// Command is the other side.
	Command []string
	// Seed decides the questions, and Pods how many.
	Seed uint64
	Pods int
	// Rough leaves the question in which the sides differ as large as it is.
	Rough bool
}

// Report is what came of a comparison.
type Report struct {
	// Asked counts the pods, and the others those of them that came to something: a mutated pod, a refused one, one
	// that a policy took.
	Asked, Mutated, Refused, Admitted int
	// Different is the first question in which the sides differ, and Points are the points.
	Different *question
	Points    []string
}

// Run compares until the first difference.
func Run(options Options) (*Report, error) {
	session, err := ask.Start(options.Command...)
	if err != nil {
		return nil, err
	}
	report, err := run(session, options)
	if err != nil {
		session.Close()
		return nil, err
	}
	return report, session.Close()
}

func run(session *ask.Session, options Options) (*Report, error) {
	source := rand.New(rand.NewPCG(options.Seed, 1))
	report := &Report{}
	for report.Asked < options.Pods {
		questions := make([]question, min(batch, options.Pods-report.Asked))
		for index := range questions {
			questions[index] = random(source)
		}
		answers, err := exchange(session, questions)
		if err != nil {
			return nil, err
		}
		for index, answer := range answers {
			points, err := differences(questions[index], answer)
			if err != nil {
				return nil, err
			}
			report.count(answer)
			if len(points) > 0 && options.Rough {
				report.Different, report.Points = &questions[index], points
				return report, nil
			}
			if len(points) > 0 {
				report.Different, report.Points = shrink(session, questions[index], points)
				return report, nil
			}
		}
	}
	return report, nil
}

// exchange puts questions and reads the answers.
func exchange(session *ask.Session, questions []question) ([]json.RawMessage, error) {
	asked := make([]cases.Object, len(questions))
	for index, question := range questions {
		asked[index] = question.asked()
	}
	return ask.All[json.RawMessage](session, asked)
}

// shrink takes away what the first difference does not need. What fails on the way only ends it early.
func shrink(session *ask.Session, q question, points []string) (*question, []string) {
	for again := true; again; {
		again = false
		for _, smaller := range smaller(q.body) {
			candidate := question{q.kind, smaller.(cases.Object)}
			if candidate.isIncomplete() {
				continue
			}
			answers, err := exchange(session, []question{candidate})
			if err != nil {
				return &q, points
			}
			if found, err := differences(candidate, answers[0]); err == nil && isSame(found, points) {
				q, points, again = candidate, found, true
				break
			}
		}
	}
	return &q, points
}

// isSame is true where the first difference is in the same point.
func isSame(found, points []string) bool {
	point := func(text string) string { return strings.SplitN(text, ":", 2)[0] }
	return len(found) > 0 && point(found[0]) == point(points[0])
}

// isIncomplete is true where a question lost what makes it one.
func (q question) isIncomplete() bool {
	_, isList := q.body["psps"].([]any)
	_, isUsable := q.body["usable"].([]any)
	return q.body["pod"] == nil || (q.kind == admit && q.body["psp"] == nil) || (q.kind == choose && !(isList && isUsable)) || (q.kind == merge && !isList) || (q.kind == meaning && (q.body["old"] == nil || q.body["new"] == nil))
}

// smaller are the values with one part less.
func smaller(value any) []any {
	var all []any
	switch value := value.(type) {
	case cases.Object:
		for key, part := range value {
			without := func() cases.Object {
				copied := make(cases.Object, len(value))
				for key, part := range value {
					copied[key] = part
				}
				return copied
			}
			less := without()
			delete(less, key)
			all = append(all, less)
			for _, part := range smaller(part) {
				other := without()
				other[key] = part
				all = append(all, other)
			}
		}
	case []any:
		for index, part := range value {
			less := append(append([]any{}, value[:index]...), value[index+1:]...)
			all = append(all, less)
			for _, part := range smaller(part) {
				other := append([]any{}, value...)
				other[index] = part
				all = append(all, other)
			}
		}
	}
	return all
}

// Differs tells whether there was a difference.
func (r *Report) Differs() bool { return r.Different != nil }

// Print shows the report, and the smallest question found in which the sides differ.
func (r *Report) Print(out io.Writer) {
	fmt.Fprintf(out, "%d pods: %d admitted, %d refused, %d mutated\n", r.Asked, r.Admitted, r.Refused, r.Mutated)
	if r.Different == nil {
		fmt.Fprintln(out, "no difference")
		return
	}
	for _, point := range r.Points {
		fmt.Fprintln(out, point)
	}
	line, err := ask.Line(r.Different.asked())
	if err != nil {
		fmt.Fprintln(out, err)
		return
	}
	fmt.Fprintf(out, "in the question\n%s\n", line)
}

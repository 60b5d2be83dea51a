// Package compare asks both sides the same and tells where they differ.
package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bailiwick.dev/conformance/admissionpolicy/internal/kube"
	"bailiwick.dev/conformance/admissionpolicy/internal/policies"
	"bailiwick.dev/conformance/admissionpolicy/internal/protocol"
	"bailiwick.dev/conformance/ask"
)

const (
	// perBatch is how many policies are asked about at once.
	perBatch = 50
	// mostUnknown is the share of answers, in percent, that may be unknown before that counts as a difference.
	mostUnknown = 3
	// attempts is how often the real side is asked when the sides differ: it goes through maps in no certain order.
	attempts = 24
)

// Options say what to compare with, and for how long.
type Options struct {
	// Command speaks the protocol.
	Command  []string
	Seed     uint64
	Policies int
	// Given are policies to ask beside the random ones.
	Given []map[string]any
	// Enough ends the run at the first batch with a difference.
	Enough bool
	// Show is how many differences are printed.
	Show int
}

// Difference is a request with two verdicts.
type Difference struct {
	Policy  int
	Body    *protocol.Body
	Request *protocol.Request
	Real    protocol.Verdict
	Other   protocol.Verdict
}

// Report counts what was compared.
type Report struct {
	Policies, Refused, Requests, Matched, Denied, Failed, Unknown, Unsteady int
	Differences                                                             []Difference
	// Reasons count why answers are unknown.
	Reasons map[string]int
	Time    time.Duration
}

// Run compares until the policies are used up.
func Run(options Options) (*Report, error) {
	session, err := ask.Start(options.Command...)
	if err != nil {
		return nil, err
	}
	report, begin := &Report{Reasons: map[string]int{}}, time.Now()
	for first := 0; first < options.Policies; first += perBatch {
		var questions []*protocol.Question
		var reals []protocol.Answer
		for number := first; number < min(first+perBatch, options.Policies); number++ {
			question := policies.Question(options.Seed, number, options.Given)
			real, err := kube.Answer(question)
			if err != nil {
				return nil, fmt.Errorf("the real side cannot answer about policy %d: %w", number, err)
			}
			questions, reals = append(questions, question), append(reals, real)
		}
		others, err := ask.All[protocol.Answer](session, questions)
		if err != nil {
			return nil, err
		}
		for index := range questions {
			if err := report.take(first+index, questions[index], reals[index], others[index]); err != nil {
				return nil, err
			}
		}
		if options.Enough && report.Differ() {
			break
		}
	}
	report.Time = time.Since(begin)
	return report, session.Close()
}

func (r *Report) take(number int, question *protocol.Question, real, other protocol.Answer) error {
	r.Policies++
	if !real.Compiles {
		r.Refused++
		return nil
	}
	body := question.Policy
	if len(other.Answers) != len(body.Requests) {
		return fmt.Errorf("policy %d has no answers: %s", number, other.Error)
	}
	for index, request := range body.Requests {
		verdict, found := real.Answers[index], other.Answers[index]
		r.Requests++
		if verdict.Matched {
			r.Matched++
		}
		if verdict.Answer == "deny" {
			r.Denied++
		}
		if found.Answer == "unknown" {
			r.Unknown++
			r.Reasons[found.Message]++
			continue
		}
		if same(verdict, found) {
			continue
		}
		steady := true
		for range attempts {
			again, err := kube.Answer(question)
			if err != nil {
				return err
			}
			steady = steady && !same(again.Answers[index], found)
		}
		if !steady {
			r.Unsteady++
			continue
		}
		r.Differences = append(r.Differences, Difference{number, body, request, verdict, found})
	}
	return nil
}

func same(one, other protocol.Verdict) bool {
	// Beside what is not known, it is not known what is told first.
	if len(other.Unknown) > 0 {
		return one.Answer == other.Answer && one.Matched == other.Matched
	}
	return one.Answer == other.Answer && one.Matched == other.Matched && sameText(one.Message, other.Message) &&
		one.Reason == other.Reason && slices.EqualFunc(one.Warnings, other.Warnings, sameText)
}

// sameText compares what is said. Which function has no overload depends on how the real side plans the evaluation, and
// is given with the number of a node.
func sameText(one, other string) bool {
	const phrase = "no such overload"
	one, _, cut := strings.Cut(one, phrase)
	other, _, otherCut := strings.Cut(other, phrase)
	return one == other && cut == otherCut
}

// Differ tells whether anything does.
func (r *Report) Differ() bool { return len(r.Differences) > 0 || r.tooMuchIsUnknown() }

func (r *Report) tooMuchIsUnknown() bool {
	return r.Requests > 100 && r.Unknown*100 > r.Requests*mostUnknown
}

// Print tells the counts, and some differences.
func (r *Report) Print(out io.Writer, show int) error {
	fmt.Fprintf(out, "%d policies (%d refused by the API server), %d requests (%d matched, %d denied) in %.1f s\n",
		r.Policies, r.Refused, r.Requests, r.Matched, r.Denied, r.Time.Seconds())
	fmt.Fprintf(out, "  %d answers unknown, %d that depend on the order of maps, %d DIFFER\n", r.Unknown, r.Unsteady, len(r.Differences))
	if r.tooMuchIsUnknown() {
		fmt.Fprintf(out, "  more than %d %% are unknown\n", mostUnknown)
	}
	for _, reason := range slices.Sorted(keys(r.Reasons)) {
		fmt.Fprintf(out, "  %6d unknown: %s\n", r.Reasons[reason], reason)
	}
	for _, difference := range r.Differences[:min(show, len(r.Differences))] {
		text, err := json.MarshalIndent(map[string]any{
			"policy": difference.Policy, "spec": difference.Body.Policy["spec"], "binding": difference.Body.Binding["spec"],
			"namespace": difference.Body.Namespace, "request": difference.Request, "real": difference.Real, "other": difference.Other,
		}, "", " ")
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", text)
	}
	return nil
}

func keys(counts map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range counts {
			if !yield(name) {
				return
			}
		}
	}
}

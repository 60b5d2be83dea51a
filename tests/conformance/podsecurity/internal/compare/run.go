// Package compare asks both sides the same and tells where they differ.
package compare

import (
	"fmt"
	"io"
	"slices"
	"time"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/podsecurity/internal/kube"
	"bailiwick.dev/conformance/podsecurity/internal/pods"
	"bailiwick.dev/conformance/podsecurity/internal/protocol"
)

// perBatch is how many pods are asked about at once.
const perBatch = 200

// Options say what to compare with, and for how long.
type Options struct {
	// Command speaks the protocol.
	Command []string
	Seed    uint64
	Pods    int
	// Enough ends the run at the first batch with a difference.
	Enough bool
}

// Difference is a question with two answers.
type Difference struct {
	Pod      int
	Question *protocol.Question
	Real     protocol.Answer
	Other    protocol.Answer
}

// Report counts what was compared.
type Report struct {
	Pods      int
	Verdicts  int
	Allowed   int
	Questions map[string]int
	Differing map[string]int
	// Checks counts how often each check found something.
	Checks map[string]int
	// First is the first difference of each kind of question.
	First []*Difference
	Time  time.Duration
}

// batch is what both sides are asked at once, with the number of the pod of each question.
type batch struct {
	questions []*protocol.Question
	pods      []int
	other     []protocol.Answer
	err       error
}

// Run compares until the pods are used up.
func Run(options Options) (*Report, error) {
	server, err := kube.NewServer()
	if err != nil {
		return nil, err
	}
	session, err := ask.Start(options.Command...)
	if err != nil {
		return nil, err
	}
	report := &Report{Questions: map[string]int{}, Differing: map[string]int{}, Checks: map[string]int{}}
	begin := time.Now()
	// The other side works on the next batch while the real one works on this.
	batches, stop := make(chan batch, 1), make(chan struct{})
	go func() {
		defer close(batches)
		for first := 0; first < options.Pods; first += perBatch {
			next := prepare(options.Seed, first, min(first+perBatch, options.Pods))
			if next.err == nil {
				next.other, next.err = ask.All[protocol.Answer](session, next.questions)
			}
			select {
			case batches <- next:
			case <-stop:
				return
			}
			if next.err != nil {
				return
			}
		}
	}()
	for next := range batches {
		if next.err == nil {
			next.err = report.take(server, next)
		}
		if next.err != nil {
			return nil, next.err
		}
		if options.Enough && report.Differ() {
			close(stop)
			for range batches {
			}
			break
		}
	}
	report.Time = time.Since(begin)
	return report, session.Close()
}

func prepare(seed uint64, from, to int) batch {
	made := batch{}
	for number := from; number < to; number++ {
		questions, err := pods.Questions(seed, number)
		if err != nil {
			return batch{err: err}
		}
		made.questions = append(made.questions, questions...)
		for range questions {
			made.pods = append(made.pods, number)
		}
	}
	return made
}

func (r *Report) take(server *kube.Server, asked batch) error {
	r.Pods += asked.pods[len(asked.pods)-1] - asked.pods[0] + 1
	for index, question := range asked.questions {
		kind := question.Kind()
		real, err := server.Answer(question)
		if err != nil {
			return fmt.Errorf("the real side cannot answer about pod %d: %w", asked.pods[index], err)
		}
		r.Questions[kind]++
		r.count(real)
		if protocol.Same(real, asked.other[index]) {
			continue
		}
		if r.Differing[kind]++; r.Differing[kind] == 1 {
			r.First = append(r.First, &Difference{Pod: asked.pods[index], Question: question, Real: real, Other: asked.other[index]})
		}
	}
	return nil
}

// count counts the verdicts of an answer.
func (r *Report) count(answer protocol.Answer) {
	verdicts, several := answer["answers"].([]any)
	if !several {
		verdicts = []any{map[string]any(answer)}
	}
	for _, verdict := range verdicts {
		fields, _ := verdict.(map[string]any)
		checks, judged := fields["checks"].([]any)
		if !judged {
			continue
		}
		r.Verdicts++
		if fields["allowed"] == true {
			r.Allowed++
		}
		for _, check := range checks {
			r.Checks[fmt.Sprint(check)]++
		}
	}
}

// Differ tells whether anything does.
func (r *Report) Differ() bool { return len(r.First) > 0 }

// Print tells the counts.
func (r *Report) Print(out io.Writer) {
	share := 100 * float64(r.Allowed) / float64(max(r.Verdicts, 1))
	fmt.Fprintf(out, "%d pods, %d verdicts (%.0f%% allowed) in %.1f s\n", r.Pods, r.Verdicts, share, r.Time.Seconds())
	for _, kind := range sorted(r.Questions) {
		verdict := "equal"
		if count := r.Differing[kind]; count > 0 {
			verdict = fmt.Sprintf("%d DIFFER", count)
		}
		fmt.Fprintf(out, "  %-17s %8d %s\n", kind, r.Questions[kind], verdict)
	}
	fmt.Fprintln(out, "checks that found something:")
	for _, check := range sorted(r.Checks) {
		fmt.Fprintf(out, "  %-27s %8d\n", check, r.Checks[check])
	}
}

func sorted(counts map[string]int) []string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

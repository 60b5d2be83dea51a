// Package compare asks both sides the same and tells where they differ.
package compare

import (
	"fmt"
	"io"
	"slices"
	"time"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/rbac/internal/kube"
	"bailiwick.dev/conformance/rbac/internal/protocol"
	"bailiwick.dev/conformance/rbac/internal/worlds"
)

const (
	// perWorld is how many decisions are asked for about one world.
	perWorld = 250
	// ahead is how many batches the other side may be ahead of us.
	ahead = 8
)

// Options say what to compare with, and for how long.
type Options struct {
	// Command speaks the protocol.
	Command   []string
	Seed      uint64
	Decisions int
	// Seconds ends the run before all decisions are made, when it is not 0.
	Seconds int
	// Enough differences end the run early, when it is not 0.
	Enough int
	// List prints so many differences of each kind as they are, before the first of each is shrunk.
	List int
}

// Difference is a question with two answers.
type Difference struct {
	Batch    int
	World    *protocol.Question
	Question *protocol.Question
	Real     protocol.Answer
	Other    protocol.Answer
}

// Report counts what was compared.
type Report struct {
	Worlds      int
	Decisions   int
	Allowed     int
	Questions   map[string]int
	Differences map[string]int
	// First is the first difference of each kind of question, Others are more of them.
	First  []*Difference
	Others []*Difference
	Time   time.Duration
}

// Run compares until the decisions or the seconds are used up.
func Run(options Options) (*Report, error) {
	server, err := kube.NewServer()
	if err != nil {
		return nil, err
	}
	session, err := ask.Start(options.Command...)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	report := &Report{Questions: map[string]int{}, Differences: map[string]int{}}
	batches, stop := make(chan sent, ahead), make(chan struct{})
	go send(options, session, batches, stop)
	for one := range batches {
		if one.err != nil {
			return nil, one.err
		}
		if err := receive(one.batch, server, session, report, options.List); err != nil {
			return nil, fmt.Errorf("batch %d of seed %d: %w", one.batch.Number, options.Seed, err)
		}
		late := options.Seconds > 0 && time.Since(begin) > time.Duration(options.Seconds)*time.Second
		if late || options.Enough > 0 && sum(report.Differences) >= options.Enough {
			close(stop)
			break
		}
	}
	// What was sent ahead is taken, or the other side could not end.
	for one := range batches {
		if one.err != nil {
			return nil, one.err
		}
		for range 1 + len(one.batch.Questions) {
			if _, err := session.Receive(); err != nil {
				return nil, err
			}
		}
	}
	report.Time = time.Since(begin)
	return report, session.Close()
}

// sent is a batch on its way to the other side, or why there is none.
type sent struct {
	batch *worlds.Batch
	err   error
}

func send(options Options, session *ask.Session, batches chan<- sent, stop <-chan struct{}) {
	defer close(batches)
	for number, left := 0, options.Decisions; left > 0; number++ {
		batch, err := worlds.New(options.Seed, number, min(left, perWorld))
		if err == nil && number == 0 {
			batch.Questions = append(batch.Questions, &protocol.Question{DefaultPolicy: "1.37"})
		}
		left -= perWorld
		var lines [][]byte
		if err == nil {
			lines, err = encode(batch)
		}
		if err != nil {
			batches <- sent{err: err}
			return
		}
		select {
		case batches <- sent{batch: batch}:
		case <-stop:
			return
		}
		if err := session.Send(lines); err != nil {
			// Whoever waits for the answers learns more.
			return
		}
	}
}

func encode(batch *worlds.Batch) ([][]byte, error) {
	lines := make([][]byte, 0, 1+len(batch.Questions))
	for _, question := range append([]*protocol.Question{batch.World}, batch.Questions...) {
		line, err := ask.Line(question)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func receive(batch *worlds.Batch, server *kube.Server, session *ask.Session, report *Report, list int) error {
	report.Worlds++
	refused := false
	for _, question := range append([]*protocol.Question{batch.World}, batch.Questions...) {
		kind := question.Kind()
		real := server.Answer(question)
		if failure, failed := real.(*protocol.Failure); failed && kind == "world" {
			return fmt.Errorf("the real side cannot load a world: %s", failure.Error)
		}
		line, err := session.Receive()
		if err != nil {
			return err
		}
		if refused {
			// It still has the world before this one.
			continue
		}
		other, err := protocol.Parse(line, real)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		_, failed := other.(*protocol.Failure)
		refused = failed && kind == "world"
		other.Normal()
		report.Questions[kind]++
		if question.IsDecision() {
			report.Decisions++
			if answer, ok := real.(*protocol.CanIAnswer); ok && *answer.Allowed {
				report.Allowed++
			}
		}
		if protocol.Same(real, other) {
			continue
		}
		difference := &Difference{Batch: batch.Number, World: batch.World, Question: question, Real: real, Other: other}
		if report.Differences[kind]++; report.Differences[kind] == 1 {
			report.First = append(report.First, difference)
		}
		if report.Differences[kind] <= list {
			report.Others = append(report.Others, difference)
		}
	}
	return nil
}

// Print tells the counts.
func (r *Report) Print(out io.Writer) {
	share := 0.0
	if r.Decisions > 0 {
		share = 100 * float64(r.Allowed) / float64(r.Decisions)
	}
	fmt.Fprintf(out, "%d worlds, %d decisions (%.0f%% yes) in %.1f s\n", r.Worlds, r.Decisions, share, r.Time.Seconds())
	kinds := make([]string, 0, len(r.Questions))
	for kind := range r.Questions {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		verdict := "equal"
		if count := r.Differences[kind]; count > 0 {
			verdict = fmt.Sprintf("%d DIFFER", count)
		}
		fmt.Fprintf(out, "  %-15s %8d %s\n", kind, r.Questions[kind], verdict)
	}
}

// Differ tells whether anything does.
func (r *Report) Differ() bool { return len(r.First) > 0 }

func sum(counts map[string]int) int {
	total := 0
	for _, count := range counts {
		total += count
	}
	return total
}

// Explain shrinks the first difference of each kind and prints it.
func (r *Report) Explain(out io.Writer, options Options) error {
	for _, difference := range r.Others {
		difference.PrintLine(out)
	}
	shrinker, err := NewShrinker(options.Command)
	if err != nil {
		return err
	}
	for _, difference := range r.First {
		smallest, err := shrinker.Shrink(difference)
		if err != nil {
			fmt.Fprintln(out, err)
			smallest = difference
		}
		smallest.Print(out, options.Seed)
	}
	return shrinker.Close()
}

package lies

import (
	"encoding/json"
	"fmt"
	"io"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/rbac/internal/compare"
	"bailiwick.dev/conformance/rbac/internal/kube"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// Serve answers each line until there are no more; the truth if there is no lie.
func Serve(input io.Reader, output io.Writer, lie *Lie) error {
	server, err := kube.NewServer()
	if err != nil {
		return err
	}
	if lie != nil && lie.objects != nil {
		server.Misread = func(objects *kube.Objects) *kube.Objects {
			copied := objects.DeepCopy()
			lie.objects(copied)
			return copied
		}
	}
	count := 0
	return ask.Serve(input, output, func(line []byte) (any, error) {
		if count++; lie != nil && lie.after > 0 && count > lie.after {
			return nil, io.EOF
		}
		return answer(server, line, lie), nil
	})
}

func answer(server *kube.Server, line []byte, lie *Lie) protocol.Answer {
	question := &protocol.Question{}
	if err := json.Unmarshal(line, question); err != nil {
		return &protocol.Failure{Error: err.Error()}
	}
	if lie != nil && lie.question != nil {
		lie.question(question)
	}
	answer := server.Answer(question)
	if lie != nil && lie.answer != nil {
		lie.answer(question, answer)
	}
	return answer
}

// SelfTest compares the real code with itself, and then with every lie, which has to be noticed.
func SelfTest(out io.Writer, program string, decisions int) error {
	options := compare.Options{Command: []string{program, "serve"}, Seed: 1, Decisions: decisions, Enough: 1}
	report, err := compare.Run(options)
	if err != nil {
		return err
	}
	if report.Differ() {
		report.Print(out)
		return fmt.Errorf("self-test: the real code differs from itself")
	}
	for _, lie := range All {
		options.Command = []string{program, "serve", "--lie", lie.Name}
		report, err := compare.Run(options)
		if lie.after > 0 {
			if err == nil {
				return fmt.Errorf("self-test: nobody notices `%s`", lie.Name)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("self-test: %s: %w", lie.Name, err)
		}
		if !report.Differ() {
			return fmt.Errorf("self-test: nobody notices `%s`", lie.Name)
		}
		fmt.Fprintf(out, "%-28s noticed within %d decisions\n", lie.Name, report.Decisions)
	}
	fmt.Fprintf(out, "self-test: %d lies, all noticed\n", len(All))
	return nil
}

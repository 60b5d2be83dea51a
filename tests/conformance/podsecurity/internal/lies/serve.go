package lies

import (
	"encoding/json"
	"fmt"
	"io"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/podsecurity/internal/compare"
	"bailiwick.dev/conformance/podsecurity/internal/kube"
	"bailiwick.dev/conformance/podsecurity/internal/protocol"
)

// Serve answers each line until there are no more; the truth if there is no lie.
func Serve(input io.Reader, output io.Writer, lie *Lie) error {
	if lie == nil {
		lie = &Lie{}
	}
	server, err := kube.NewServer()
	if err != nil {
		return err
	}
	server.Misread = lie.pod
	count := 0
	return ask.Serve(input, output, func(line []byte) (any, error) {
		if count++; lie.after > 0 && count > lie.after {
			return nil, io.EOF
		}
		return lie.tell(server, line), nil
	})
}

func (l *Lie) tell(server *kube.Server, line []byte) protocol.Answer {
	question := &protocol.Question{}
	if err := json.Unmarshal(line, question); err != nil {
		return protocol.Answer{"error": err.Error()}
	}
	if l.question != nil {
		l.question(question)
	}
	answer, err := server.Answer(question)
	if err != nil {
		return protocol.Answer{"error": err.Error()}
	}
	if l.answer != nil {
		l.answer(answer)
	}
	return answer
}

// SelfTest compares the real code with itself, and then with every lie, which has to be noticed.
func SelfTest(out io.Writer, program string, pods int) error {
	options := compare.Options{Command: []string{program, "serve"}, Seed: 1, Pods: pods, Enough: true}
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
		fmt.Fprintf(out, "%-24s noticed within %d pods\n", lie.Name, report.Pods)
	}
	fmt.Fprintf(out, "self-test: %d lies, all noticed\n", len(All))
	return nil
}

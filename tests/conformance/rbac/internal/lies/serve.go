package lies

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"bailiwick.dev/conformance/rbac/internal/ask"
	"bailiwick.dev/conformance/rbac/internal/compare"
	"bailiwick.dev/conformance/rbac/internal/kube"
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
	reader, writer := bufio.NewReaderSize(input, 1<<20), bufio.NewWriterSize(output, 1<<20)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for count := 1; ; count++ {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return writer.Flush()
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err := encoder.Encode(answer(server, line, lie)); err != nil {
			return err
		}
		// Whoever waits gets everything that can be said before the next question comes.
		if reader.Buffered() == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		if lie != nil && count == lie.after {
			return writer.Flush()
		}
	}
}

func answer(server *kube.Server, line []byte, lie *Lie) ask.Answer {
	question := &ask.Question{}
	if err := json.Unmarshal(line, question); err != nil {
		return &ask.Failure{Error: err.Error()}
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

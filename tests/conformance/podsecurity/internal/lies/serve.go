package lies

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"bailiwick.dev/conformance/podsecurity/internal/ask"
	"bailiwick.dev/conformance/podsecurity/internal/compare"
	"bailiwick.dev/conformance/podsecurity/internal/kube"
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
	reader, writer := bufio.NewReaderSize(input, 1<<20), bufio.NewWriterSize(output, 1<<20)
	for count := 1; ; count++ {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			return writer.Flush()
		}
		if err != nil {
			return err
		}
		told, err := ask.Line(lie.tell(server, line))
		if err != nil {
			return err
		}
		if _, err := writer.Write(append(told, '\n')); err != nil {
			return err
		}
		// Whoever waits gets everything that can be said before the next question comes.
		if reader.Buffered() == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		if count == lie.after {
			return writer.Flush()
		}
	}
}

func (l *Lie) tell(server *kube.Server, line []byte) ask.Answer {
	question := &ask.Question{}
	if err := json.Unmarshal(line, question); err != nil {
		return ask.Answer{"error": err.Error()}
	}
	if l.question != nil {
		l.question(question)
	}
	answer, err := server.Answer(question)
	if err != nil {
		return ask.Answer{"error": err.Error()}
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

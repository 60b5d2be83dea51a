// Package compare puts manifests to Bailiwick and to Kubernetes' own code, and compares the answers.
package compare

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
)

// Process answers a line with a line.
type Process struct {
	command *exec.Cmd
	in      *bufio.Writer
	close   io.Closer
	out     *bufio.Reader
}

// Start starts a program.
func Start(program string, arguments ...string) (*Process, error) {
	command := exec.Command(program, arguments...)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Process{command, bufio.NewWriterSize(in, 1<<16), in, bufio.NewReaderSize(out, 1<<16)}, command.Start()
}

// Ask puts all questions and returns an answer to each.
func Ask[A any](process *Process, questions []any) ([]A, error) {
	failed := make(chan error, 1)
	go func() {
		encoder := json.NewEncoder(process.in)
		for _, question := range questions {
			if err := encoder.Encode(question); err != nil {
				failed <- err
				return
			}
		}
		failed <- process.in.Flush()
	}()
	answers := make([]A, len(questions))
	for index := range answers {
		line, err := process.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(line, &answers[index]); err != nil {
			return nil, err
		}
	}
	return answers, <-failed
}

// Stop ends the program.
func (process *Process) Stop() error {
	if err := process.close.Close(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, process.out)
	if err != nil {
		return err
	}
	// The exit code says that a question was invalid; the answer said so too.
	_ = process.command.Wait()
	return nil
}

// Package ask speaks with a program that has the verb `ask`: a question a line, an answer a line.
package ask

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
)

// Session is a running program.
type Session struct {
	process *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

// Start runs a program.
func Start(command ...string) (*Session, error) {
	process := exec.Command(command[0], command[1:]...)
	input, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	return &Session{process: process, input: input, output: bufio.NewReaderSize(output, 1<<16)}, nil
}

// Ask puts a question and reads the answer into the value that answer points to.
func (s *Session) Ask(kind string, body, answer any) error {
	question, err := json.Marshal(map[string]any{kind: body})
	if err != nil {
		return err
	}
	if _, err := s.input.Write(append(question, '\n')); err != nil {
		return err
	}
	line, err := s.output.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no answer to %s: %w", question, err)
	}
	var problem struct{ Error string }
	if err := json.Unmarshal(line, &problem); err != nil {
		return fmt.Errorf("answer %s: %w", line, err)
	}
	if problem.Error != "" {
		return fmt.Errorf("question %s: %s", question, problem.Error)
	}
	return json.Unmarshal(line, answer)
}

// Close ends the program.
func (s *Session) Close() {
	_ = s.input.Close()
	_ = s.process.Wait()
}

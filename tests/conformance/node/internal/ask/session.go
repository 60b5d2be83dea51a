// Package ask speaks the protocol of `bailiwick ask` with another process: a question a line, an answer a line.
package ask

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// patience is how long an answer may take before the other side counts as hanging.
const patience = 2 * time.Minute

// Answerer is whoever answers a question: a process, or something that stands for one.
type Answerer interface {
	Ask(kind string, body, answer any) error
}

// Session is one run of the other side, which is asked through pipes.
type Session struct {
	name    string
	process *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

// Start runs a command that speaks the protocol.
func Start(command ...string) (*Session, error) {
	process := exec.Command(command[0], command[1:]...)
	process.Stderr = os.Stderr
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
	return &Session{filepath.Base(command[0]), process, input, bufio.NewReaderSize(output, 1<<20)}, nil
}

// Ask puts a question and reads the answer into the value that answer points to.
func (s *Session) Ask(kind string, body, answer any) error {
	question, err := json.Marshal(map[string]any{kind: body})
	if err != nil {
		return err
	}
	timer := time.AfterFunc(patience, func() { _ = s.process.Process.Kill() })
	defer timer.Stop()
	if _, err := s.input.Write(append(question, '\n')); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	line, err := s.output.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s gives no answer to %s: %w", s.name, question, err)
	}
	if err := json.Unmarshal(line, answer); err != nil {
		return fmt.Errorf("%s answers %s: %w", s.name, line, err)
	}
	return nil
}

// Close ends the other side. Bad questions end it with 2, which is no fault of its own.
func (s *Session) Close() error {
	if err := s.input.Close(); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, s.output)
	err := s.process.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		return nil
	}
	return err
}

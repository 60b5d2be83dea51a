// Package ask is the protocol of `bailiwick ask`: a JSON question on a line, a JSON answer on a line.
//
// Every harness uses this package, whatever versions of Kubernetes it pins. Therefore the package is a module of its own, which requires
// nothing but the standard library.
package ask

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// patience is how long an answer may take before the program counts as hanging.
const patience = 5 * time.Minute

// Answerer answers questions: a program, or a stand-in for one.
type Answerer interface {
	// Ask puts a question and reads the answer into the value that answer points to.
	Ask(kind string, body, answer any) error
}

// Session is a running program that answers questions through pipes.
type Session struct {
	name    string
	process *exec.Cmd
	input   io.WriteCloser
	writer  *bufio.Writer
	lines   chan []byte
	failed  chan error
}

// Start starts a program that speaks the protocol.
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
	session := &Session{
		name:    filepath.Base(command[0]),
		process: process,
		input:   input,
		writer:  bufio.NewWriterSize(input, 1<<16),
		lines:   make(chan []byte, 4096),
		failed:  make(chan error, 1),
	}
	// Read at once: an answer that is not read would block the program, and then the harness.
	go session.read(bufio.NewReaderSize(output, 1<<20))
	return session, nil
}

func (s *Session) read(output *bufio.Reader) {
	defer close(s.lines)
	for {
		line, err := output.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			s.lines <- line
		}
		if err != nil {
			if err != io.EOF {
				s.failed <- err
			}
			return
		}
	}
}

// Ask puts a question and reads the answer into the value that answer points to.
func (s *Session) Ask(kind string, body, answer any) error {
	question, err := Line(map[string]any{kind: body})
	if err != nil {
		return err
	}
	if err := s.Send([][]byte{question}); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	line, err := s.Receive()
	if err != nil {
		return fmt.Errorf("question %s: %w", question, err)
	}
	return s.parse(line, answer)
}

// All puts questions and reads the answers.
func All[Answer, Question any](session *Session, questions []Question) ([]Answer, error) {
	lines := make([][]byte, len(questions))
	for index, question := range questions {
		line, err := Line(question)
		if err != nil {
			return nil, err
		}
		lines[index] = line
	}
	// Beside each other, because the pipes do not hold everything.
	sent := make(chan error, 1)
	go func() { sent <- session.Send(lines) }()
	answers := make([]Answer, len(questions))
	for index := range answers {
		line, err := session.Receive()
		if err != nil {
			return nil, err
		}
		if err := session.parse(line, &answers[index]); err != nil {
			return nil, err
		}
	}
	return answers, <-sent
}

// Send writes questions that are lines already.
func (s *Session) Send(lines [][]byte) error {
	for _, line := range lines {
		if _, err := s.writer.Write(line); err != nil {
			return err
		}
		if err := s.writer.WriteByte('\n'); err != nil {
			return err
		}
	}
	return s.writer.Flush()
}

// Receive waits for the next answer.
func (s *Session) Receive() ([]byte, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case line, isOpen := <-s.lines:
		if isOpen {
			return line, nil
		}
	case <-timer.C:
		return nil, fmt.Errorf("%s gives no answer within %s", s.name, patience)
	}
	select {
	case err := <-s.failed:
		return nil, fmt.Errorf("%s: %w", s.name, err)
	default:
		return nil, fmt.Errorf("%s ended before it had answered everything", s.name)
	}
}

// Close ends the program. Invalid questions end it with 2, which is not its error.
func (s *Session) Close() error {
	if err := s.input.Close(); err != nil {
		return err
	}
	for range s.lines {
	}
	err := s.process.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		return nil
	}
	return err
}

func (s *Session) parse(line []byte, answer any) error {
	if err := json.Unmarshal(line, answer); err != nil {
		return fmt.Errorf("%s answers %.200q: %w", s.name, line, err)
	}
	return nil
}

// Line returns a question or an answer as a line of the protocol, without the end of the line.
func Line(value any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(line.Bytes(), "\n"), nil
}

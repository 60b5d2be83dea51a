package ask

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// patience is how long an answer may take before the other side counts as hanging.
const patience = 5 * time.Minute

// Session is one run of the other side, which is asked through pipes.
type Session struct {
	process *exec.Cmd
	input   io.WriteCloser
	writer  *bufio.Writer
	lines   chan []byte
}

// Start runs a command that speaks the protocol.
func Start(command []string) (*Session, error) {
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
	session := &Session{process: process, input: input, writer: bufio.NewWriterSize(input, 1<<16), lines: make(chan []byte, 4096)}
	// Read at once: an answer that nobody takes would block the other side, and then us.
	go func() {
		defer close(session.lines)
		for reader := bufio.NewReaderSize(output, 1<<20); ; {
			line, err := reader.ReadBytes('\n')
			if len(line) > 0 {
				session.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return session, nil
}

// Ask sends questions and takes their answers.
func (s *Session) Ask(questions []*Question) ([]Answer, error) {
	sent := make(chan error, 1)
	go func() { sent <- s.send(questions) }()
	answers := make([]Answer, 0, len(questions))
	for range questions {
		line, err := s.receive()
		if err != nil {
			return nil, err
		}
		answer, err := Parse(line)
		if err != nil {
			return nil, fmt.Errorf("not an answer: %q: %w", line, err)
		}
		answers = append(answers, answer)
	}
	return answers, <-sent
}

func (s *Session) send(questions []*Question) error {
	for _, question := range questions {
		line, err := Line(question)
		if err != nil {
			return err
		}
		if _, err := s.writer.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return s.writer.Flush()
}

func (s *Session) receive() ([]byte, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case line, open := <-s.lines:
		if !open {
			return nil, errors.New("it ended before it had answered everything")
		}
		return line, nil
	case <-timer.C:
		return nil, fmt.Errorf("no answer within %s", patience)
	}
}

// Close ends the other side. Bad questions end it with 2, which is no fault of its own.
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

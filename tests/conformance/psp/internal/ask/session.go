// Package ask speaks the protocol of `bailiwick ask` with another process.
package ask

import (
	"bufio"
	"bytes"
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
	lines   chan []byte
	failed  chan error
	output  *bufio.Reader
	writer  *bufio.Writer
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
	session := &Session{
		process: process,
		input:   input,
		lines:   make(chan []byte, 4096),
		failed:  make(chan error, 1),
		output:  bufio.NewReaderSize(output, 1<<20),
		writer:  bufio.NewWriterSize(input, 1<<16),
	}
	// Read at once: an answer that nobody takes would block the other side, and then us.
	go session.read()
	return session, nil
}

func (s *Session) read() {
	defer close(s.lines)
	for {
		line, err := s.output.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
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

// Receive takes the next answer.
func (s *Session) Receive() ([]byte, error) {
	select {
	case line, open := <-s.lines:
		if !open {
			return nil, s.ended()
		}
		return line, nil
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case line, open := <-s.lines:
		if !open {
			return nil, s.ended()
		}
		return line, nil
	case <-timer.C:
		return nil, fmt.Errorf("no answer within %s", patience)
	}
}

func (s *Session) ended() error {
	select {
	case err := <-s.failed:
		return err
	default:
		return errors.New("it ended before it had answered everything")
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

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"time"

	"bailiwick.dev/conformance/readers/wire"
)

// limit is how long a reader or the program may take for one folder.
const limit = 10 * time.Second

// process is the program of a reader, which answers requests until it is stopped.
type process struct {
	path   string
	ran    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
}

func (p *process) start() error {
	ran := exec.Command(p.path)
	input, err := ran.StdinPipe()
	if err != nil {
		return err
	}
	output, err := ran.StdoutPipe()
	if err != nil {
		return err
	}
	if err := ran.Start(); err != nil {
		return err
	}
	p.ran, p.input, p.output = ran, input, bufio.NewReaderSize(output, 1<<16)
	return nil
}

func (p *process) stop() {
	if p.ran == nil {
		return
	}
	_ = p.input.Close()
	_ = p.ran.Process.Kill()
	_ = p.ran.Wait()
	p.ran = nil
}

// read asks the reader. A reader that dies or takes too long is started again for the next request.
func (p *process) read(request wire.Request) wire.Reading {
	if p.ran == nil {
		if err := p.start(); err != nil {
			cannot("%s: %v", p.path, err)
		}
	}
	encoded, err := json.Marshal(request)
	if err != nil {
		return wire.Reading{Error: err.Error()}
	}
	if _, err := p.input.Write(append(encoded, '\n')); err != nil {
		p.stop()
		return wire.Reading{Error: "the reader ended: " + err.Error()}
	}
	answered := make(chan wire.Reading, 1)
	go func() {
		line, err := p.output.ReadBytes('\n')
		var reading wire.Reading
		if err == nil {
			err = json.Unmarshal(line, &reading)
		}
		if err != nil {
			reading = wire.Reading{Error: fmt.Sprintf("the reader ended: %v", err)}
		}
		answered <- reading
	}()
	select {
	case reading := <-answered:
		if len(reading.Error) > 16 && reading.Error[:16] == "the reader ended" {
			p.stop()
		}
		return reading
	case <-time.After(6 * limit):
		p.stop()
		<-answered
		return wire.Reading{Error: "the reader takes more than a minute"}
	}
}

// Command oracle answers the questions of `bailiwick ask` about Crossplane with Crossplane's own code. It is built inside
// a copy of that code, because most of it is not exported.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// object is JSON whose fields nobody looks at.
type object = map[string]interface{}

// answerer answers one kind of questions.
type answerer func(body []byte) (interface{}, error)

// serve answers each line with a line until there are no more. An error of ours is {"broken": text}, so that nobody
// takes it for an answer of Crossplane.
func serve(answerers map[string]answerer) {
	reader, writer := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(writer)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return
		}
		if err != nil && err != io.EOF {
			fail(err)
		}
		answer, err := answer(answerers, line)
		if err != nil {
			answer = object{"broken": err.Error()}
		}
		if err := encoder.Encode(answer); err != nil {
			fail(err)
		}
		// Whoever waits gets everything that can be said before the next question comes.
		if reader.Buffered() == 0 {
			if err := writer.Flush(); err != nil {
				fail(err)
			}
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "oracle:", err)
	os.Exit(3)
}

func answer(answerers map[string]answerer, line []byte) (interface{}, error) {
	var asked map[string]json.RawMessage
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	for kind, body := range asked {
		if answerer := answerers[kind]; answerer != nil {
			return answerer(body)
		}
	}
	return nil, fmt.Errorf("no such question: %s", line)
}

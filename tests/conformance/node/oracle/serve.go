// Command oracle answers the question `node` of `bailiwick ask`, and the newest also `node-reach`, with the code of one
// release of Kubernetes. Two more questions help whoever makes questions: `prepare` and `gates`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// object is JSON whose fields nobody looks at.
type object = map[string]interface{}

// reach tells what comes to nodes, where a release can tell.
var reach func(*question) (interface{}, error)

func main() {
	// What is refused is logged, and much is.
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	reader, writer := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<16)
	encoder := json.NewEncoder(writer)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return
		}
		if err != nil && err != io.EOF {
			fail(err)
		}
		if err := encoder.Encode(answer(line)); err != nil {
			fail(err)
		}
		if err := writer.Flush(); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "oracle:", err)
	os.Exit(3)
}

// answer answers a line. What goes wrong on our side is {"broken": text}, so that nobody takes it for an answer.
func answer(line []byte) (result interface{}) {
	defer func() {
		if problem := recover(); problem != nil {
			result = object{"broken": fmt.Sprintf("%v\n%s", problem, debug.Stack())}
		}
	}()
	var asked struct {
		Node    *question `json:"node"`
		Reach   *question `json:"node-reach"`
		Prepare *question `json:"prepare"`
		Gates   []string  `json:"gates"`
	}
	err := json.Unmarshal(line, &asked)
	switch {
	case err != nil:
	case asked.Node != nil:
		result, err = asked.Node.decide()
	case asked.Reach != nil && reach != nil:
		result, err = reach(asked.Reach)
	case asked.Prepare != nil:
		result, err = asked.Prepare.prepare()
	default:
		result = object{"gates": changeable(asked.Gates)}
	}
	if err != nil {
		return object{"broken": err.Error()}
	}
	return result
}

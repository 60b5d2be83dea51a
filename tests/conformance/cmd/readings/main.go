// Command readings rewrites tests/yaml/kubectl-readings.jsonl: each line holds a text, and gets what kubectl's
// reader makes of it, either the documents that are not empty or "refused".
//
//	readings ../yaml/kubectl-readings.jsonl
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"bailiwick.dev/conformance/internal/kubectl"
)

type reading struct {
	Text      string `json:"text"`
	Refused   bool   `json:"refused,omitempty"`
	Documents []any  `json:"documents,omitempty"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: readings FILE.jsonl")
		os.Exit(2)
	}
	if err := rewrite(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "readings:", err)
		os.Exit(3)
	}
}

func rewrite(path string) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var after bytes.Buffer
	encoder := json.NewEncoder(&after)
	encoder.SetEscapeHTML(false)
	for _, line := range bytes.Split(bytes.TrimSpace(before), []byte("\n")) {
		var one reading
		if err := json.Unmarshal(line, &one); err != nil {
			return err
		}
		if err := encoder.Encode(read(one.Text)); err != nil {
			return err
		}
	}
	return os.WriteFile(path, after.Bytes(), 0o644)
}

func read(text string) reading {
	one := reading{Text: text}
	if values := kubectl.Values(text); len(values) > 1 {
		one.Documents = values
		return one
	}
	for _, part := range kubectl.Split(text) {
		value, err := kubectl.Read(part)
		if err != nil {
			return reading{Text: text, Refused: true}
		}
		if value != nil {
			one.Documents = append(one.Documents, value)
		}
	}
	return one
}

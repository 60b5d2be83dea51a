// Command oracle puts manifests to the decoding, defaulting and validation of one release of Kubernetes.
//
// It reads one JSON object a line and writes one verdict a line. Nothing is stored: a strategy prepares and validates an
// object before a create, as the API server does.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// verdict is the server's answer to a create.
type verdict struct {
	// Stage that refused the object: decode, strict, validate, or nothing.
	Stage string `json:"stage,omitempty"`
	// Message of a refusal by decode or strict.
	Message string `json:"message,omitempty"`
	// Errors of a refusal by validate.
	Errors []fieldError `json:"errors,omitempty"`
	// Misfits are the expressions of a policy that do not fit the kinds that it matches.
	Misfits []misfit `json:"misfits,omitempty"`
	// Stored is the object as the server would store it.
	Stored json.RawMessage `json:"stored,omitempty"`
}

type fieldError struct {
	Type    string `json:"type"`
	Field   string `json:"field"`
	Message string `json:"message,omitempty"`
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "kinds" {
		for _, known := range kinds() {
			fmt.Println(known)
		}
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<24)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		if err := encoder.Encode(judge(lines.Bytes())); err != nil {
			panic(err)
		}
		if err := out.Flush(); err != nil {
			panic(err)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(3)
	}
}

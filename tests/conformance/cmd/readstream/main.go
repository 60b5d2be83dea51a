// Readstream reads texts from standard input and writes what kubectl reads in each.
//
// A message in either direction is its length in four bytes, lowest first, and its bytes. The answer is a JSON array of
// the documents that are not empty, or null where the reader refuses the text.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"

	"bailiwick.dev/conformance/internal/kubectl"
)

func main() {
	input, output := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		var length uint32
		if binary.Read(input, binary.LittleEndian, &length) != nil {
			return
		}
		text := make([]byte, length)
		if _, err := io.ReadFull(input, text); err != nil {
			os.Exit(1)
		}
		answer, err := json.Marshal(documents(string(text)))
		if err != nil {
			answer = []byte("null")
		}
		if binary.Write(output, binary.LittleEndian, uint32(len(answer))) != nil {
			os.Exit(1)
		}
		output.Write(answer)
		if output.Flush() != nil {
			os.Exit(1)
		}
	}
}

// documents reads every document of a text; nil if the reader refuses one of them.
func documents(text string) []any {
	read := []any{}
	for _, part := range kubectl.Split(text) {
		value, err := kubectl.ReadStrict(part)
		if err != nil {
			return nil
		}
		if value != nil {
			read = append(read, value)
		}
	}
	return read
}

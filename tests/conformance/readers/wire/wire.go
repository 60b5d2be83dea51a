// Package wire is what the driver and the programs of the readers say to each other: one JSON value a line.
package wire

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
)

// Request names a folder of a repository.
type Request struct {
	// Root is the folder of the repository.
	Root string `json:"root"`
	// Path is the folder that the applier reads, below Root.
	Path string `json:"path"`
	// Variables are replaced after the build (Flux).
	Variables map[string]string `json:"variables,omitempty"`
	// Application is the name of the Application (Argo CD).
	Application string `json:"application,omitempty"`
	// Detect leaves the type of the source to the reader (Argo CD).
	Detect bool `json:"detect,omitempty"`
}

// Object is one object as a reader makes it.
type Object struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Digest    string `json:"digest"`
	// Excluded says that the settings exclude the kind (Argo CD).
	Excluded bool            `json:"excluded,omitempty"`
	Content  json.RawMessage `json:"content,omitempty"`
}

// Reading is the answer to a request.
type Reading struct {
	Objects []Object `json:"objects"`
	Error   string   `json:"error,omitempty"`
}

// Identity is group, version, kind, namespace and name in one text.
func (o Object) Identity() string {
	kind := o.Version + "/" + o.Kind
	if o.Group != "" {
		kind = o.Group + "/" + kind
	}
	return fmt.Sprintf("%s %q/%q", kind, o.Namespace, o.Name)
}

// NewObject takes over the content of an object, which is a map of JSON.
func NewObject(content any) (Object, error) {
	encoded, err := json.Marshal(content)
	if err != nil {
		return Object{}, err
	}
	return FromJSON(encoded)
}

// FromJSON takes over the content of an object.
func FromJSON(encoded []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return Object{}, err
	}
	var text bytes.Buffer
	if err := canonical(&text, value); err != nil {
		return Object{}, err
	}
	sum := sha256.Sum256(text.Bytes())
	object := Object{Digest: hex.EncodeToString(sum[:8]), Content: text.Bytes()}
	fields, _ := value.(map[string]any)
	object.Group, object.Version, _ = strings.Cut(textOf(fields["apiVersion"]), "/")
	if !strings.Contains(textOf(fields["apiVersion"]), "/") {
		object.Group, object.Version = "", object.Group
	}
	object.Kind = textOf(fields["kind"])
	metadata, _ := fields["metadata"].(map[string]any)
	object.Namespace, object.Name = textOf(metadata["namespace"]), textOf(metadata["name"])
	return object, nil
}

func textOf(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	default:
		return fmt.Sprintf("%T %v", value, value)
	}
}

// canonical writes sorted keys, no blanks, and one form of each number and string.
func canonical(out *bytes.Buffer, value any) error {
	switch value := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		out.WriteByte('{')
		for index, key := range keys {
			if index > 0 {
				out.WriteByte(',')
			}
			writeString(out, key)
			out.WriteByte(':')
			if err := canonical(out, value[key]); err != nil {
				return err
			}
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for index, item := range value {
			if index > 0 {
				out.WriteByte(',')
			}
			if err := canonical(out, item); err != nil {
				return err
			}
		}
		out.WriteByte(']')
	case json.Number:
		return writeNumber(out, value)
	case string:
		writeString(out, value)
	case bool:
		out.WriteString(strconv.FormatBool(value))
	case nil:
		out.WriteString("null")
	default:
		return fmt.Errorf("%T is no value of JSON", value)
	}
	return nil
}

// writeNumber: 1, 1.0 and 1e0 are one number to the API server.
func writeNumber(out *bytes.Buffer, number json.Number) error {
	if whole, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
		out.WriteString(strconv.FormatInt(whole, 10))
		return nil
	}
	value, err := number.Float64()
	if err != nil {
		return err
	}
	if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
		out.WriteString(strconv.FormatInt(int64(value), 10))
		return nil
	}
	out.WriteString(strconv.FormatFloat(value, 'g', -1, 64))
	return nil
}

func writeString(out *bytes.Buffer, text string) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	out.Write(bytes.TrimSuffix(encoded.Bytes(), []byte("\n")))
}

// Serve answers requests of standard input until it ends. A panic is an error of the reader.
func Serve(read func(Request) ([]Object, error)) {
	// What a library prints must not be taken for an answer.
	answers := os.Stdout
	os.Stdout = os.Stderr
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, 1<<26)
	encoder := json.NewEncoder(answers)
	encoder.SetEscapeHTML(false)
	for scanner.Scan() {
		var request Request
		if err := json.Unmarshal(scanner.Bytes(), &request); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if err := encoder.Encode(Guarded(func() ([]Object, error) { return read(request) })); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	}
}

// Guarded runs a reader in this program.
func Guarded(read func() ([]Object, error)) (reading Reading) {
	defer func() {
		if problem := recover(); problem != nil {
			reading = Reading{Error: fmt.Sprintf("panic: %v", problem)}
		}
	}()
	objects, err := read()
	reading.Objects = objects
	if err != nil {
		reading.Error = err.Error()
		if reading.Error == "" {
			reading.Error = "an error without a text"
		}
	}
	return reading
}

package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// Print shows the world as YAML, and the question and both answers as JSON.
func (d *Difference) Print(out io.Writer, seed uint64) {
	fmt.Fprintf(out, "--- %s, seed %d, batch %d\n", d.Question.Kind(), seed, d.Batch)
	if d.World.World.Baseline != "" {
		fmt.Fprintf(out, "baseline: %q\n", d.World.World.Baseline)
	}
	fmt.Fprintln(out, "objects:")
	for _, object := range d.World.World.Objects {
		text, err := yaml.JSONToYAML(object)
		if err != nil {
			text = object
		}
		lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		fmt.Fprintln(out, "- "+strings.Join(lines, "\n  "))
	}
	// The question as it can be piped into either side.
	for _, one := range []struct {
		name  string
		value any
	}{{"world", d.World}, {"question", d.Question}, {"kubernetes", d.Real}, {"other", d.Other}} {
		line, err := marshal(one.value)
		if err != nil {
			line = err.Error()
		}
		fmt.Fprintf(out, "%-11s %s\n", one.name+":", line)
	}
}

// PrintLine shows the question and both answers only.
func (d *Difference) PrintLine(out io.Writer) {
	parts := []any{d.Question, d.Real, d.Other}
	var texts []any
	for _, part := range parts {
		text, err := marshal(part)
		if err != nil {
			text = err.Error()
		}
		texts = append(texts, text)
	}
	fmt.Fprintf(out, "%s\n  kubernetes: %s\n  other:      %s\n", texts...)
}

func marshal(value any) (string, error) {
	if question, ok := value.(*protocol.Question); ok {
		line, err := ask.Line(question)
		return string(line), err
	}
	line, err := json.Marshal(value)
	return string(line), err
}

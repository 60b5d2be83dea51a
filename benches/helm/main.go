// Command helm-render renders a chart over a table of tenants with Helm's own engine, and does nothing else that
// `helm template` does: no hooks, no sorting, no reading back.
//
//	helm-render [-json] CHART ROWS
//
// ROWS is an array of JSON objects, which becomes the value `tenants`. Prints what the templates gave; with -json every
// object as one line of JSON, read by Kubernetes' own reader, to compare it with the objects of others.
//
// The chart ranges over the tenants: to render once for each takes two to five times as long, since the engine parses
// every template again.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

func main() {
	asJSON := flag.Bool("json", false, "print one JSON object a line")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: helm-render [-json] CHART ROWS")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(chart, rows string, asJSON bool) error {
	files, err := render(chart, rows)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for _, text := range files {
		if asJSON {
			err = writeJSON(out, text)
		} else {
			_, err = out.WriteString(text)
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// render gives the text of every template by its path.
func render(chartPath, rowsPath string) (map[string]string, error) {
	chart, err := loader.Load(chartPath)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(rowsPath)
	if err != nil {
		return nil, err
	}
	var rows []any
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, err
	}
	given := map[string]any{"tenants": rows}
	values, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "tenants"}, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, values)
}

// writeJSON prints every document of a YAML stream as a line.
func writeJSON(out *bufio.Writer, text string) error {
	for _, document := range strings.Split(text, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		line, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

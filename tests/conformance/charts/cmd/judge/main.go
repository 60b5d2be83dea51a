// Command judge compares rendered charts and bases with the results of the compiler.
//
//	judge import RENDERED NAMESPACE REPORT OUTPUT
//	judge manifests RENDERED NAMESPACE OUTPUT CHECK
//	judge lint FINDINGS OTHER-FINDINGS
//
// RENDERED is the output of `helm template` or `kustomize build`, and NAMESPACE the namespace of its namespaced objects
// without one. REPORT is the JSON of `import`, OUTPUT the lines of `render --stdout --format json`, CHECK the JSON of
// `check`, and FINDINGS the JSON of `lint`. Prints each difference; `judge import` prints the counts of the report on one line. Ends with 0 if nothing
// differs, 1 if something does, 2 on wrong usage or unreadable files.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
)

// shownDifferences bounds the printed differences.
const shownDifferences = 20

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	arguments := os.Args[2:]
	var differences []string
	var err error
	switch {
	case os.Args[1] == "import" && len(arguments) == 4:
		differences, err = judgeImport(arguments[0], arguments[1], arguments[2], arguments[3])
	case os.Args[1] == "manifests" && len(arguments) == 4:
		differences, err = judgeManifests(arguments[0], arguments[1], arguments[2], arguments[3])
	case os.Args[1] == "lint" && len(arguments) == 2:
		differences, err = judgeLint(arguments[0], arguments[1])
	default:
		usage()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(2)
	}
	sort.Strings(differences)
	for number, difference := range differences {
		if number == shownDifferences {
			fmt.Fprintf(os.Stderr, "  ... and %d more\n", len(differences)-number)
			break
		}
		fmt.Fprintln(os.Stderr, "  "+difference)
	}
	if len(differences) > 0 {
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: judge import RENDERED NAMESPACE REPORT OUTPUT | manifests RENDERED NAMESPACE OUTPUT CHECK | lint FINDINGS FINDINGS")
	os.Exit(2)
}

// judgeImport compares the objects with the report of their import, and with the objects of the imported policies.
func judgeImport(rendered, namespace, reportPath, outputPath string) ([]string, error) {
	objects, err := readRendered(rendered, namespace)
	if err != nil {
		return nil, err
	}
	target, err := readReport(reportPath)
	if err != nil {
		return nil, err
	}
	output, err := readOutput(outputPath)
	if err != nil {
		return nil, err
	}
	fmt.Println(target.Read, target.AboutAccess, target.Policies, target.Lines, len(target.EqualAccess), len(target.Manifests))
	differences := target.differences(objects)
	return append(differences, compare(objects, output, target.equalInAccess())...), nil
}

// judgeManifests compares the objects with the output of a Manifests policy over their file, and with the counts of `check`.
func judgeManifests(rendered, namespace, outputPath, checkPath string) ([]string, error) {
	objects, err := readRendered(rendered, namespace)
	if err != nil {
		return nil, err
	}
	output, err := readOutput(outputPath)
	if err != nil {
		return nil, err
	}
	var report struct {
		Changes []struct{ Created, Changed, Deleted, Unchanged int }
	}
	text, err := os.ReadFile(checkPath)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", checkPath, err)
	}
	differences := compare(objects, output, nil)
	for _, counts := range report.Changes {
		if counts.Created+counts.Changed+counts.Deleted > 0 || counts.Unchanged != len(objects) {
			differences = append(differences, fmt.Sprintf("`check` has the counts %+v for %d objects", counts, len(objects)))
		}
	}
	if len(report.Changes) != 1 {
		differences = append(differences, fmt.Sprintf("`check` has %d targets", len(report.Changes)))
	}
	return differences, nil
}

// finding is the part of a finding that does not depend on the place of the object.
type finding struct {
	Code string `json:"code"`
	Risk struct {
		Subject   string `json:"subject"`
		Namespace string `json:"namespace"`
		Right     string `json:"right"`
	} `json:"risk"`
}

// judgeLint compares the findings of two runs, without their places.
func judgeLint(first, second string) ([]string, error) {
	counts := map[finding]int{}
	for step, path := range map[int]string{1: first, -1: second} {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var report struct {
			Findings []finding `json:"findings"`
		}
		if err := json.Unmarshal(text, &report); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, found := range report.Findings {
			counts[found] += step
		}
	}
	var differences []string
	for found, count := range counts {
		if count != 0 {
			one := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", found.Code, found.Risk.Subject, found.Risk.Namespace, found.Risk.Right))
			differences = append(differences, fmt.Sprintf("finding `%s`: %+d in the first run", one, count))
		}
	}
	return differences, nil
}

// Command openshift compares `bailiwick ask` with the label syncer of OpenShift and the order of its admission.
//
//	openshift compare --binary PATH [--seed N] [--namespaces N]
//	openshift self-test [--namespaces N]
//
// compare makes random clusters, asks what becomes of their namespaces, and runs the real controller on them; where
// they differ, it prints the smallest cluster that shows it. self-test proves that mistakes are noticed. Ends with 0 when
// nothing differs, 1 when something does, 2 on wrong usage, 3 when the harness itself cannot run.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/openshift/internal/compare"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

func main() {
	// The controller logs what it thinks of odd objects, and there are many.
	klog.SetLogger(klog.New(nil))
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "openshift:", err)
	}
	os.Exit(code)
}

func run(arguments []string) (int, error) {
	if len(arguments) == 0 {
		return usage, fmt.Errorf("usage: openshift compare|self-test [OPTIONS]")
	}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	binary := flags.String("binary", "", "program with the verb `ask`")
	seed := flags.Uint64("seed", 1, "what the clusters depend on")
	namespaces := flags.Int("namespaces", 4000, "how many namespaces to compare")
	if err := flags.Parse(arguments[1:]); err != nil {
		return usage, err
	}
	switch arguments[0] {
	case "self-test":
		if err := compare.SelfTest(os.Stdout, *namespaces); err != nil {
			return cannot, err
		}
		return equal, nil
	case "compare":
		if *binary == "" {
			return usage, fmt.Errorf("compare needs --binary")
		}
		return runCompare(*binary, *seed, *namespaces)
	}
	return usage, fmt.Errorf("there is no command %s", arguments[0])
}

func runCompare(binary string, seed uint64, namespaces int) (int, error) {
	session, err := ask.Start(binary, "ask")
	if err != nil {
		return cannot, err
	}
	defer session.Close()
	speaker := compare.Program{Session: session}
	report, err := compare.Run(speaker, seed, namespaces)
	if err != nil {
		return cannot, err
	}
	report.Print(os.Stdout)
	if !report.Differ() {
		return equal, nil
	}
	return different, report.Explain(os.Stdout, speaker)
}

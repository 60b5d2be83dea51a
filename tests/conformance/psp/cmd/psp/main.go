// Command psp compares `bailiwick ask` with the PodSecurityPolicy code of Kubernetes 1.24.
//
//	psp compare --binary PATH [--seed N] [--pods N]
//	psp serve [--lie NAME]
//	psp self-test [--pods N]
//
// compare makes random policies and pods, asks both sides and shows the smallest question in which they differ. serve
// speaks the protocol of `bailiwick ask` with the real code, and with --lie it is wrong in a way that compare has to
// notice; self-test proves that it does. Ends with 0 when nothing differs, 1 when something does, 2 on wrong usage, 3
// when the harness itself cannot run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/psp/internal/compare"
	"bailiwick.dev/conformance/psp/internal/lies"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

// errUsage ends the program with its own code.
var errUsage = errors.New("usage: psp compare|serve|self-test [OPTIONS]")

func main() {
	// Kubernetes logs what it thinks of odd pods, and there are many.
	klog.SetLogger(logr.Discard())
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "psp:", err)
		code = cannot
		if errors.Is(err, errUsage) {
			code = usage
		}
	}
	os.Exit(code)
}

func run(arguments []string) (int, error) {
	if len(arguments) == 0 {
		return usage, errUsage
	}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	binary := flags.String("binary", "", "compare: program with the verb `ask`")
	seed := flags.Uint64("seed", 1, "compare: what the questions depend on")
	pods := flags.Int("pods", 20_000, "compare, self-test: how many pods")
	lie := flags.String("lie", "", "serve: be wrong in this way")
	if err := flags.Parse(arguments[1:]); err != nil {
		return usage, errors.Join(errUsage, err)
	}
	if flags.NArg() > 0 || *pods < 1 {
		return usage, fmt.Errorf("%w: what is %q", errUsage, flags.Args())
	}
	switch arguments[0] {
	case "compare":
		if *binary == "" {
			return usage, fmt.Errorf("%w: compare needs --binary", errUsage)
		}
		report, err := compare.Run(compare.Options{Command: []string{*binary, "ask"}, Seed: *seed, Pods: *pods})
		if err != nil {
			return cannot, err
		}
		report.Print(os.Stdout)
		if report.Differs() {
			return different, nil
		}
		return equal, nil
	case "serve", "ask":
		if *lie != "" && lies.Find(*lie) == nil {
			return usage, fmt.Errorf("%w: there is no lie %q", errUsage, *lie)
		}
		return equal, lies.Serve(os.Stdin, os.Stdout, lies.Find(*lie))
	case "self-test":
		program, err := os.Executable()
		if err != nil {
			return cannot, err
		}
		return equal, lies.SelfTest(os.Stdout, program, *pods)
	}
	return usage, errUsage
}

// Command podsecurity compares `bailiwick ask` with the Pod Security code of Kubernetes itself.
//
//	podsecurity compare --binary PATH [--seed N] [--pods N]
//	podsecurity serve [--lie NAME]
//	podsecurity self-test [--pods N]
//
// compare makes random pods and questions, asks both sides and shows the smallest question on which they differ. serve
// speaks the protocol of `bailiwick ask` with the real code, and with --lie it is wrong in a way that compare has to
// notice; self-test proves that it does. Ends with 0 when nothing differs, 1 when something does, 2 on wrong usage, 3
// when the harness itself cannot run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"bailiwick.dev/conformance/podsecurity/internal/compare"
	"bailiwick.dev/conformance/podsecurity/internal/lies"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

// errUsage ends the program with its own code.
var errUsage = errors.New("usage: podsecurity compare|serve|self-test [OPTIONS]")

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "podsecurity:", err)
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
	switch arguments[0] {
	case "compare":
		return runCompare(arguments[1:])
	case "serve", "ask":
		return runServe(arguments[1:])
	case "self-test":
		return runSelfTest(arguments[1:])
	}
	return usage, errUsage
}

func runCompare(arguments []string) (int, error) {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	binary := flags.String("binary", "", "program with the verb `ask`")
	seed := flags.Uint64("seed", 1, "what the pods depend on")
	pods := flags.Int("pods", 100_000, "how many pods to compare")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *binary == "" || *pods < 1 {
		return usage, fmt.Errorf("%w: compare needs --binary, and at least one pod", errUsage)
	}
	options := compare.Options{Command: []string{*binary, "ask"}, Seed: *seed, Pods: *pods}
	report, err := compare.Run(options)
	if err != nil {
		return cannot, err
	}
	report.Print(os.Stdout)
	if !report.Differ() {
		return equal, nil
	}
	return different, report.Explain(os.Stdout, options)
}

func runServe(arguments []string) (int, error) {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	lie := flags.String("lie", "", "be wrong in this way")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *lie != "" && lies.Find(*lie) == nil {
		return usage, fmt.Errorf("%w: there is no lie %q", errUsage, *lie)
	}
	return equal, lies.Serve(os.Stdin, os.Stdout, lies.Find(*lie))
}

func runSelfTest(arguments []string) (int, error) {
	flags := flag.NewFlagSet("self-test", flag.ContinueOnError)
	pods := flags.Int("pods", 4000, "how many pods each lie has to be noticed in")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	program, err := os.Executable()
	if err != nil {
		return cannot, err
	}
	return equal, lies.SelfTest(os.Stdout, program, *pods)
}

func parse(flags *flag.FlagSet, arguments []string) error {
	if err := flags.Parse(arguments); err != nil {
		return errors.Join(errUsage, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: what is %q", errUsage, flags.Arg(0))
	}
	return nil
}

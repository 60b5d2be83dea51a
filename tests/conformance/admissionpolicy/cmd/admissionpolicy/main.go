// Command admissionpolicy compares `bailiwick ask` with the code of Kubernetes that evaluates admission policies.
//
//	admissionpolicy compare --binary PATH [--seed N] [--policies N] [--out FOLDER] [--show N]
//	admissionpolicy serve [--lie NAME]
//	admissionpolicy self-test [--policies N]
//
// compare makes random policies and requests, and asks about the policies in a folder of output, too. serve speaks the
// protocol of `bailiwick ask` with the real code, and with --lie it is wrong in a way that compare has to notice;
// self-test proves that it does. Ends with 0 when nothing differs, 1 when something does, 2 on wrong usage, 3 when the
// harness itself cannot run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/admissionpolicy/internal/compare"
	"bailiwick.dev/conformance/admissionpolicy/internal/lies"
	"bailiwick.dev/conformance/admissionpolicy/internal/policies"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

// errUsage ends the program with its own code.
var errUsage = errors.New("usage: admissionpolicy compare|serve|self-test [OPTIONS]")

func main() {
	// The real code logs what is refused, which is most of what is asked here.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "admissionpolicy:", err)
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
	seed := flags.Uint64("seed", 1, "what the policies depend on")
	count := flags.Int("policies", 2000, "how many policies to compare")
	out := flags.String("out", "", "folder of output with policies to ask")
	show := flags.Int("show", 1, "how many differences to print")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *binary == "" || *count < 1 {
		return usage, fmt.Errorf("%w: compare needs --binary, and at least one policy", errUsage)
	}
	options := compare.Options{Command: []string{*binary, "ask"}, Seed: *seed, Policies: *count}
	if *out != "" {
		given, err := policies.Given(*out)
		if err != nil {
			return cannot, err
		}
		options.Given = given
	}
	report, err := compare.Run(options)
	if err != nil {
		return cannot, err
	}
	if err := report.Print(os.Stdout, *show); err != nil {
		return cannot, err
	}
	if report.Differ() {
		return different, nil
	}
	return equal, nil
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
	count := flags.Int("policies", 600, "how many policies each lie has to be noticed in")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	program, err := os.Executable()
	if err != nil {
		return cannot, err
	}
	return equal, lies.SelfTest(os.Stdout, program, *count)
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

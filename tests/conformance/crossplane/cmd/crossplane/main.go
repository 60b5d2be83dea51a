// Command crossplane compares `bailiwick ask` with Crossplane's own code.
//
//	crossplane compare --binary PATH [--seed N] [--stacks N] [--differences N] [--oracles FOLDER]
//	crossplane ask [--lie NAME] [--oracles FOLDER]
//	crossplane self-test [--stacks N] [--oracles FOLDER]
//
// compare makes random questions, asks both sides and shows the smallest question in which they differ. ask speaks the
// protocol of `bailiwick ask` with the real code, and with --lie it is wrong in a way that compare has to notice; self-test
// proves that it does. The oracles are the programs that hold the real code; without the option they lie beside this one.
// Ends with 0 when nothing differs, 1 when something does, 2 on wrong usage, 3 when the harness itself cannot run.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/crossplane/internal/cases"
	"bailiwick.dev/conformance/crossplane/internal/compare"
	"bailiwick.dev/conformance/crossplane/internal/lies"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

// errUsage ends the program with its own code.
var errUsage = errors.New("usage: crossplane compare|ask|self-test [OPTIONS]")

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "crossplane:", err)
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
	program, err := os.Executable()
	if err != nil {
		return cannot, err
	}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	binary := flags.String("binary", "", "compare: program with the verb `ask`")
	seed := flags.Uint64("seed", 1, "compare: what the questions depend on")
	stacks := flags.Int("stacks", 2000, "compare, self-test: how many stacks")
	most := flags.Int("differences", 1, "compare: go on until there are so many")
	lie := flags.String("lie", "", "ask: be wrong in this way")
	folder := flags.String("oracles", filepath.Dir(program), "where the programs with the real code are")
	if err := flags.Parse(arguments[1:]); err != nil {
		return usage, errors.Join(errUsage, err)
	}
	if flags.NArg() > 0 || *stacks < 1 {
		return usage, fmt.Errorf("%w: what is %q", errUsage, flags.Args())
	}
	if arguments[0] == "compare" && *binary == "" {
		return usage, fmt.Errorf("%w: compare needs --binary", errUsage)
	}
	if *lie != "" && lies.Find(*lie) == nil {
		return usage, fmt.Errorf("%w: there is no lie %q", errUsage, *lie)
	}
	oracles, err := compare.Start(*folder)
	if err != nil {
		return cannot, err
	}
	switch arguments[0] {
	case "compare":
		return against(oracles, *binary, compare.Options{Seed: *seed, Stacks: *stacks, Most: *most})
	case "ask":
		return equal, serve(lies.Liar{Oracles: oracles, Lie: lies.Find(*lie)}, os.Stdin, os.Stdout)
	case "self-test":
		return equal, lies.SelfTest(os.Stdout, oracles, *stacks)
	}
	return usage, errUsage
}

func against(oracles *compare.Oracles, binary string, options compare.Options) (int, error) {
	session, err := ask.Start(binary, "ask")
	if err != nil {
		return cannot, err
	}
	report, err := compare.Run(oracles, session, options)
	if err != nil {
		return cannot, err
	}
	report.Print(os.Stdout)
	if report.Differs() {
		return different, nil
	}
	return equal, session.Close()
}

// serve answers each line until there are no more.
func serve(liar lies.Liar, input io.Reader, output io.Writer) error {
	return ask.Serve(input, output, func(line []byte) (any, error) {
		asked := map[string]cases.Object{}
		if err := json.Unmarshal(line, &asked); err != nil {
			return nil, err
		}
		if len(asked) != 1 {
			return nil, fmt.Errorf("not one question: %s", line)
		}
		answer := cases.Object{}
		for kind, body := range asked {
			if err := liar.Ask(kind, body, &answer); err != nil {
				answer = cases.Object{"error": err.Error()}
			}
		}
		return answer, nil
	})
}

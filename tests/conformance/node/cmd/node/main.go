// Command node compares `bailiwick ask` with the code of Kubernetes that decides what its nodes may do.
//
//	node compare --binary PATH [--seed N] [--decisions N] [--differences N] [--versions LIST] [--oracles FOLDER]
//	node ask [--lie NAME] [--oracles FOLDER]
//	node self-test [--decisions N] [--versions LIST] [--oracles FOLDER]
//	node reach --binary PATH [--seed N] [--clusters N] [--differences N] [--oracles FOLDER]
//	node reach-self-test [--clusters N] [--oracles FOLDER]
//
// compare makes random clusters, asks both sides what nodes may do in them and shows the smallest question in which they
// differ. ask speaks the protocol of `bailiwick ask` with the real code, and with --lie it is wrong in a way that compare
// has to notice; self-test proves that it does, and that every rule is the only reason of some answer. reach and
// reach-self-test do the same with the Secrets and accounts that come to nodes, about which they ask the newest release. The
// oracles are the programs that hold the real code; without the option they lie beside this one. Ends with 0 when nothing differs, 1
// when something does, 2 on wrong usage, 3 when the harness itself cannot run.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/node/internal/compare"
	"bailiwick.dev/conformance/node/internal/lies"
	"bailiwick.dev/conformance/node/internal/reach"
	"bailiwick.dev/conformance/node/internal/worlds"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

// errUsage ends the program with its own code.
var errUsage = errors.New("usage: node compare|ask|self-test|reach|reach-self-test [OPTIONS]")

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
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
	seed := flags.Uint64("seed", 1, "what the questions depend on")
	decisions := flags.Int("decisions", 20000, "how many decisions to compare")
	clusters := flags.Int("clusters", 1000, "reach: how many clusters to compare")
	most := flags.Int("differences", 1, "compare: go on until there are so many")
	lie := flags.String("lie", "", "ask: be wrong in this way")
	list := flags.String("versions", strings.Join(compare.Versions, ","), "which releases to ask")
	folder := flags.String("oracles", filepath.Dir(program), "where the programs with the real code are")
	if err := flags.Parse(arguments[1:]); err != nil {
		return usage, errors.Join(errUsage, err)
	}
	if flags.NArg() > 0 || *decisions < 1 || *clusters < 1 {
		return usage, fmt.Errorf("%w: what is %q", errUsage, flags.Args())
	}
	versions := strings.Split(*list, ",")
	for _, version := range versions {
		if !slices.Contains(compare.Versions, version) {
			return usage, fmt.Errorf("%w: there is no oracle for %q", errUsage, version)
		}
	}
	if (arguments[0] == "compare" || arguments[0] == "reach") && *binary == "" {
		return usage, fmt.Errorf("%w: %s needs --binary", errUsage, arguments[0])
	}
	if strings.HasPrefix(arguments[0], "reach") {
		versions = []string{reach.Version}
	}
	if *lie != "" && lies.Find(*lie) == nil {
		return usage, fmt.Errorf("%w: there is no lie %q", errUsage, *lie)
	}
	oracles, err := compare.Start(*folder, versions)
	if err != nil {
		return cannot, err
	}
	switch arguments[0] {
	case "compare":
		return against(oracles, *binary, compare.Options{Seed: *seed, Decisions: *decisions, Most: *most, Versions: versions})
	case "ask":
		return equal, serve(lies.Liar{Oracles: oracles, Lie: lies.Find(*lie)}, os.Stdin, os.Stdout)
	case "self-test":
		return equal, lies.SelfTest(os.Stdout, oracles, versions, *decisions)
	case "reach":
		return reaching(oracles, *binary, reach.Options{Seed: *seed, Clusters: *clusters, Most: *most})
	case "reach-self-test":
		return equal, reach.SelfTest(os.Stdout, oracles, *clusters)
	}
	return usage, errUsage
}

func reaching(oracles *compare.Oracles, binary string, options reach.Options) (int, error) {
	session, err := ask.Start(binary, "ask")
	if err != nil {
		return cannot, err
	}
	report, err := reach.Run(oracles, session, options)
	if err != nil {
		return cannot, err
	}
	if err := report.Print(os.Stdout); err != nil {
		return cannot, err
	}
	if report.Differs() {
		return different, nil
	}
	return equal, session.Close()
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
	if err := report.Print(os.Stdout); err != nil {
		return cannot, err
	}
	if report.Differs() {
		return different, nil
	}
	return equal, session.Close()
}

// serve answers each line until there are no more.
func serve(liar lies.Liar, input io.Reader, output io.Writer) error {
	return ask.Serve(input, output, func(line []byte) (any, error) {
		var asked struct{ Node worlds.Object }
		if err := json.Unmarshal(line, &asked); err != nil {
			return nil, err
		}
		var answer compare.Answer
		if err := liar.Ask("node", asked.Node, &answer); err != nil {
			answer = compare.Answer{Error: err.Error()}
		}
		return answer, nil
	})
}

// Command rbac compares `bailiwick ask` with the code of Kubernetes itself.
//
//	rbac compare --binary PATH [--seed N] [--decisions N] [--seconds N] [--list N]
//	rbac serve [--lie NAME]
//	rbac self-test [--decisions N]
//	rbac reviews --binary PATH --kubeconfig FILE --folder FOLDER [--seed N] [--count N]
//	rbac stored --kubeconfig FILE --folder FOLDER
//	rbac bench --objects FILE --questions FILE [--baseline VERSION] [--seconds N]
//	rbac namespaces --folder FOLDER [--bare]
//	rbac policies --binary PATH --kubeconfig FILE --folder FOLDER --profiles FOLDER [--seed N] [--count N]
//	rbac stacks --binary PATH --kubeconfig FILE --folder FOLDER --manager ACCOUNT [--cluster-stack ACCOUNT]... [--own GROUP]
//	rbac agents --binary PATH --kubeconfig FILE --folder FOLDER --policies FOLDER --target NAME
//	rbac kubelets --binary PATH --kubeconfig FILE --folder FOLDER [--seed N] [--count N]
//	rbac paths --binary PATH --kubeconfig FILE --folder FOLDER --authority FILE --authority-key FILE --accounts-key FILE [--only NAME]
//
// compare makes random worlds and questions, asks both sides and shows the smallest world in which they differ. serve
// speaks the protocol of `bailiwick ask` with the real code, and with --lie it is wrong in a way that compare has to
// notice; self-test proves that it does. reviews compares with the SubjectAccessReviews of a server that was given the
// manifests of a folder, stored tells what of these the server does not hold as it is written, and namespaces prints
// the Namespaces that have to be there before them. policies compares the pods that a server with the admission policies
// of profiles lets pass with those that PodSecurityPolicy lets pass. stacks installs the stacks of a folder as the manager
// that the folder has for them, takes away what the manager holds part by part, and asks as the stacks; an account is
// NAMESPACE/NAME. agents lets the agents of nodes that policies ask for write
// what belongs to their own node and to others; kubelets fills the server with nodes and pods, and compares what the nodes
// may read and write. paths walks the escalation paths of the worlds of a folder. bench measures how long the real code takes to
// decide. Ends with 0 when nothing differs, 1 when something does, 2 on wrong usage, 3 when the harness itself cannot run.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/rbac/internal/bench"
	"bailiwick.dev/conformance/rbac/internal/cluster"
	"bailiwick.dev/conformance/rbac/internal/compare"
	"bailiwick.dev/conformance/rbac/internal/lies"
	"bailiwick.dev/conformance/rbac/internal/nodes"
	"bailiwick.dev/conformance/rbac/internal/paths"
	"bailiwick.dev/conformance/rbac/internal/policies"
	"bailiwick.dev/conformance/rbac/internal/stacks"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

// errUsage ends the program with its own code.
var errUsage = errors.New("usage: rbac compare|serve|self-test|reviews|stored|bench|namespaces|policies|stacks|agents|kubelets|paths [OPTIONS]")

func main() {
	// Kubernetes logs what it thinks of odd requests, and there are many.
	klog.SetLogger(klog.New(nil))
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "rbac:", err)
		if errors.Is(err, errUsage) {
			os.Exit(usage)
		}
		os.Exit(cannot)
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
	case "reviews":
		return runReviews(arguments[1:])
	case "stored":
		return runStored(arguments[1:])
	case "bench":
		return runBench(arguments[1:])
	case "namespaces":
		return runNamespaces(arguments[1:])
	case "policies":
		return runPolicies(arguments[1:])
	case "stacks":
		return runStacks(arguments[1:])
	case "agents":
		return runAgents(arguments[1:])
	case "kubelets":
		return runKubelets(arguments[1:])
	case "paths":
		return runPaths(arguments[1:])
	}
	return usage, errUsage
}

func runCompare(arguments []string) (int, error) {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	binary := flags.String("binary", "", "program with the verb `ask`")
	seed := flags.Uint64("seed", 1, "what the worlds depend on")
	decisions := flags.Int("decisions", 100_000, "how many decisions to compare")
	seconds := flags.Int("seconds", 0, "end after so many seconds, if not 0")
	list := flags.Int("list", 0, "show so many differences of each kind as they are, too")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *binary == "" || *decisions < 1 {
		return usage, fmt.Errorf("%w: compare needs --binary, and at least one decision", errUsage)
	}
	options := compare.Options{Command: []string{*binary, "ask"}, Seed: *seed, Decisions: *decisions, Seconds: *seconds, List: *list}
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
	decisions := flags.Int("decisions", 50_000, "how many decisions each lie has to be noticed in")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	program, err := os.Executable()
	if err != nil {
		return cannot, err
	}
	return equal, lies.SelfTest(os.Stdout, program, *decisions)
}

func runReviews(arguments []string) (int, error) {
	flags := flag.NewFlagSet("reviews", flag.ContinueOnError)
	binary := flags.String("binary", "", "program with the verb `ask`")
	options := cluster.ReviewOptions{Baseline: "1.37"}
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "how to reach the server, as somebody who may do everything")
	flags.StringVar(&options.Folder, "folder", "", "manifests that the server was given")
	flags.Uint64Var(&options.Seed, "seed", 1, "what the questions depend on")
	flags.IntVar(&options.Count, "count", 2000, "how many reviews")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *binary == "" || options.Kubeconfig == "" || options.Folder == "" {
		return usage, fmt.Errorf("%w: reviews needs --binary, --kubeconfig and --folder", errUsage)
	}
	options.Command = []string{*binary, "ask"}
	return verdict(cluster.Reviews(context.Background(), os.Stdout, options))
}

func runStored(arguments []string) (int, error) {
	flags := flag.NewFlagSet("stored", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "how to reach the server")
	folder := flags.String("folder", "", "manifests that the server was given")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *kubeconfig == "" || *folder == "" {
		return usage, fmt.Errorf("%w: stored needs --kubeconfig and --folder", errUsage)
	}
	return verdict(cluster.Stored(context.Background(), os.Stdout, *kubeconfig, *folder))
}

func runPolicies(arguments []string) (int, error) {
	flags := flag.NewFlagSet("policies", flag.ContinueOnError)
	binary := flags.String("binary", "", "program with the verb `ask`")
	options := policies.Options{}
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "how to reach the server, as somebody who may do everything")
	flags.StringVar(&options.Folder, "folder", "", "manifests that the server was given")
	flags.StringVar(&options.Profiles, "profiles", "", "the same profiles as PodSecurityPolicies")
	flags.Uint64Var(&options.Seed, "seed", 1, "what the pods depend on")
	flags.IntVar(&options.Count, "count", 1000, "how many pods to compare")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *binary == "" || options.Kubeconfig == "" || options.Folder == "" || options.Profiles == "" {
		return usage, fmt.Errorf("%w: policies needs --binary, --kubeconfig, --folder and --profiles", errUsage)
	}
	options.Command = []string{*binary, "ask"}
	return verdict(policies.Compare(context.Background(), os.Stdout, options))
}

func runStacks(arguments []string) (int, error) {
	flags := flag.NewFlagSet("stacks", flag.ContinueOnError)
	binary := flags.String("binary", "", "program with the verb `ask`")
	options := stacks.Options{Baseline: "1.37"}
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "how to reach the server, as somebody who may do everything")
	flags.StringVar(&options.Folder, "folder", "", "manifests that the server was not given yet")
	flags.StringVar(&options.Manager, "manager", "", "the service account that installs stacks")
	flags.StringVar(&options.Own, "own", "", "API group that the manager needs for itself")
	flags.Func("cluster-stack", "the service account of a stack that works in all namespaces", func(name string) error {
		options.ClusterStacks = append(options.ClusterStacks, name)
		return nil
	})
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *binary == "" || options.Kubeconfig == "" || options.Folder == "" || options.Manager == "" {
		return usage, fmt.Errorf("%w: stacks needs --binary, --kubeconfig, --folder and --manager", errUsage)
	}
	options.Command = []string{*binary, "ask"}
	return verdict(stacks.Check(context.Background(), os.Stdout, options))
}

func runAgents(arguments []string) (int, error) {
	flags := flag.NewFlagSet("agents", flag.ContinueOnError)
	binary := flags.String("binary", "", "program with the verb `ask`")
	options := nodes.AgentOptions{}
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "how to reach the server, as somebody who may do everything")
	flags.StringVar(&options.Folder, "folder", "", "manifests that the server was not given yet")
	flags.StringVar(&options.Policies, "policies", "", "the policies that they were made of")
	flags.StringVar(&options.Target, "target", "", "the target that they were made for")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *binary == "" || options.Kubeconfig == "" || options.Folder == "" || options.Policies == "" || options.Target == "" {
		return usage, fmt.Errorf("%w: agents needs --binary, --kubeconfig, --folder, --policies and --target", errUsage)
	}
	options.Command = []string{*binary, "ask"}
	return verdict(nodes.Agents(context.Background(), os.Stdout, options))
}

func runKubelets(arguments []string) (int, error) {
	flags := flag.NewFlagSet("kubelets", flag.ContinueOnError)
	binary := flags.String("binary", "", "program with the verb `ask`")
	options := nodes.KubeletOptions{Baseline: "1.37"}
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "how to reach the server, as somebody who may do everything")
	flags.StringVar(&options.Folder, "folder", "", "manifests that the server was given")
	flags.Uint64Var(&options.Seed, "seed", 1, "what the pods and the questions depend on")
	flags.IntVar(&options.Count, "count", 2400, "how many reviews")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *binary == "" || options.Kubeconfig == "" || options.Folder == "" {
		return usage, fmt.Errorf("%w: kubelets needs --binary, --kubeconfig and --folder", errUsage)
	}
	options.Command = []string{*binary, "ask"}
	return verdict(nodes.Kubelets(context.Background(), os.Stdout, options))
}

func runPaths(arguments []string) (int, error) {
	flags := flag.NewFlagSet("paths", flag.ContinueOnError)
	options := paths.Options{}
	flags.StringVar(&options.Binary, "binary", "", "program with the verbs `explain` and `schema`")
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "how to reach the server, as somebody who may do everything")
	flags.StringVar(&options.Folder, "folder", "", "worlds, in a folder for each route")
	flags.StringVar(&options.Authority, "authority", "", "certificate of the authority of the clients")
	flags.StringVar(&options.AuthorityKey, "authority-key", "", "key of the authority of the clients")
	flags.StringVar(&options.AccountsKey, "accounts-key", "", "key of the tokens of service accounts")
	flags.StringVar(&options.Only, "only", "", "beginning of the names of the routes")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if options.Binary == "" || options.Kubeconfig == "" || options.Folder == "" || options.Authority == "" ||
		options.AuthorityKey == "" || options.AccountsKey == "" {
		return usage, fmt.Errorf("%w: paths needs all its options but --only", errUsage)
	}
	return verdict(paths.Check(context.Background(), os.Stdout, options))
}

func verdict(differs bool, err error) (int, error) {
	switch {
	case err != nil:
		return cannot, err
	case differs:
		return different, nil
	}
	return equal, nil
}

func runBench(arguments []string) (int, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var options bench.Options
	flags.StringVar(&options.Objects, "objects", "", "file with an object on each line")
	flags.StringVar(&options.Questions, "questions", "", "file with a question `can-i` on each line")
	flags.StringVar(&options.Baseline, "baseline", "", "minor version whose default policy lies below the objects")
	seconds := flags.Int("seconds", 5, "measure for at least so many seconds")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if options.Objects == "" || options.Questions == "" {
		return usage, fmt.Errorf("%w: bench needs --objects and --questions", errUsage)
	}
	options.Time = time.Duration(*seconds) * time.Second
	if err := bench.Run(context.Background(), os.Stdout, options); err != nil {
		return cannot, err
	}
	return equal, nil
}

func runNamespaces(arguments []string) (int, error) {
	flags := flag.NewFlagSet("namespaces", flag.ContinueOnError)
	folder := flags.String("folder", "", "manifests")
	bare := flags.Bool("bare", false, "those that the folder has not itself")
	if err := parse(flags, arguments); err != nil {
		return usage, err
	}
	if *folder == "" {
		return usage, fmt.Errorf("%w: namespaces needs --folder", errUsage)
	}
	objects, err := cluster.ReadFolder(*folder)
	if err != nil {
		return cannot, err
	}
	encoder := json.NewEncoder(os.Stdout)
	for _, namespace := range cluster.Namespaces(objects, *bare) {
		if err := encoder.Encode(namespace.Object); err != nil {
			return cannot, err
		}
	}
	return equal, nil
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

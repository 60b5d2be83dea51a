// Command drift edits a cluster that a workspace was applied to, and checks what the program finds.
//
//	drift --kubeconfig FILE --work FOLDER [--seed N] [--short]
//
// The programs bailiwick, kubectl and kubectl-bailiwick are on PATH. Ends with 0 when nothing differs, 1 when something does, 2 on wrong
// usage, 3 when the driver itself cannot run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/drift/internal/checks"
	"bailiwick.dev/conformance/internal/cluster"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

func main() {
	klog.SetLogger(klog.New(nil))
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "drift:", err)
	}
	os.Exit(code)
}

func run(arguments []string) (int, error) {
	flags := flag.NewFlagSet("drift", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig of the server")
	options := checks.Options{Edits: 200, Reviewed: 20, Reviews: 2000, Out: os.Stdout}
	flags.StringVar(&options.Work, "work", "", "folder for files")
	flags.Uint64Var(&options.Seed, "seed", 1, "what the edits depend on")
	short := flags.Bool("short", false, "fewer edits")
	if err := flags.Parse(arguments); err != nil {
		return usage, err
	}
	if *short {
		options.Edits, options.Reviewed = 40, 5
	}
	server, err := cluster.Connect(*kubeconfig)
	if err != nil {
		return cannot, err
	}
	options.Server = server
	err = checks.Run(context.Background(), options)
	switch {
	case errors.Is(err, cluster.ErrDiffers):
		return different, err
	case err != nil:
		return cannot, err
	}
	return equal, nil
}

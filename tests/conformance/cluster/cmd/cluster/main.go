// Command cluster asks a cluster with the tokens of the ServiceAccounts of a folder, and compares its answers with `can-i`.
//
//	cluster tokens --binary FILE --kubeconfig FILE --folder FOLDER --dump FILE --version VERSION [--seed N] [--count N]
//	cluster pod --binary FILE --kubeconfig FILE --folder FOLDER --version VERSION --account NAMESPACE/NAME --image IMAGE [--seed N] [--count N]
//
// tokens asks each question as a SelfSubjectAccessReview and as the request itself. pod makes requests from a pod of an account with the
// token that the kubelet mounts. Ends with 0 when nothing differs, 1 when something does, 2 on wrong usage, 3 when the command itself
// cannot run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/cluster/internal/access"
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
		fmt.Fprintln(os.Stderr, "cluster:", err)
	}
	os.Exit(code)
}

func run(arguments []string) (int, error) {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	options := access.Options{Out: os.Stdout}
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig of the server")
	flags.StringVar(&options.Binary, "binary", "", "program with the command `can-i`")
	flags.StringVar(&options.Folder, "folder", "", "manifests that were applied to the server")
	flags.StringVar(&options.Dump, "dump", "", "objects of RBAC that the server has")
	flags.StringVar(&options.Version, "version", "", "version of the server")
	flags.Uint64Var(&options.Seed, "seed", 1, "what the questions depend on")
	flags.IntVar(&options.Count, "count", 500, "number of questions")
	account := flags.String("account", "", "`NAMESPACE/NAME` of a ServiceAccount")
	image := flags.String("image", "", "image with sh and curl")
	if len(arguments) == 0 {
		return usage, errors.New("no command")
	}
	if err := flags.Parse(arguments[1:]); err != nil {
		return usage, err
	}
	server, err := cluster.Connect(*kubeconfig)
	if err != nil {
		return cannot, err
	}
	options.Server = server
	namespace, name, _ := strings.Cut(*account, "/")
	switch arguments[0] {
	case "tokens":
		err = access.Compare(context.Background(), options)
	case "pod":
		err = access.ComparePod(context.Background(), options, access.Account{Namespace: namespace, Name: name}, *image)
	default:
		return usage, fmt.Errorf("no command %q", arguments[0])
	}
	switch {
	case errors.Is(err, cluster.ErrDiffers):
		return different, err
	case err != nil:
		return cannot, err
	}
	return equal, nil
}

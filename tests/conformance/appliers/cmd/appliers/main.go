// Command appliers checks an applier of GitOps that runs beside a kube-apiserver.
//
//	appliers install NAME --kubeconfig FILE --work FOLDER --definitions PATH,...
//	appliers check NAME --kubeconfig FILE --work FOLDER --binary PATH --root FOLDER [--registry ADDRESS] [--seed N] [--short]
//	    [--only CHECK] [--matrix]
//
// NAME is flux or argocd. install makes the objects that the applier needs before it starts; check runs the checks. --matrix prints
// instead which permission an account of the applier can do without. Ends with 0 when nothing differs, 1 when something does, 2 on
// wrong usage, 3 when the driver itself cannot run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/appliers/internal/checks"
	"bailiwick.dev/conformance/appliers/internal/gitops"
	"bailiwick.dev/conformance/internal/cluster"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

var errUsage = errors.New("usage: appliers install|check flux|argocd [OPTIONS]")

func main() {
	klog.SetLogger(klog.New(nil))
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "appliers:", err)
	}
	os.Exit(code)
}

func run(arguments []string) (int, error) {
	if len(arguments) < 2 {
		return usage, errUsage
	}
	flags := flag.NewFlagSet("appliers", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig of the server")
	definitions := flags.String("definitions", "", "files and folders with the definitions of the applier")
	matrix := flags.Bool("matrix", false, "print the permissions that an account can do without")
	var options checks.Options
	flags.StringVar(&options.Work, "work", "", "folder for files")
	flags.StringVar(&options.Binary, "binary", "", "the program")
	flags.StringVar(&options.Root, "root", "", "the workspace of the repository")
	flags.StringVar(&options.Registry, "registry", "", "host and port of a registry for images")
	flags.StringVar(&options.Only, "only", "", "the only check")
	flags.Uint64Var(&options.Seed, "seed", 1, "what the roles of accounts depend on")
	flags.BoolVar(&options.Short, "short", false, "without repetitions")
	if err := flags.Parse(arguments[2:]); err != nil {
		return usage, errUsage
	}
	server, err := cluster.Connect(*kubeconfig)
	if err != nil {
		return cannot, err
	}
	options.Server, options.Out = server, os.Stdout
	if options.Applier, err = gitops.New(arguments[1], server, options.Work); err != nil {
		return usage, err
	}
	ctx := context.Background()
	switch {
	case arguments[0] == "install":
		err = install(ctx, options, *definitions)
	case arguments[0] == "check" && *matrix:
		err = checks.Matrix(ctx, options)
	case arguments[0] == "check":
		var passed bool
		if passed, err = checks.Run(ctx, options); err == nil && !passed {
			return different, nil
		}
	default:
		return usage, errUsage
	}
	if err != nil {
		return cannot, err
	}
	return equal, nil
}

// install applies the definitions, waits until they are established, and makes the objects of the applier.
func install(ctx context.Context, options checks.Options, definitions string) error {
	for _, file := range strings.Split(definitions, ",") {
		objects, err := cluster.ReadPath(file)
		if err != nil {
			return err
		}
		if err := options.Server.Apply(ctx, objects...); err != nil {
			return err
		}
		if err := established(ctx, options.Server, cluster.Keys(objects)); err != nil {
			return err
		}
	}
	return options.Applier.Prepare(ctx)
}

func established(ctx context.Context, server *cluster.Cluster, keys []cluster.Key) error {
	for _, key := range keys {
		done, err := cluster.Await(ctx, time.Minute, func() (bool, error) {
			found, err := server.Get(ctx, key)
			return found != nil && isEstablished(found), err
		})
		if err != nil || !done {
			return fmt.Errorf("%s is not established: %w", key, err)
		}
	}
	return nil
}

func isEstablished(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, condition := range conditions {
		if condition, ok := condition.(map[string]any); ok && condition["type"] == "Established" {
			return condition["status"] == "True"
		}
	}
	return false
}

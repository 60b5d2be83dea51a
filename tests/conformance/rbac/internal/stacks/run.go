// Package stacks installs the stacks of a folder on a server that runs, as the manager that the folder has for them,
// and asks as the stacks what they may do.
package stacks

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"bailiwick.dev/conformance/rbac/internal/cluster"
)

const (
	// settling is how long a server may take to heed new objects: its authorizer hears of them a moment later.
	settling = 10 * time.Second
	// polling is how often it is asked again meanwhile.
	polling = 20 * time.Millisecond
	// shown differences are enough to see what is wrong.
	shown = 10
)

// Options say what to check.
type Options struct {
	// Command speaks the protocol.
	Command    []string
	Kubeconfig string
	// Folder holds manifests that the server was not given yet.
	Folder string
	// Manager is the service account that installs stacks, and ClusterStacks are those that work in all namespaces, each
	// as NAMESPACE/NAME. The other service accounts of the folder are those of stacks for one namespace.
	Manager       string
	ClusterStacks []string
	// Own is an API group that the manager needs for itself, so that no stack shows the need.
	Own string
	// Baseline is the minor version of the server.
	Baseline string
}

// Check tells whether anything is not as it shall be: the manager can install all stacks, needs all it has for that, and
// the stacks may do what the other side says, which is nothing outside their namespaces.
func Check(ctx context.Context, out io.Writer, options Options) (bool, error) {
	config, err := clientcmd.BuildConfigFromFlags("", options.Kubeconfig)
	if err != nil {
		return false, err
	}
	// The server is ours alone.
	config.QPS, config.Burst = 2000, 2000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return false, err
	}
	objects, err := cluster.ReadFolder(options.Folder)
	if err != nil {
		return false, err
	}
	cast, err := castOf(objects, options)
	if err != nil {
		return false, err
	}
	server, err := reach(config, client)
	if err != nil {
		return false, err
	}
	if err := server.giveFirst(ctx, cast); err != nil {
		return false, err
	}
	refused, err := server.install(ctx, out, cast)
	// What is not installed cannot be asked, and the rest would only say so again.
	if err != nil || refused {
		return refused, err
	}
	if err := server.served(ctx, cast); err != nil {
		return false, err
	}
	idle, err := server.needs(ctx, out, cast)
	if err != nil {
		return false, err
	}
	isolation, err := server.isolation(cast, options)
	if err != nil {
		return false, err
	}
	differing, leaking, err := isolation.check(ctx, out, time.Now().Add(settling))
	if err != nil {
		return false, err
	}
	if idle || differing > 0 || leaking > 0 {
		// Faults beside those that are there already would prove nothing.
		return true, nil
	}
	unseen, err := server.selfCheck(ctx, cast, isolation)
	if err != nil {
		return false, err
	}
	for _, fault := range unseen {
		fmt.Fprintf(out, "self-check: %s was not noticed\n", fault)
	}
	if len(unseen) == 0 {
		fmt.Fprintln(out, "self-check: superfluous rules, a missing one and a leak are noticed")
	}
	return len(unseen) > 0, nil
}

package nodes

import (
	"context"
	"io"
)

// KubeletOptions say what to check of nodes.
type KubeletOptions struct {
	// Command speaks the protocol.
	Command    []string
	Kubeconfig string
	// Folder holds manifests that the server was given.
	Folder string
	// Baseline is the minor version of the server.
	Baseline string
	Seed     uint64
	Count    int
}

// Kubelets fills the server with nodes and pods, and tells whether it decides about any of these nodes otherwise than the
// other side does about the objects that the server holds then.
func Kubelets(ctx context.Context, out io.Writer, options KubeletOptions) (bool, error) {
	server, err := reach(options.Kubeconfig)
	if err != nil {
		return false, err
	}
	inventory, err := server.stock(ctx, options.Seed)
	if err != nil {
		return false, err
	}
	objects, err := server.export(ctx)
	if err != nil {
		return false, err
	}
	graph := &graph{server: server, options: options, inventory: inventory, objects: objects}
	graphDiffers, err := graph.compare(ctx, out)
	if err != nil {
		return false, err
	}
	restriction := &restriction{server: server, options: options, inventory: inventory, objects: objects}
	restrictionDiffers, err := restriction.compare(ctx, out)
	return graphDiffers || restrictionDiffers, err
}

package checks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"bailiwick.dev/conformance/appliers/internal/cluster"
	"bailiwick.dev/conformance/appliers/internal/gitops"
)

// shards moves namespaces from one shard to four by the steps of `bailiwick migrate shards`, and watches what is deleted.
func (b *bench) shards(ctx context.Context) (string, error) {
	parent, err := b.parent("moves")
	if err != nil {
		return "", err
	}
	var teams []string
	for i := range 12 {
		teams = append(teams, fmt.Sprintf("moves-%02d", i))
	}
	policies := namespaceSet("moves", teams...) + "---\n" + permissionSet("moves-reader", "ClusterRole", "pods") +
		"---\n" + grant("moves", "moves-reader", "", teams...)
	if err := parent.Workspace.Write("policies/teams.yaml", policies); err != nil {
		return "", err
	}
	if err := b.reshard(ctx, parent, 1, false); err != nil {
		return "", err
	}
	if err := b.reshardAtOnce(parent); err != nil {
		return "", err
	}
	keys, err := keys(parent.Workspace)
	if err != nil {
		return "", err
	}
	deletions, err := b.Server.WatchDeletions(ctx, keys)
	if err != nil {
		return "", err
	}
	for _, step := range []struct {
		shards int
		keeps  bool
	}{{1, true}, {4, true}, {4, false}} {
		if err := b.reshard(ctx, parent, step.shards, step.keeps); err != nil {
			return "", errors.Join(err, fmt.Errorf("deleted: %v", deletions.Stop()))
		}
	}
	if deleted := deletions.Stop(); len(deleted) > 0 {
		return "", differs("the steps delete %s", strings.Join(deleted, ", "))
	}
	counts, err := b.races(ctx, parent, keys)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the three steps delete none of %d objects; without the steps, %v are deleted", len(keys), counts), nil
}

// reshard renders with a number of shards, and waits until all instances are ready.
func (b *bench) reshard(ctx context.Context, parent *gitops.Parent, shards int, keeps bool) error {
	if err := b.writeShards(parent, shards, keeps); err != nil {
		return err
	}
	return parent.Converge(ctx)
}

// writeShards writes and renders the workspace with a number of shards.
func (b *bench) writeShards(parent *gitops.Parent, shards int, keeps bool) error {
	chosen := settings{name: "moves", targets: []string{"t"}, shards: shards, keeps: keeps}
	return write(parent.Workspace, map[string]string{"bailiwick.yaml": b.configuration(parent.Workspace, chosen)})
}

// reshardAtOnce checks that the program refuses to move files while the appliers delete.
func (b *bench) reshardAtOnce(parent *gitops.Parent) error {
	err := b.writeShards(parent, 4, false)
	if err == nil || !strings.Contains(err.Error(), "shard-move") {
		return differs("render does not refuse to move files in one step: %v", err)
	}
	return nil
}

// races moves the files in one step and counts the objects that are deleted. The race has no sure winner.
func (b *bench) races(ctx context.Context, parent *gitops.Parent, keys []cluster.Key) ([]int, error) {
	runs := 5
	if b.Short {
		runs = 1
	}
	var counts []int
	for run := range runs {
		// Without the delivery objects of the last commit, nothing guards the move.
		if err := os.RemoveAll(parent.Workspace.Absolute("delivery")); err != nil {
			return nil, err
		}
		deletions, err := b.Server.WatchDeletions(ctx, keys)
		if err != nil {
			return nil, err
		}
		if err := b.writeShards(parent, 1+3*(run%2), false); err != nil {
			return nil, err
		}
		if err := parent.Deliver(ctx); err != nil {
			return nil, err
		}
		// Who has lost waits for its interval.
		for range 2 {
			if err := parent.Again(ctx); err != nil {
				return nil, err
			}
		}
		counts = append(counts, len(deletions.Stop()))
	}
	return counts, nil
}

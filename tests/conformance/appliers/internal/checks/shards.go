package checks

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"bailiwick.dev/conformance/appliers/internal/gitops"
	"bailiwick.dev/conformance/internal/cluster"
)

// racing is how long the appliers of a move in one step are watched.
const racing = 20 * time.Second

// shards moves namespaces from one shard to four by the steps of `bailiwick migrate shards`, and watches what is deleted.
func (b *bench) shards(ctx context.Context) (string, error) {
	parent, err := b.teams(ctx, "moves")
	if err != nil {
		return "", err
	}
	if err := b.refusesMove(parent, "moves"); err != nil {
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
	for _, step := range []settings{{shards: 1, keeps: true}, {shards: 4, keeps: true}, {shards: 4}} {
		step.name = "moves"
		if err := b.reshard(parent, step); err != nil {
			return "", err
		}
		if err := parent.Converge(ctx); err != nil {
			return "", fmt.Errorf("%w; deleted: %v", err, deletions.Stop())
		}
	}
	if deleted := deletions.Stop(); len(deleted) > 0 {
		return "", differs("the steps delete %s", strings.Join(deleted, ", "))
	}
	counts, err := b.races(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the three steps delete none of %d objects; without the steps, %v are deleted", len(keys), counts), nil
}

// teams returns a converged workspace with namespaces in one shard.
func (b *bench) teams(ctx context.Context, name string) (*gitops.Parent, error) {
	parent, err := b.parent(name)
	if err != nil {
		return nil, err
	}
	var teams []string
	for i := range 12 {
		teams = append(teams, fmt.Sprintf("%s-%02d", name, i))
	}
	policies := namespaceSet("teams", teams...) + "---\n" + permissionSet(name+"-reader", "ClusterRole", "pods") +
		"---\n" + grant("reads", name+"-reader", "", teams...)
	if err := parent.Workspace.Write("policies/teams.yaml", policies); err != nil {
		return nil, err
	}
	if err := b.reshard(parent, settings{name: name, shards: 1}); err != nil {
		return nil, err
	}
	return parent, parent.Converge(ctx)
}

// reshard renders a workspace with other settings.
func (b *bench) reshard(parent *gitops.Parent, chosen settings) error {
	chosen.targets = []string{"t"}
	return write(parent.Workspace, map[string]string{"bailiwick.yaml": b.configuration(parent.Workspace, chosen)})
}

// refusesMove checks that the program refuses to move files while the appliers delete.
func (b *bench) refusesMove(parent *gitops.Parent, name string) error {
	err := b.reshard(parent, settings{name: name, shards: 4})
	if err == nil || !strings.Contains(err.Error(), "shard-move") {
		return differs("render does not refuse to move files in one step: %v", err)
	}
	return nil
}

// races moves the files of some workspaces in one step and counts the objects of each that are deleted. The race has no sure winner.
func (b *bench) races(ctx context.Context) ([]int, error) {
	runs := 5
	if b.Short {
		runs = 1
	}
	var parents []*gitops.Parent
	var watches []*cluster.Deletions
	for run := range runs {
		parent, err := b.teams(ctx, fmt.Sprintf("race%d", run))
		if err != nil {
			return nil, err
		}
		keys, err := keys(parent.Workspace)
		if err != nil {
			return nil, err
		}
		deletions, err := b.Server.WatchDeletions(ctx, keys)
		if err != nil {
			return nil, err
		}
		parents, watches = append(parents, parent), append(watches, deletions)
	}
	for run, parent := range parents {
		// Without the delivery objects of the last commit, nothing guards the move.
		if err := os.RemoveAll(parent.Workspace.Absolute("delivery")); err != nil {
			return nil, err
		}
		if err := b.reshard(parent, settings{name: fmt.Sprintf("race%d", run), shards: 4}); err != nil {
			return nil, err
		}
		if err := parent.Deliver(ctx); err != nil {
			return nil, err
		}
	}
	time.Sleep(racing)
	var counts []int
	for run, deletions := range watches {
		counts = append(counts, len(deletions.Stop()))
		if err := b.abandon(ctx, parents[run]); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

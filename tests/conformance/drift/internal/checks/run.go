// Package checks compares what the program finds in a cluster with the edits of the cluster.
package checks

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"bailiwick.dev/conformance/internal/cluster"
)

// together is the number of edits before a comparison.
const together = 20

// settling is the time for the controllers, and a second more, so that the times of managed fields differ.
const settling = 1200 * time.Millisecond

var namespaces = []string{"team-a", "team-b", "team-c", "team-d", "team-e", "team-f"}

// Options are the options of a run.
type Options struct {
	Server *cluster.Cluster
	// Work is a folder for files.
	Work string
	Seed uint64
	// Edits is the number of edits, Reviewed how many of them are made one by one with reviews, and Reviews the number of reviews.
	Edits, Reviewed, Reviews int
	Out                      io.Writer
}

// A bench has what the checks work with.
type bench struct {
	Options
	workspace *workspace
	editor    *editor
}

// Run runs the checks.
func Run(ctx context.Context, options Options) error {
	if err := options.Server.StartControllers(ctx); err != nil {
		return err
	}
	workspace, err := newWorkspace(options.Work)
	if err != nil {
		return err
	}
	b := &bench{Options: options, workspace: workspace}
	for _, check := range []func(context.Context) error{b.applied, b.reviewed, b.edited} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// applied applies the output by the client and by the server: nothing differs.
func (b *bench) applied(ctx context.Context) error {
	for _, options := range [][]string{nil, {"--server-side", "--force-conflicts"}} {
		if err := b.workspace.apply(options...); err != nil {
			return err
		}
		if err := b.isEmpty(ctx); err != nil {
			return fmt.Errorf("kubectl apply %v: %w", options, err)
		}
	}
	objects, err := b.workspace.objects()
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(b.Seed, 0))
	b.editor = &editor{server: b.Server, random: random, objects: objects, edited: map[cluster.Key]bool{}}
	fmt.Fprintf(b.Out, "applied: after an apply by the client and by the server, none of %d objects differs\n", len(objects))
	return nil
}

// isEmpty waits until the program finds nothing: the controllers need a moment.
func (b *bench) isEmpty(ctx context.Context) error {
	var found *drift
	fine, err := cluster.Await(ctx, 20*time.Second, func() (bool, error) {
		var err error
		found, err = b.workspace.drift()
		return err == nil && len(found.Findings) == 0 && len(found.Access) == 0, err
	})
	if err == nil && !fine {
		err = fmt.Errorf("%w: findings without an edit: %+v, access %+v", cluster.ErrDiffers, found.Findings, found.Access)
	}
	return err
}

// reviewed makes edits one by one, and compares the answers of the server before and after with the access that the program prints.
func (b *bench) reviewed(ctx context.Context) error {
	all := requests(b.editor.random, b.Reviews)
	before, err := reviews(ctx, b.Server, all)
	if err != nil {
		return err
	}
	different := 0
	for range b.Reviewed {
		made, err := b.make(ctx, 1)
		if err != nil {
			return err
		}
		found, err := b.workspace.drift()
		if err != nil {
			return err
		}
		if err := compare(made, found); err != nil {
			return err
		}
		after, err := reviews(ctx, b.Server, all)
		if err != nil {
			return err
		}
		for i, request := range all {
			if predicted := found.differs(request, before[i]); (before[i] != after[i]) != predicted {
				return fmt.Errorf("%w: after the edit of %s, %s: the server says %t and %t; by drift the answer changes: %t",
					cluster.ErrDiffers, made[0].object, request, before[i], after[i], predicted)
			}
			if before[i] != after[i] {
				different++
			}
		}
		if err := b.undo(ctx, made); err != nil {
			return err
		}
	}
	if different == 0 {
		return fmt.Errorf("%w: no edit changes an answer", cluster.ErrDiffers)
	}
	fmt.Fprintf(b.Out, "access: %d edits, %d reviews before and after each; %d answers differ, all of them in the access that drift prints\n",
		b.Reviewed, b.Reviews, different)
	return nil
}

// edited makes the other edits, many at a time, and compares the findings with them.
func (b *bench) edited(ctx context.Context) error {
	left, classes := b.Edits-b.Reviewed, map[string]int{}
	for left > 0 {
		made, err := b.make(ctx, min(left, together))
		if err != nil {
			return err
		}
		left -= len(made)
		found, err := b.workspace.drift()
		if err != nil {
			return err
		}
		if err := compare(made, found); err != nil {
			return err
		}
		// The control: without one of the edits, the comparison has to fail.
		if visible := slices.IndexFunc(made, func(e *edit) bool { return e.class != silent }); visible >= 0 {
			if compare(slices.Delete(slices.Clone(made), visible, visible+1), found) == nil {
				return fmt.Errorf("%w: the control finds nothing", cluster.ErrDiffers)
			}
		}
		for _, edit := range made {
			classes[edit.class]++
		}
		if err := b.undo(ctx, made); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.Out, "edits: each of %d is found once, in its class, with its writer: %d missing, %d changed, %d unmanaged; %d decide nothing\n",
		b.Edits-b.Reviewed, classes[missing], classes[changed], classes[unmanaged], classes[silent])
	return nil
}

// make makes edits, and waits for the controllers.
func (b *bench) make(ctx context.Context, count int) ([]*edit, error) {
	time.Sleep(settling)
	var made []*edit
	for range count {
		edit, err := b.editor.edit(ctx)
		if err != nil {
			return nil, err
		}
		made = append(made, edit)
	}
	time.Sleep(settling)
	return made, nil
}

// undo undoes edits, and waits until nothing differs.
func (b *bench) undo(ctx context.Context, made []*edit) error {
	for _, edit := range made {
		if err := edit.undo(ctx); err != nil {
			return err
		}
	}
	clear(b.editor.edited)
	return b.isEmpty(ctx)
}

// compare compares edits with findings.
func compare(made []*edit, found *drift) error {
	var expected, actual []string
	for _, edit := range made {
		if edit.class != silent {
			expected = append(expected, edit.class+" "+edit.object.String())
		}
	}
	for _, finding := range found.Findings {
		actual = append(actual, finding.Class+" "+finding.Object)
	}
	slices.Sort(expected)
	slices.Sort(actual)
	if !slices.Equal(expected, actual) {
		return fmt.Errorf("%w: the edits are\n%s\nand the findings\n%s", cluster.ErrDiffers, strings.Join(expected, "\n"), strings.Join(actual, "\n"))
	}
	for _, edit := range made {
		for _, finding := range found.Findings {
			if edit.object.String() == finding.Object && edit.manager != "" && finding.Writer.Manager != edit.manager {
				return fmt.Errorf("%w: %s was written by %s, not by %q", cluster.ErrDiffers, finding.Object, edit.manager, finding.Writer.Manager)
			}
		}
	}
	return nil
}

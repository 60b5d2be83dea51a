// Package checks has the checks of the appliers of GitOps, each with a control that has to fail.
package checks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bailiwick.dev/conformance/appliers/internal/gitops"
	"bailiwick.dev/conformance/appliers/internal/source"
	"bailiwick.dev/conformance/internal/cluster"
)

// Options are the options of a run.
type Options struct {
	Applier gitops.Applier
	Server  *cluster.Cluster
	// Binary is the program, Root its workspace, and Work a folder for files.
	Binary, Root, Work string
	// Registry is the host and port of a registry for images; empty if there is none.
	Registry string
	Seed     uint64
	// Short leaves out repetitions.
	Short bool
	// Only is the name of the only check, if it is not empty.
	Only string
	Out  io.Writer
}

// A bench is what the checks work with.
type bench struct {
	Options
}

// A check returns a summary of what it saw.
type check struct {
	name string
	run  func(*bench, context.Context) (string, error)
}

func all() []check {
	return []check{
		// Roles of other checks add rules to the role that this one binds.
		{"compared", (*bench).compared},
		{"steady", (*bench).steady},
		{"removed namespace", (*bench).removedNamespace},
		{"removed target", (*bench).removedTarget},
		{"shards", (*bench).shards},
		{"changed role", (*bench).changedRole},
		{"plugin", (*bench).plugin},
		{"oci", (*bench).oci},
		{"accounts", (*bench).accounts},
	}
}

// Run runs the checks, and returns whether all of them passed.
func Run(ctx context.Context, options Options) (bool, error) {
	b := &bench{options}
	if err := b.Server.StartControllers(ctx); err != nil {
		return false, err
	}
	passed, runs := true, 0
	for _, check := range all() {
		if b.Only != "" && b.Only != check.name {
			continue
		}
		runs++
		begin := time.Now()
		summary, err := check.run(b, ctx)
		switch {
		case errors.Is(err, cluster.ErrDiffers):
			passed = false
			summary = err.Error()
		case err != nil:
			return false, fmt.Errorf("%s: %w", check.name, err)
		}
		fmt.Fprintf(b.Out, "%s: %s (%.0f s)\n", check.name, summary, time.Since(begin).Seconds())
	}
	if runs == 0 {
		return false, fmt.Errorf("no check %q", b.Only)
	}
	return passed, nil
}

// note prints the attempts that failed before the instances of a workspace were ready.
func (b *bench) note(parent *gitops.Parent) {
	for _, failure := range slices.Compact(parent.Failures) {
		fmt.Fprintf(b.Out, "  retried: %q\n", failure)
	}
}

// differs returns an error about the applier or the program.
func differs(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", cluster.ErrDiffers, fmt.Sprintf(format, arguments...))
}

// settings are the settings of a workspace.
type settings struct {
	name string
	// shards is the number of shards; 0 for none.
	shards int
	// keeps is that the appliers delete nothing.
	keeps   bool
	targets []string
	// account is the account that the applier acts as; empty for its own.
	account string
	// form is the form of the objects of Argo CD; empty for Applications.
	form string
}

// configuration returns the text of bailiwick.yaml.
func (b *bench) configuration(workspace *source.Workspace, s settings) string {
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: bailiwick.dev/v1alpha1\nkind: Workspace\nmetadata: {name: %s}\nspec:\n", s.name)
	if s.shards > 0 {
		fmt.Fprintf(&text, "  layout: {shards: %d}\n", s.shards)
	}
	text.WriteString(b.delivery(workspace, s))
	text.WriteString("  targets:\n")
	for _, target := range s.targets {
		fmt.Fprintf(&text, "  - name: %s\n    version: \"1.37\"\n", target)
		if s.account != "" {
			fmt.Fprintf(&text, "    appliedBy: {user: %q}\n", b.Applier.Account(s.account))
		}
	}
	return text.String()
}

// delivery returns `spec.delivery`.
func (b *bench) delivery(workspace *source.Workspace, s settings) string {
	text := fmt.Sprintf("  delivery:\n    path: %s\n", workspace.Path)
	if s.keeps {
		text += "    prune: false\n"
	}
	applier := b.Applier.Settings(workspace.Repository, s.account)
	if s.form != "" {
		applier = strings.Replace(applier, "argocd: {", "argocd: {form: "+s.form+", ", 1)
	}
	return text + applier
}

// parent returns a new workspace in a repository of its own, with its files.
func (b *bench) parent(name string) (*gitops.Parent, error) {
	repository, err := source.NewRepository(b.Work, name)
	if err != nil {
		return nil, err
	}
	workspace := repository.Workspace(source.Folder, b.Binary)
	return &gitops.Parent{Applier: b.Applier, Server: b.Server, Workspace: workspace}, nil
}

// write writes files of a workspace, by path, and renders it.
func write(workspace *source.Workspace, files map[string]string, arguments ...string) error {
	for path, text := range files {
		if err := workspace.Write(path, text); err != nil {
			return err
		}
	}
	return workspace.Render(arguments...)
}

// keys returns the keys of the output of a workspace.
func keys(workspace *source.Workspace, targets ...string) ([]cluster.Key, error) {
	objects, err := workspace.Objects(targets...)
	return cluster.Keys(objects), err
}

// changes returns the objects whose versions differ.
func changes(before, after map[cluster.Key]string) []string {
	var changed []string
	for key, version := range before {
		if after[key] != version {
			changed = append(changed, key.String())
		}
	}
	return changed
}

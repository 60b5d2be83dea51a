package main

import (
	"context"
	"strings"

	"github.com/spf13/afero"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplaneio/crossplane/apis/stacks/v1alpha1"
	"github.com/crossplaneio/crossplane/pkg/controller/stacks/stack"
	"github.com/crossplaneio/crossplane/pkg/stacks"
	"github.com/crossplaneio/crossplane/pkg/stacks/walker"
)

// made is what a package is unpacked to.
type made = v1alpha1.Stack

var madeKind = v1alpha1.StackGroupVersionKind

// This release has neither labels nor personas.
func main() { serve(map[string]answerer{"stack": answerStack}) }

func unpack(files afero.Fs, base, scope string) (string, error) {
	out := &strings.Builder{}
	walk := &walker.ResourceDir{Base: base, Walker: afero.Afero{Fs: files}}
	err := stacks.Unpack(walk, out, base, scope)
	return out.String(), err
}

// create has no gate to pass.
func create(ctx context.Context, kube client.Client, made *made, _ bool) error {
	return stack.Create(ctx, kube, made)
}

package main

import (
	"context"
	"strings"

	"github.com/spf13/afero"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/pkg/logging"
	"github.com/crossplane/crossplane/apis/packages/v1alpha1"
	"github.com/crossplane/crossplane/pkg/controller/packages/persona"
	"github.com/crossplane/crossplane/pkg/controller/packages/pkg"
	"github.com/crossplane/crossplane/pkg/packages"
	"github.com/crossplane/crossplane/pkg/packages/truncate"
	"github.com/crossplane/crossplane/pkg/packages/walker"
)

// made is what a package is unpacked to.
type made = v1alpha1.Package

var (
	madeKind  = v1alpha1.PackageGroupVersionKind
	permitted = pkg.Permitted
	personas  = persona.ClusterRoles
)

func unpack(files afero.Fs, base, scope string) (string, error) {
	out := &strings.Builder{}
	walk := &walker.ResourceDir{Base: base, Walker: afero.Afero{Fs: files}}
	err := packages.Unpack(walk, out, base, scope, "", logging.NewNopLogger())
	return out.String(), err
}

func create(ctx context.Context, kube client.Client, made *made, restrict bool) error {
	return pkg.Create(ctx, kube, made, restrict)
}

func multiParent(parent metav1.Object) string { return packages.MultiParentLabel(parent) }

func cut(text string, length int) (string, error) {
	return truncate.Truncate(text, length, truncate.DefaultSuffixLength)
}

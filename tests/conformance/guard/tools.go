//go:build tools

// Package guard pins the modules of the programs of its harness.
package guard

import _ "k8s.io/kubernetes/cmd/kube-controller-manager/app"

// Command facts adds the default policy of the Kubernetes that this module is built from to the table of all minors.
//
//	go run ./rbac/cmd/facts ../../crates/bailiwick-kubernetes/src/facts/default-policy.yaml
//
// An object that did not change only gets a longer stretch of minors; another form of it becomes a document of its own. The
// forms of older minors stay as they are, and a minor that is there already leaves the file as it is, so that the diff is
// what a review has to look at.
package main

import (
	"fmt"
	"os"

	"bailiwick.dev/conformance/rbac/internal/facts"
	"bailiwick.dev/conformance/rbac/internal/kube"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: facts FILE")
		os.Exit(2)
	}
	if err := update(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "facts:", err)
		os.Exit(3)
	}
}

func update(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	objects := []facts.Object{}
	err = kube.CurrentPolicy().Each(func(object any, kind string) error {
		made, err := facts.Write(object, kind)
		objects = append(objects, made)
		return err
	})
	if err != nil {
		return err
	}
	updated, err := facts.Merge(string(text), kube.Minor(), objects)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(updated), 0o644)
}

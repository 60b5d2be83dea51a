// Command cluster creates the pods of a world on a cluster of OpenShift with the objects of a compiled plan.
//
//	cluster --truth FILE --dump FILE --folder FOLDER --platform FILE --release N.N --into FILE [--without KIND]
//
// The truth has the pods of each workload, as `world` of the harness psp writes it. The service accounts are those of the dump, and the
// constraints of the platform those of the table. It writes the truth with the pods as the cluster stores them, with their constraints, and
// with its rejections. --without leaves out the objects of a kind, as a deliberate error. Ends with 0, with 2 on wrong usage, and with 3
// when the program itself cannot run.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/openshift/admission/internal/cluster"
)

type options struct {
	truth, dump, folder, platform, release, into, without string
}

func main() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	o := options{}
	flag.StringVar(&o.truth, "truth", "", "the file of the truth")
	flag.StringVar(&o.dump, "dump", "", "the file of the dump")
	flag.StringVar(&o.folder, "folder", "", "the output of a target")
	flag.StringVar(&o.platform, "platform", "", "the table of the constraints of the platform")
	flag.StringVar(&o.release, "release", "", "the release of OpenShift")
	flag.StringVar(&o.into, "into", "", "the file for the truth")
	flag.StringVar(&o.without, "without", "", "leave out the objects of a kind of the output, as a deliberate error")
	flag.Parse()
	if flag.NArg() > 0 || o.truth == "" || o.into == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(3)
	}
}

func run(o options) error {
	objects, err := read(o)
	if err != nil {
		return err
	}
	api, err := cluster.New(objects)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(o.truth)
	if err != nil {
		return err
	}
	// Only some of the fields are read here, and the others stay.
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return err
	}
	byConstraints := map[string]int{}
	for _, entry := range entries {
		fate, err := create(api, entry)
		if err != nil {
			return err
		}
		byConstraints[fate.Constraints]++
	}
	fmt.Printf("openshift %s: %d workloads, by constraints: %v\n", o.release, len(entries), byConstraints)
	if text, err = json.MarshalIndent(entries, "", " "); err != nil {
		return err
	}
	return os.WriteFile(o.into, text, 0o644)
}

// create creates the pod of an entry, and writes the outcome into the entry.
func create(api *cluster.Cluster, entry map[string]json.RawMessage) (*cluster.Fate, error) {
	pod := &corev1.Pod{}
	var creator struct{ User string }
	if err := json.Unmarshal(entry["pod"], pod); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(entry["creator"], &creator); err != nil {
		return nil, err
	}
	fate, err := api.Create(creator.User, pod)
	if err != nil {
		return nil, err
	}
	if fate.Pod != nil {
		if entry["pod"], err = json.Marshal(fate.Pod); err != nil {
			return nil, err
		}
	}
	entry["rejection"], err = json.Marshal(fate.Rejection)
	return fate, err
}

// read reads the objects of the cluster.
func read(o options) ([]runtime.Object, error) {
	kinds := []string{"Namespace", "SecurityContextConstraints", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
	var left []string
	for _, kind := range kinds {
		if kind != o.without {
			left = append(left, kind)
		}
	}
	all, err := cluster.Platform(o.platform, o.release)
	if err != nil {
		return nil, err
	}
	accounts, err := cluster.Read(o.dump, "ServiceAccount")
	if err != nil {
		return nil, err
	}
	compiled, err := cluster.Read(o.folder, left...)
	return append(append(all, accounts...), compiled...), err
}

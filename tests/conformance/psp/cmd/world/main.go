// Command world makes a cluster of Kubernetes 1.24 with PodSecurityPolicies, and creates its pods again.
//
//	world generate --into FOLDER [--seed N] [--namespaces N] [--tenants] [--asked]
//	world patch --truth FILE --patches FOLDER --into FILE
//	world admit --truth FILE --objects FILE,FOLDER [--into FILE] [--without KIND]
//
// generate writes dump.yaml, as kubectl prints it, and truth.json with the fate of each workload. patch applies the patches of a
// migration to the workloads, and writes the truth with their new pods. admit creates the pods of the workloads under the policies,
// the service accounts and the RBAC objects of files and folders; an object of a later one replaces that of an earlier one. A pod that
// ran and is rejected is a difference. With --into it writes the truth with the pods as the server stores them, and with its rejections;
// --without leaves out the objects of a kind, as a deliberate error. Ends with 0 when nothing differs, 1 when something does, 2 on wrong
// usage, 3 when the program itself cannot run.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/psp/internal/server"
	"bailiwick.dev/conformance/psp/internal/world"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

// shown is how many differences are printed.
const shown = 5

// errUsage ends the program with its own code.
var errUsage = errors.New("usage: world generate|patch|admit [OPTIONS]")

func main() {
	klog.SetLogger(logr.Discard())
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "world:", err)
		code = cannot
		if errors.Is(err, errUsage) {
			code = usage
		}
	}
	os.Exit(code)
}

func run(arguments []string) (int, error) {
	if len(arguments) == 0 {
		return usage, errUsage
	}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	into := flags.String("into", "", "folder or file for the output")
	seed := flags.Uint64("seed", 1, "generate: what the world depends on")
	namespaces := flags.Int("namespaces", 50, "generate: how many namespaces")
	tenants := flags.Bool("tenants", false, "generate: give each namespace a policy of its own")
	asked := flags.Bool("asked", false, "generate: give pods without a template as their creators ask for them, and not as they are stored")
	truth := flags.String("truth", "", "patch, admit: the file of the truth")
	patches := flags.String("patches", "", "patch: the folder of the patches")
	objects := flags.String("objects", "", "admit: files and folders, with commas between them")
	without := flags.String("without", "", "admit: leave out the objects of a kind, as a deliberate error")
	if err := flags.Parse(arguments[1:]); err != nil || flags.NArg() > 0 {
		return usage, errors.Join(errUsage, err)
	}
	switch arguments[0] {
	case "generate":
		return equal, generate(world.Options{Seed: *seed, Namespaces: *namespaces, Tenants: *tenants, Asked: *asked}, *into)
	case "patch":
		return equal, patch(*truth, *patches, *into)
	case "admit":
		return admit(*truth, sources{strings.Split(*objects, ","), *without}, *into)
	}
	return usage, errUsage
}

func generate(options world.Options, into string) error {
	made, err := world.Generate(options)
	if err != nil {
		return err
	}
	running, rejected := 0, 0
	for _, entry := range made.Entries {
		running += len(entry.Pods)
		if entry.Policy == "" {
			rejected++
		}
	}
	fmt.Printf("world: %d objects, %d workloads, %d pods, %d templates that are rejected\n", len(made.Objects), len(made.Entries), running, rejected)
	return errors.Join(made.WriteDump(filepath.Join(into, "dump.yaml")), world.WriteEntries(filepath.Join(into, "truth.json"), made.Entries))
}

func patch(truth, patches, into string) error {
	entries, err := world.ReadEntries(truth)
	if err != nil {
		return err
	}
	count, err := world.Patch(entries, patches)
	if err != nil {
		return err
	}
	fmt.Printf("patches: %d\n", count)
	return world.WriteEntries(into, entries)
}

// sources are the objects of a server.
type sources struct {
	// all are files and folders.
	all []string
	// without is a kind that is left out.
	without string
}

func admit(truth string, sources sources, into string) (int, error) {
	entries, err := world.ReadEntries(truth)
	if err != nil {
		return cannot, err
	}
	objects, err := sources.read()
	if err != nil {
		return cannot, err
	}
	api, err := server.New(objects)
	if err != nil {
		return cannot, err
	}
	stored := entries[:0:0]
	var differences []string
	for _, entry := range entries {
		pod := &corev1.Pod{}
		if err := json.Unmarshal(entry.Pod, pod); err != nil {
			return cannot, err
		}
		fate, err := api.Create(entry.Creator, pod)
		if err != nil {
			return cannot, err
		}
		if fate.Pod == nil && entry.Policy != "" {
			differences = append(differences, fmt.Sprintf("%s was admitted by %s for %s: %s", entry.Key(), entry.Policy, entry.Creator.User, fate.Rejection))
		}
		if fate.Pod != nil {
			if entry.Pod, err = json.Marshal(fate.Pod); err != nil {
				return cannot, err
			}
		}
		entry.Rejection = fate.Rejection
		stored = append(stored, entry)
	}
	if into != "" {
		if err := world.WriteEntries(into, stored); err != nil {
			return cannot, err
		}
	}
	return report(len(entries), differences)
}

// report prints the first differences.
func report(count int, differences []string) (int, error) {
	for _, difference := range differences[:min(shown, len(differences))] {
		fmt.Println("  " + difference)
	}
	fmt.Printf("1.24: %d workloads, %d differences\n", count, len(differences))
	if len(differences) > 0 {
		return different, nil
	}
	return equal, nil
}

// read reads what a server needs: policies, accounts, and RBAC. An object replaces an earlier one of its name.
func (s sources) read() ([]runtime.Object, error) {
	byKey := map[string]int{}
	var all []runtime.Object
	for _, source := range s.all {
		objects, err := world.ReadObjects(source)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if !isForServer(object) || object.GetObjectKind().GroupVersionKind().Kind == s.without {
				continue
			}
			metadata, err := meta.Accessor(object)
			if err != nil {
				return nil, err
			}
			key := fmt.Sprintf("%T %s/%s", object, metadata.GetNamespace(), metadata.GetName())
			if index, known := byKey[key]; known {
				all[index] = object
				continue
			}
			byKey[key] = len(all)
			all = append(all, object)
		}
	}
	return all, nil
}

// isForServer is true for the objects that decide about pods.
func isForServer(object runtime.Object) bool {
	switch object.(type) {
	case *policyv1beta1.PodSecurityPolicy, *corev1.ServiceAccount,
		*rbacv1.Role, *rbacv1.RoleBinding, *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding:
		return true
	}
	return false
}

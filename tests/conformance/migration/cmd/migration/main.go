// Command migration compares `bailiwick migrate psp` and `bailiwick migrate verify` with Kubernetes, on a world of the command `world`.
//
//	migration report --truth FILE --dump FILE --report FILE
//	migration standards --truth FILE --report FILE --folder FOLDER --verify FILE --release N.N [--modes LIST] [--ran]
//	migration restore --dump FILE --kubeconfig FILE
//	migration server --truth FILE --report FILE --folder FOLDER --verify FILE --kubeconfig FILE --verdicts FILE [--limits]
//	migration pods --truth FILE --report FILE --dump FILE --verify FILE --into FILE
//	migration constraints --truth FILE --report FILE --folder FOLDER --verify FILE --release N.N
//	migration self-test-constraints --truth FILE --report FILE --folder FOLDER --verify FILE --release N.N
//	migration self-test --truth FILE --dump FILE --report FILE --folder FOLDER --verify FILE --verdicts FILE --release N.N
//
// report holds the rows of the report against the truth. standards judges the pods with Pod Security admission and the labels of a stage;
// the labels of some modes must not be looser than the report, and --ran leaves out workloads whose pods never ran. restore creates the
// namespaces, accounts and RBAC objects of the dump on a server. server asks it for every pod as its creator, and keeps the verdicts; with
// --limits it first waits until no namespace admits a privileged pod whose policy in the report has limits. self-test tells lies about all
// of it. pods writes the truth with the running pods that the answer names. constraints compares the constraints of the pods of a cluster of
// OpenShift with the answer, and self-test-constraints tells lies about them. --rejected counts the rejections in the truth. Ends with 0 when nothing differs, 1 when something does, 2 on wrong usage, 3 when the program itself cannot run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"bailiwick.dev/conformance/internal/cluster"
	"bailiwick.dev/conformance/migration/internal/judge"
	"bailiwick.dev/conformance/migration/internal/plan"
)

// Exit codes.
const (
	equal = iota
	different
	usage
	cannot
)

const (
	// shown is how many differences are printed.
	shown = 5
	// withPolicies is the last release with PodSecurityPolicies.
	withPolicies = "1.24"
	// patience is how long a server may take to heed new policies.
	patience = 30 * time.Second
)

// errUsage ends the program with its own code.
var errUsage = errors.New("usage: migration report|standards|restore|server|self-test [OPTIONS]")

func main() {
	klog.SetLogger(klog.New(nil))
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "migration:", err)
		code = cannot
		if errors.Is(err, errUsage) {
			code = usage
		}
	}
	os.Exit(code)
}

// options are those of all commands.
type options struct {
	truth, dump, report, folder, verify, verdicts, release, kubeconfig, modes, into string
	limits, ran, rejected                                                           bool
}

func run(arguments []string) (int, error) {
	if len(arguments) == 0 {
		return usage, errUsage
	}
	o := options{}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	flags.StringVar(&o.truth, "truth", "", "the file of the truth")
	flags.StringVar(&o.dump, "dump", "", "the file of the dump")
	flags.StringVar(&o.report, "report", "", "the report of `migrate psp`")
	flags.StringVar(&o.folder, "folder", "", "the output of a stage")
	flags.StringVar(&o.verify, "verify", "", "the answer of `migrate verify`")
	flags.StringVar(&o.verdicts, "verdicts", "", "the verdicts of the server")
	flags.StringVar(&o.release, "release", "", "the release of Kubernetes of a stage")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "the server")
	flags.StringVar(&o.modes, "modes", "enforce,audit,warn", "the modes whose labels have the levels of the report")
	flags.BoolVar(&o.ran, "ran", false, "leave out workloads whose pods were rejected before")
	flags.BoolVar(&o.limits, "limits", false, "wait for the limits of the profiles")
	flags.BoolVar(&o.rejected, "rejected", false, "count the rejections in the truth; 1.24 counts them always")
	flags.StringVar(&o.into, "into", "", "the file for the truth")
	if err := flags.Parse(arguments[1:]); err != nil || flags.NArg() > 0 {
		return usage, errors.Join(errUsage, err)
	}
	commands := map[string]func(options) (int, error){
		"report": report, "standards": standards, "restore": restore, "server": server, "self-test": selfTest,
		"pods": pods, "constraints": constraints, "self-test-constraints": selfTestConstraints,
	}
	command := commands[arguments[0]]
	if command == nil {
		return usage, errUsage
	}
	return command(o)
}

// conclude prints the first differences.
func conclude(what string, count int, differences []string) (int, error) {
	for _, difference := range differences[:min(shown, len(differences))] {
		fmt.Println("  " + difference)
	}
	fmt.Printf("%s: %d workloads, %d differences\n", what, count, len(differences))
	if len(differences) > 0 {
		return different, nil
	}
	return equal, nil
}

func report(o options) (int, error) {
	inputs, err := read(o)
	if err != nil {
		return cannot, err
	}
	return conclude("report", len(inputs.Truth), judge.Report(inputs.Truth, &inputs.Report, inputs.Owned))
}

func standards(o options) (int, error) {
	inputs, err := read(o)
	if err != nil {
		return cannot, err
	}
	if o.ran {
		inputs.Truth = slices.DeleteFunc(inputs.Truth, func(entry plan.Entry) bool { return !entry.Ran() })
	}
	verdicts, err := judge.Standards(inputs.Truth, inputs.Labels, o.release)
	if err != nil {
		return cannot, err
	}
	differences := judge.Refusals(inputs.Truth, verdicts, &inputs.Answer)
	for _, mode := range strings.Split(o.modes, ",") {
		differences = append(differences, judge.Levels(&inputs.Report, inputs.Labels, mode)...)
	}
	return conclude("Pod Security "+o.release, len(inputs.Truth), differences)
}

func restore(o options) (int, error) {
	objects, err := plan.ReadObjects(o.dump)
	if err != nil {
		return cannot, err
	}
	api, err := cluster.Connect(o.kubeconfig)
	if err != nil {
		return cannot, err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	kinds := []string{"Namespace", "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}
	for _, kind := range kinds {
		for _, object := range objects {
			if object.GetKind() != kind {
				continue
			}
			unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
			if err := api.Apply(ctx, object); err != nil {
				return cannot, err
			}
		}
	}
	// The rules of `edit` come from a controller.
	if err := api.StartControllers(ctx); err != nil {
		return cannot, err
	}
	isFilled, err := cluster.Await(ctx, patience, func() (bool, error) {
		role, err := api.Kube.RbacV1().ClusterRoles().Get(ctx, "edit", metav1.GetOptions{})
		return err == nil && len(role.Rules) > 0, err
	})
	if err != nil || !isFilled {
		return cannot, errors.Join(errors.New("the role `edit` stays empty"), err)
	}
	return equal, nil
}

func server(o options) (int, error) {
	inputs, err := read(o)
	if err != nil {
		return cannot, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return cannot, err
	}
	ctx, api := context.Background(), judge.NewServer(config)
	differences := judge.Levels(&inputs.Report, inputs.Labels, "enforce")
	if o.limits {
		admitting, err := api.Limits(ctx, &inputs.Report, patience)
		if err != nil {
			return cannot, err
		}
		differences = append(differences, admitting...)
	}
	verdicts, err := api.Verdicts(ctx, inputs.Truth, &inputs.Answer, patience)
	if err != nil {
		return cannot, err
	}
	if err := plan.WriteJSON(o.verdicts, verdicts); err != nil {
		return cannot, err
	}
	fmt.Printf("server: %d workloads are rejected, %d of them ran\n", rejected(inputs, verdicts, false), rejected(inputs, verdicts, true))
	return conclude("server", len(inputs.Truth), append(differences, judge.Refusals(inputs.Truth, verdicts, &inputs.Answer)...))
}

// rejected counts the rejected workloads, or those of them that ran.
func rejected(inputs *judge.Inputs, verdicts judge.Verdicts, ran bool) int {
	count := 0
	for _, entry := range inputs.Truth {
		if verdicts[entry.Key()] != "" && (entry.Ran() || !ran) {
			count++
		}
	}
	return count
}

func pods(o options) (int, error) {
	inputs, err := read(o)
	if err != nil {
		return cannot, err
	}
	return equal, plan.WriteJSON(o.into, inputs.Truth)
}

func constraints(o options) (int, error) {
	inputs, err := read(o)
	if err != nil {
		return cannot, err
	}
	return conclude("constraints", len(inputs.Truth), judge.Constraints(inputs.Truth, &inputs.Report, &inputs.Answer))
}

func selfTestConstraints(o options) (int, error) {
	return concludeLies(judge.SelfTestConstraints(func() (*judge.Inputs, error) { return read(o) }))
}

func selfTest(o options) (int, error) {
	return concludeLies(judge.SelfTest(func() (*judge.Inputs, error) { return read(o) }))
}

// concludeLies prints the lies that nobody notices.
func concludeLies(count int, unnoticed []string, err error) (int, error) {
	if err != nil {
		return cannot, err
	}
	for _, lie := range unnoticed {
		fmt.Println("  " + lie)
	}
	fmt.Printf("self-test: %d lies, %d unnoticed\n", count, len(unnoticed))
	if len(unnoticed) > 0 {
		return different, nil
	}
	return equal, nil
}

// read reads the files that are named.
func read(o options) (*judge.Inputs, error) {
	inputs := &judge.Inputs{Version: o.release}
	var failures []error
	note := func(err error) { failures = append(failures, err) }
	var err error
	inputs.Truth, err = plan.ReadJSON[[]plan.Entry](o.truth)
	note(err)
	for index := range inputs.Truth {
		if !o.rejected && o.release != withPolicies {
			inputs.Truth[index].Rejection = ""
		}
	}
	inputs.Report, err = plan.ReadJSON[plan.Report](o.report)
	note(err)
	if o.dump != "" {
		inputs.Owned, err = ownedTemplates(o.dump)
		note(err)
	}
	if o.folder != "" {
		inputs.Labels, err = plan.Labels(o.folder)
		note(err)
	}
	if o.verify != "" {
		inputs.Answer, err = plan.ReadJSON[plan.Verification](o.verify)
		note(err)
	}
	if o.verdicts != "" {
		// The command that writes them has none yet.
		if inputs.Verdicts, err = plan.ReadJSON[judge.Verdicts](o.verdicts); !errors.Is(err, os.ErrNotExist) {
			note(err)
		}
	}
	if o.dump != "" && len(inputs.Answer.Refused) > 0 {
		note(inputs.AddPods(o.dump))
	}
	return inputs, errors.Join(failures...)
}

// ownedTemplates counts the templates of a dump that another workload of it owns.
func ownedTemplates(dump string) (int, error) {
	objects, err := plan.ReadObjects(dump)
	if err != nil {
		return 0, err
	}
	present := map[string]bool{}
	for _, object := range objects {
		present[string(object.GetUID())] = true
	}
	count := 0
	for _, object := range objects {
		isOwned := slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return present[string(owner.UID)] })
		if isOwned && object.GetKind() != "Pod" {
			count++
		}
	}
	return count, nil
}

package policies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/rbac/internal/cluster"
)

// profileLabel names the profile of a namespace.
const profileLabel = "bailiwick.dev/pod-security-profile"

const (
	// settling is how long a server may take to heed new policies, which it looks for now and then.
	settling = 30 * time.Second
	// polling is how often it is asked again meanwhile.
	polling = 250 * time.Millisecond
)

// shown differences are enough to see what is wrong.
const shown = 10

// Options say what to compare.
type Options struct {
	// Command speaks the protocol.
	Command    []string
	Kubeconfig string
	// Folder holds the manifests that the server was given, and Profiles the same profiles as PodSecurityPolicies: of the
	// name of the profile, or for a tenant of the name of its namespace with `-psp` behind it.
	Folder, Profiles string
	Seed             uint64
	Count            int
}

// staticMapper is a mapper that never changes.
type staticMapper struct{ meta.RESTMapper }

func (*staticMapper) Reset() {}

// Compare checks the types of the policies, and then creates random pods in namespaces with a profile, without keeping
// them: the server has to let pass exactly those that the evaluator of PodSecurityPolicy lets pass for the same
// profile. What the rest of the server refuses (Pod Security levels, the validation of pods) is counted and told apart.
func Compare(ctx context.Context, out io.Writer, options Options) (bool, error) {
	config, err := clientcmd.BuildConfigFromFlags("", options.Kubeconfig)
	if err != nil {
		return false, err
	}
	config.QPS, config.Burst = 2000, 2000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return false, err
	}
	given, err := cluster.ReadFolder(options.Folder)
	if err != nil {
		return false, err
	}
	warnings, err := TypeWarnings(out, config, given)
	if err != nil {
		return false, err
	}
	places, err := places(given, options.Profiles)
	if err != nil {
		return false, err
	}
	if err := prepare(ctx, client, places); err != nil {
		return false, err
	}
	session, err := ask.Start(options.Command...)
	if err != nil {
		return false, err
	}
	defer session.Close()
	run := &run{client: client, session: session, tally: map[string]int{}, settled: time.Now().Add(settling)}
	random := rand.New(rand.NewPCG(options.Seed, 17))
	for number := 0; run.compared < options.Count; number++ {
		if number > 20*options.Count+1000 {
			return false, fmt.Errorf("only %d of %d pods can be compared", run.compared, number)
		}
		place := places[number%len(places)]
		generator := &generator{random: random, policy: place.policy}
		if err := run.compare(ctx, place, generator.pod(number)); err != nil {
			return false, err
		}
	}
	run.print(out, len(places))
	return warnings > 0 || len(run.differences) > 0, nil
}

// A place is a namespace with a profile.
type place struct {
	namespace string
	policy    *podSecurityPolicy
	object    json.RawMessage
}

func places(given []*unstructured.Unstructured, profiles string) ([]*place, error) {
	policies := map[string]*place{}
	objects, err := cluster.ReadFolder(profiles)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetKind() != "PodSecurityPolicy" {
			continue
		}
		policy := &podSecurityPolicy{}
		text, err := json.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, policy); err != nil {
			return nil, err
		}
		policies[object.GetName()] = &place{policy: policy, object: text}
	}
	var found []*place
	for _, object := range given {
		profile := object.GetLabels()[profileLabel]
		if object.GetKind() != "Namespace" || profile == "" {
			continue
		}
		policy := policies[object.GetName()+"-psp"]
		if policy == nil {
			policy = policies[profile]
		}
		if policy == nil {
			return nil, fmt.Errorf("there is no PodSecurityPolicy for the profile %q of %q", profile, object.GetName())
		}
		found = append(found, &place{namespace: object.GetName(), policy: policy.policy, object: policy.object})
	}
	if len(found) == 0 {
		return nil, errors.New("no namespace has a profile")
	}
	return found, nil
}

// prepare makes what pods need before they are looked at: a service account, which a controller would make, the runtime
// classes they name, and a namespace without a profile.
func prepare(ctx context.Context, client kubernetes.Interface, places []*place) error {
	for _, name := range []string{"kata", "gvisor"} {
		class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: name}
		if _, err := client.NodeV1().RuntimeClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, place := range places {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		if _, err := client.CoreV1().ServiceAccounts(place.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

type run struct {
	// settled is when every policy counts.
	settled  time.Time
	client   kubernetes.Interface
	session  *ask.Session
	compared int
	allowed  int
	// tally counts the pods that something else refused, by what it was.
	tally       map[string]int
	differences []string
}

// admitted is the answer of the evaluator.
type admitted struct {
	Allowed bool            `json:"allowed"`
	Errors  json.RawMessage `json:"errors"`
	Error   string          `json:"error"`
}

func (r *run) compare(ctx context.Context, place *place, pod *corev1.Pod) error {
	answer, err := r.evaluate(place, pod)
	if err != nil {
		return err
	}
	for {
		again, err := r.verdict(ctx, place, pod, answer)
		if err != nil || !again {
			return err
		}
		time.Sleep(polling)
	}
}

// verdict asks the server, and says whether to ask again: while its policies settle, a difference is none.
func (r *run) verdict(ctx context.Context, place *place, pod *corev1.Pod, answer *admitted) (bool, error) {
	_, err := r.client.CoreV1().Pods(place.namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	refusedBy := ""
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "ValidatingAdmissionPolicy"):
		refusedBy = "policy"
	case strings.Contains(err.Error(), "violates PodSecurity"):
		refusedBy = "level"
	case apierrors.IsInvalid(err):
		refusedBy = "validation"
	default:
		return false, fmt.Errorf("%s: %w", place.namespace, err)
	}
	if refusedBy == "level" || refusedBy == "validation" {
		// PodSecurityPolicy never saw such a pod, or left it to the kubelet.
		r.tally[reason(refusedBy, err)]++
		return false, nil
	}
	if answer.Allowed != (err == nil) && time.Now().Before(r.settled) {
		return true, nil
	}
	r.compared++
	if answer.Allowed {
		r.allowed++
	}
	if answer.Allowed != (err == nil) {
		text, _ := json.Marshal(pod.Spec)
		r.differences = append(r.differences, fmt.Sprintf("%s: allowed by the evaluator: %v %s\n    server: %v\n    pod: %s", place.namespace, answer.Allowed, answer.Errors, err, text))
	}
	return false, nil
}

func (r *run) evaluate(place *place, pod *corev1.Pod) (*admitted, error) {
	object, err := json.Marshal(beforeFields(pod))
	if err != nil {
		return nil, err
	}
	answer := &admitted{}
	body := map[string]any{"psp": place.object, "pod": json.RawMessage(object)}
	if err := r.session.Ask("psp-admit", body, answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer, nil
}

// beforeFields gives the pod as one wrote it for PodSecurityPolicy: AppArmor profiles were annotations then, one for each
// container.
func beforeFields(pod *corev1.Pod) *corev1.Pod {
	older := pod.DeepCopy()
	older.Annotations = map[string]string{}
	for _, container := range append(append([]corev1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		var profile *corev1.AppArmorProfile
		if pod.Spec.SecurityContext != nil {
			profile = pod.Spec.SecurityContext.AppArmorProfile
		}
		if container.SecurityContext != nil && container.SecurityContext.AppArmorProfile != nil {
			profile = container.SecurityContext.AppArmorProfile
		}
		if profile == nil {
			continue
		}
		name := map[corev1.AppArmorProfileType]string{
			corev1.AppArmorProfileTypeRuntimeDefault: "runtime/default", corev1.AppArmorProfileTypeUnconfined: "unconfined",
		}[profile.Type]
		if profile.Type == corev1.AppArmorProfileTypeLocalhost {
			name = "localhost/" + *profile.LocalhostProfile
		}
		older.Annotations["container.apparmor.security.beta.kubernetes.io/"+container.Name] = name
	}
	return older
}

// reason shortens what a server says to what repeats.
func reason(refusedBy string, err error) string {
	var status apierrors.APIStatus
	if refusedBy == "validation" && errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			return "validation: " + strings.Join(strings.FieldsFunc(cause.Field, func(r rune) bool { return r >= '0' && r <= '9' }), "") + ": " + withoutValue(cause.Message)
		}
	}
	_, text, _ := strings.Cut(err.Error(), "violates PodSecurity")
	name, _, _ := strings.Cut(text, "(")
	return "level:" + name
}

// withoutValue leaves out the value that a message repeats.
func withoutValue(message string) string {
	if what, rest, found := strings.Cut(message, "value: "); found {
		_, why, _ := strings.Cut(rest, ": ")
		return what + "value: " + why
	}
	return message
}

func (r *run) print(out io.Writer, places int) {
	fmt.Fprintf(out, "%d pods in %d namespaces (%d allowed): %d verdicts differ\n", r.compared, places, r.allowed, len(r.differences))
	for index, difference := range r.differences {
		if index == shown {
			fmt.Fprintf(out, "  ... and %d more\n", len(r.differences)-index)
			break
		}
		fmt.Fprintln(out, "  "+difference)
	}
	reasons := make([]string, 0, len(r.tally))
	total := 0
	for reason, count := range r.tally {
		reasons = append(reasons, reason)
		total += count
	}
	sort.Strings(reasons)
	fmt.Fprintf(out, "%d more pods are refused by design before or beside the policies:\n", total)
	for _, reason := range reasons {
		fmt.Fprintf(out, "  %4d %s\n", r.tally[reason], reason)
	}
}

package nodes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/rbac/internal/cluster"
)

// AgentOptions say what to check of agents.
type AgentOptions struct {
	// Command speaks the protocol.
	Command    []string
	Kubeconfig string
	// Folder holds manifests that the server was not given yet, made of the policies in Policies for the target.
	Folder, Policies, Target string
}

// Agents gives a folder to the server, and tells whether anything of its agents is not as it shall be: their policies are
// accepted without a warning, and they may write what belongs to their own node and nothing else.
func Agents(ctx context.Context, out io.Writer, options AgentOptions) (bool, error) {
	server, err := reach(options.Kubeconfig)
	if err != nil {
		return false, err
	}
	objects, err := cluster.ReadFolder(options.Folder)
	if err != nil {
		return false, err
	}
	agents, err := readAgents(options.Policies, options.Target)
	if err != nil {
		return false, err
	}
	accepted, err := server.accept(ctx, out, objects)
	if err != nil {
		return false, err
	}
	near := neighboursOf(options.Target)
	scopes, err := server.prepare(ctx, agents, near, definedBy(objects))
	if err != nil {
		return false, err
	}
	attempts, err := attempts(scopes, near)
	if err != nil {
		return false, err
	}
	trial := &trial{server: server, policies: policiesOf(objects), attempts: attempts, nodes: near}
	differs, err := trial.run(ctx, out, options)
	if err != nil {
		return false, err
	}
	strays, err := server.realTokens(ctx, out, agents, scopes, near)
	if err != nil {
		return false, err
	}
	return !accepted || differs || strays, server.cleanUp(ctx, scopes, near)
}

// accept gives the folder, and tells whether all of it is taken without a word.
func (s *server) accept(ctx context.Context, out io.Writer, objects []*unstructured.Unstructured) (bool, error) {
	differences, compared, err := s.ours(ctx, objects)
	if err != nil {
		return false, err
	}
	if compared > 0 {
		fmt.Fprintf(out, "%s: %d objects as the server has them: %d differences\n", systemNode, compared, len(differences))
		show(out, differences)
	}
	warnings, err := s.give(ctx, objects)
	if err != nil {
		return false, err
	}
	typed, unseen, err := s.checkTypes(out, objects)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%d objects, %d of them admission policies, accepted with %d warnings\n", len(objects), len(policiesOf(objects)), len(warnings))
	show(out, warnings)
	for _, fault := range unseen {
		fmt.Fprintf(out, "self-check: %s was not noticed\n", fault)
	}
	return len(differences)+len(warnings)+typed+len(unseen) == 0, nil
}

// definedBy names the kinds that a folder defines, each as group and plural.
func definedBy(objects []*unstructured.Unstructured) map[string]bool {
	defined := map[string]bool{}
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			plural, group, _ := strings.Cut(object.GetName(), ".")
			defined[group+"/"+plural] = true
		}
	}
	return defined
}

// A trial is what the agents attempt.
type trial struct {
	*server
	policies []*unstructured.Unstructured
	attempts []*attempt
	nodes    neighbours
}

func (t *trial) run(ctx context.Context, out io.Writer, options AgentOptions) (bool, error) {
	differing, err := t.settle(ctx)
	if err != nil {
		return false, err
	}
	allowed := 0
	agents := map[string]bool{}
	for _, attempt := range t.attempts {
		agents[attempt.bearer.agent.Name] = true
		if attempt.given.passed() {
			allowed++
		}
	}
	fmt.Fprintf(out, "%d dry-run writes of %d agents (%d allowed), by what NodeAccess means: %d differ\n", len(t.attempts), len(agents), allowed, len(differing))
	show(out, describe(differing))
	asked, err := t.askPolicies(options.Command, t.policies)
	if err != nil {
		return false, err
	}
	asked.print(out)
	if len(differing) > 0 || len(asked.differences) > 0 {
		// Faults beside those that are there already would prove nothing.
		return true, nil
	}
	unseen, faults, err := t.selfCheck(ctx)
	if err != nil {
		return false, err
	}
	seen, err := t.seesFaults(options.Command)
	if err != nil {
		return false, err
	}
	if !seen {
		unseen = append(unseen, "that the program is asked about policies with parts missing")
	}
	faults++
	for _, fault := range unseen {
		fmt.Fprintf(out, "self-check: %s was not noticed\n", fault)
	}
	fmt.Fprintf(out, "self-check: %d of %d parts of policies are noticed where they are missing\n", faults-len(unseen), faults)
	return len(unseen) > 0, nil
}

// settle makes every attempt, and those that differ from what is expected again until the policies must have been heeded.
func (t *trial) settle(ctx context.Context) ([]*attempt, error) {
	deadline := time.Now().Add(settling)
	differing := t.attempts
	for {
		if err := t.make(ctx, differing); err != nil {
			return nil, err
		}
		differing = slices.DeleteFunc(slices.Clone(differing), func(attempt *attempt) bool { return attempt.given.passed() == attempt.expected() })
		if len(differing) == 0 || time.Now().After(deadline) {
			return differing, nil
		}
		time.Sleep(polling)
	}
}

func (t *trial) make(ctx context.Context, attempts []*attempt) error {
	return parallel(len(attempts), func(index int) error {
		attempt := attempts[index]
		caller, err := t.as(attempt.identity())
		if err != nil {
			return err
		}
		attempt.given, err = caller.send(ctx, attempt.request)
		if err == nil && !attempt.given.passed() && attempt.given.status != http.StatusForbidden && !attempt.byPolicy() {
			// Neither allowed nor refused: the request is wrong, and that is our fault.
			err = fmt.Errorf("%s", attempt)
		}
		return err
	})
}

// byPolicy tells whether an admission policy refused. Those give the status 422.
func (a *attempt) byPolicy() bool {
	return strings.Contains(a.given.message, "ValidatingAdmissionPolicy")
}

func (a *attempt) String() string {
	return fmt.Sprintf("%s at node %q: %s %s %s: %d %s", a.bearer.agent.Name, a.bearer.nodes, a.verb, a.request, a.what, a.given.status, a.given.message)
}

func describe(attempts []*attempt) []string {
	var lines []string
	for _, attempt := range attempts {
		lines = append(lines, attempt.String())
	}
	return lines
}

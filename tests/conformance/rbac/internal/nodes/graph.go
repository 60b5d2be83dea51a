package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/rbac/internal/cluster"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// A graph is what nodes are asked about, and what the server says.
type graph struct {
	*server
	options   KubeletOptions
	inventory *inventory
	objects   []object
	reviews   []*review
	// byRole is what RBAC gives to whoever asks, whatever leads to the node.
	byRole  []bool
	allowed []bool
}

// compare asks both sides, and tells whether anything differs.
func (g *graph) compare(ctx context.Context, out io.Writer) (bool, error) {
	g.reviews = g.inventory.reviews(g.options.Count)
	g.allowed = make([]bool, len(g.reviews))
	var err error
	if g.byRole, err = g.askRoles(); err != nil {
		return false, err
	}
	ours, err := g.decisions(g.objects)
	if err != nil {
		return false, err
	}
	// The authorizer hears of an object a moment after the one who wrote it, so that a difference is asked again.
	left := make([]int, len(g.reviews))
	for index := range left {
		left[index] = index
	}
	for deadline := time.Now().Add(settling); ; time.Sleep(polling) {
		if err := g.ask(ctx, left); err != nil {
			return false, err
		}
		var differing []int
		for _, index := range left {
			if ours[index] != g.allowed[index] {
				differing = append(differing, index)
			}
		}
		if left = differing; len(left) == 0 || time.Now().After(deadline) {
			break
		}
	}
	allowed, byGraph := 0, 0
	for index := range g.reviews {
		if g.allowed[index] {
			allowed++
			if !g.byRole[index] {
				byGraph++
			}
		}
	}
	fmt.Fprintf(out, "graph: %d access reviews of %d nodes with %d objects (%d allowed, %d of them by no role): %d differ\n",
		len(g.reviews), len(g.inventory.nodes), len(g.objects), allowed, byGraph, len(left))
	show(out, g.describe(left, ours))
	if len(left) > 0 {
		return true, nil
	}
	return g.selfCheck(out)
}

// A lie leaves out some of what the server has.
type lie struct {
	name  string
	hides func(object object) bool
}

// selfCheck keeps objects from the other side, of each kind by itself, which has to be noticed.
func (g *graph) selfCheck(out io.Writer) (bool, error) {
	lies := []lie{{"the pods of a node", func(object object) bool {
		return object["kind"] == "Pod" && at(object, "spec", "nodeName") == g.inventory.nodes[0]
	}}}
	for _, kind := range []string{"PersistentVolume", "VolumeAttachment", "ResourceSlice"} {
		lies = append(lies, lie{"every " + kind, func(object object) bool { return object["kind"] == kind }})
	}
	unseen := 0
	for _, lie := range lies {
		var told []object
		for _, object := range g.objects {
			if !lie.hides(object) {
				told = append(told, object)
			}
		}
		ours, err := g.decisions(told)
		if err != nil {
			return false, err
		}
		noticed := false
		for index := range ours {
			noticed = noticed || ours[index] != g.allowed[index]
		}
		if !noticed {
			unseen++
			fmt.Fprintf(out, "self-check: that the other side is not told of %s was not noticed\n", lie.name)
		}
	}
	fmt.Fprintf(out, "self-check: %d of %d lies about the graph are noticed\n", len(lies)-unseen, len(lies))
	return unseen > 0, nil
}

// ask puts some of the reviews to the server.
func (g *graph) ask(ctx context.Context, indices []int) error {
	return parallel(len(indices), func(position int) error {
		review := g.reviews[indices[position]]
		created, err := g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: review.who.user, Groups: review.who.groups, ResourceAttributes: &review.what},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("review of %+v: %w", review.what, err)
		}
		g.allowed[indices[position]] = created.Status.Allowed
		return nil
	})
}

// decisions are what the other side says: the Node authorizer about these objects, or else RBAC.
func (g *graph) decisions(objects []object) ([]bool, error) {
	var requests []any
	for _, review := range g.reviews {
		requests = append(requests, object{
			"user": review.who.user, "groups": review.who.groups, "verb": review.what.Verb, "apiGroup": review.what.Group,
			"resource": review.what.Resource, "subresource": review.what.Subresource, "namespace": review.what.Namespace,
			"name": review.what.Name, "fieldSelector": review.selector,
		})
	}
	answer, err := askNode(g.options, object{"objects": objects, "requests": requests})
	if err != nil {
		return nil, err
	}
	decisions := make([]bool, len(requests))
	for index := range decisions {
		decisions[index] = g.byRole[index] || answer.Requests[index].Decision == "allow"
	}
	return decisions, nil
}

// nodeAnswer is the answer to the question about nodes.
type nodeAnswer struct {
	Requests []struct {
		Decision string `json:"decision"`
	} `json:"requests"`
	Admission []struct {
		Allowed bool   `json:"allowed"`
		Message string `json:"message"`
	} `json:"admission"`
}

func askNode(options KubeletOptions, question object) (*nodeAnswer, error) {
	question["version"] = options.Baseline
	answer := &nodeAnswer{}
	err := put(options.Command, "node", []any{question}, func(_ int, line []byte) error { return json.Unmarshal(line, answer) })
	if err != nil {
		return nil, err
	}
	requests, _ := question["requests"].([]any)
	admission, _ := question["admission"].([]any)
	if len(answer.Requests) != len(requests) || len(answer.Admission) != len(admission) {
		return nil, fmt.Errorf("%d requests and %d writes have %d and %d answers", len(requests), len(admission), len(answer.Requests), len(answer.Admission))
	}
	return answer, nil
}

// askRoles asks about the folder on the default policy, as if there were no other authorizer.
func (g *graph) askRoles() ([]bool, error) {
	given, err := cluster.ReadFolder(g.options.Folder)
	if err != nil {
		return nil, err
	}
	world := &protocol.World{Baseline: g.options.Baseline, StatedRulesStay: true}
	if world.Objects, err = cluster.EncodeRBAC(given); err != nil {
		return nil, err
	}
	session, err := ask.Start(g.options.Command...)
	if err != nil {
		return nil, err
	}
	questions := []*protocol.Question{{World: world}}
	for _, review := range g.reviews {
		questions = append(questions, &protocol.Question{CanI: &protocol.CanI{
			Subject: protocol.Subject{User: review.who.user, Groups: &review.who.groups},
			Action: protocol.Action{
				Verb: review.what.Verb, Group: review.what.Group, Resource: review.what.Resource, Subresource: review.what.Subresource,
				Namespace: review.what.Namespace, Name: review.what.Name,
			},
		}})
	}
	lines, err := ask.All[json.RawMessage](session, questions)
	if err != nil {
		return nil, err
	}
	allowed := make([]bool, len(g.reviews))
	for index, line := range lines[1:] {
		parsed, err := protocol.Parse(line, &protocol.CanIAnswer{})
		if err != nil {
			return nil, err
		}
		answer, ok := parsed.(*protocol.CanIAnswer)
		if !ok || answer.Allowed == nil {
			return nil, fmt.Errorf("%+v: %s", g.reviews[index].what, strings.TrimSpace(string(line)))
		}
		allowed[index] = *answer.Allowed
	}
	return allowed, session.Close()
}

func (g *graph) describe(indices []int, ours []bool) []string {
	var lines []string
	for _, index := range indices {
		review := g.reviews[index]
		what := review.what
		lines = append(lines, fmt.Sprintf("%s %v: %s %s/%s.%s %s/%s selector %q: the server says %t, the program %t",
			review.who.user, review.who.groups, what.Verb, what.Resource, what.Subresource, what.Group, what.Namespace, what.Name, review.selector, g.allowed[index], ours[index]))
	}
	return lines
}

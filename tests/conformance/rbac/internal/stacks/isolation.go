package stacks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/rbac/internal/cluster"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// workers ask the server at the same time.
const workers = 4

// An attempt is a request of a stack.
type attempt struct {
	stack
	request
	namespace string
	// expected is the decision of the other side.
	expected bool
	// free is true for what everybody may do whom the server knows.
	free  bool
	given verdict
}

// outside tells whether a stack for one namespace reaches beyond it here.
func (a *attempt) outside() bool { return !a.everywhere && a.stack.namespace != a.namespace }

// An isolation is what stacks attempt, and what the other side says to it.
type isolation struct {
	callers  map[account]*caller
	stranger *caller
	attempts []*attempt
}

// isolation puts every attempt to the other side: the folder on the default policy.
func (s *server) isolation(cast *cast, options Options) (*isolation, error) {
	encoded, err := cluster.EncodeRBAC(cast.objects)
	if err != nil {
		return nil, err
	}
	isolation := &isolation{callers: map[account]*caller{}}
	if isolation.stranger, err = s.as("stranger", []string{"system:authenticated"}); err != nil {
		return nil, err
	}
	for _, stack := range cast.stacks {
		if isolation.callers[stack.account], err = s.as(stack.user(), stack.groups()); err != nil {
			return nil, err
		}
		isolation.attempts = append(isolation.attempts, attemptsOf(stack, cast)...)
	}
	session, err := ask.Start(options.Command...)
	if err != nil {
		return nil, err
	}
	world := &protocol.World{Objects: encoded, Baseline: options.Baseline, StatedRulesStay: true}
	questions := []*protocol.Question{{World: world}}
	for _, attempt := range isolation.attempts {
		groups := attempt.groups()
		subject := protocol.Subject{User: attempt.user(), Groups: &groups}
		questions = append(questions, &protocol.Question{CanI: &protocol.CanI{Subject: subject, HTTP: attempt.request.String()}})
	}
	lines, err := ask.All[json.RawMessage](session, questions)
	if err != nil {
		return nil, err
	}
	for index, line := range lines[1:] {
		parsed, err := protocol.Parse(line, &protocol.CanIAnswer{})
		if err != nil {
			return nil, err
		}
		answer, ok := parsed.(*protocol.CanIAnswer)
		if !ok || answer.Allowed == nil {
			return nil, fmt.Errorf("%s: %s", isolation.attempts[index].request, strings.TrimSpace(string(line)))
		}
		isolation.attempts[index].expected = *answer.Allowed
	}
	return isolation, session.Close()
}

func attemptsOf(stack stack, cast *cast) []*attempt {
	var attempts []*attempt
	add := func(namespace string, requests ...request) {
		for _, request := range requests {
			attempts = append(attempts, &attempt{stack: stack, request: request, namespace: namespace})
		}
	}
	probes := append(builtin(), custom(cast.definitions)...)
	for _, namespace := range append([]string{"", "default", "kube-system"}, cast.namespaces...) {
		for _, probe := range probes {
			if probe.namespaced || namespace == "" {
				add(namespace, probe.requests(namespace)...)
			}
		}
	}
	for _, namespace := range cast.namespaces {
		add("", request{"GET", "/api/v1/namespaces/" + namespace, "", nil})
	}
	// What the default policy gives to everybody.
	review := map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"nonResourceAttributes": map[string]any{"verb": "get", "path": "/metrics"}},
	}
	add("", request{"GET", "/api", "", nil}, request{"GET", "/version", "", nil}, request{"GET", "/metrics", "", nil},
		request{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", plain, review})
	return attempts
}

// check sends every attempt, and counts those that the server decides otherwise than the other side, and those that it
// lets out. Until the time that is given a difference is none, and is asked again.
func (i *isolation) check(ctx context.Context, out io.Writer, settled time.Time) (differing, leaking int, err error) {
	failures := make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for index := worker; index < len(i.attempts) && failures[worker] == nil; index += workers {
				failures[worker] = i.try(ctx, i.attempts[index], settled)
			}
		})
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return 0, 0, err
	}
	allowed, outside, namespaced, free := 0, 0, map[account]bool{}, map[string]bool{}
	var differences, leaks []string
	for _, attempt := range i.attempts {
		if !attempt.given.refused() {
			allowed++
		}
		if attempt.expected == attempt.given.refused() {
			differences = append(differences, fmt.Sprintf("%s: %s: expected to be allowed: %t, the server: %d %s",
				attempt.stack, attempt.request, attempt.expected, attempt.given.status, attempt.given.message))
		}
		if attempt.everywhere {
			continue
		}
		namespaced[attempt.account] = true
		if !attempt.outside() {
			continue
		}
		outside++
		if attempt.given.refused() {
			continue
		}
		if attempt.free {
			free[attempt.request.String()] = true
			continue
		}
		leaks = append(leaks, fmt.Sprintf("%s reaches %s: %d", attempt.stack, attempt.request, attempt.given.status))
	}
	fmt.Fprintf(out, "%d requests of %d stacks (%d allowed) against the folder on the default policy: %d differ\n",
		len(i.attempts), len(i.callers), allowed, len(differences))
	show(out, differences)
	fmt.Fprintf(out, "%d of them by %d stacks for one namespace, beyond it: %d allowed, beside %d that everybody may\n",
		outside, len(namespaced), len(leaks), len(free))
	show(out, leaks)
	return len(differences), len(leaks), nil
}

func (i *isolation) try(ctx context.Context, attempt *attempt, settled time.Time) (err error) {
	for {
		if attempt.given, err = i.callers[attempt.account].send(ctx, attempt.request); err != nil {
			return err
		}
		if attempt.expected != attempt.given.refused() || time.Now().After(settled) {
			break
		}
		time.Sleep(polling)
	}
	if attempt.outside() && !attempt.given.refused() {
		given, err := i.stranger.send(ctx, attempt.request)
		attempt.free = !given.refused()
		return err
	}
	return nil
}

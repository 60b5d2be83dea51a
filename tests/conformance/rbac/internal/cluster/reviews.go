package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/rbac/internal/kube"
	"bailiwick.dev/conformance/rbac/internal/protocol"
	"bailiwick.dev/conformance/rbac/internal/worlds"
)

const (
	// workers ask the server at the same time.
	workers = 8
	// retries bound how often a difference is asked again, because the authorizer of the server hears of a new object a
	// moment after the one who wrote it.
	retries = 5
	// shown differences are enough to see what is wrong.
	shown = 10
)

// ReviewOptions say what to compare.
type ReviewOptions struct {
	// Command speaks the protocol.
	Command    []string
	Kubeconfig string
	// Folder holds the manifests that the server was given.
	Folder string
	// Baseline is the minor version of the server.
	Baseline string
	Seed     uint64
	Count    int
}

// Reviews asks the server and the other side the same. The other side gets two worlds: what the server says it has,
// and what it was given on top of the default policy. It tells whether anything differs.
func Reviews(ctx context.Context, out io.Writer, options ReviewOptions) (bool, error) {
	client, err := connect(options.Kubeconfig)
	if err != nil {
		return false, err
	}
	unsettled, err := aggregate(ctx, client)
	if err != nil {
		return false, err
	}
	for _, name := range unsettled {
		fmt.Fprintf(out, "ClusterRole %q is aggregated differently by the server\n", name)
	}
	dumped, err := dump(ctx, client)
	if err != nil {
		return false, err
	}
	questions, err := questions(ctx, client, dumped, options)
	if err != nil {
		return false, err
	}
	answers, err := reviewAll(ctx, client, questions)
	if err != nil {
		return false, err
	}
	given, err := ReadFolder(options.Folder)
	if err != nil {
		return false, err
	}
	layered := &protocol.World{Baseline: options.Baseline, StatedRulesStay: true}
	if layered.Objects, err = EncodeRBAC(given); err != nil {
		return false, err
	}
	different := len(unsettled) > 0
	for _, one := range []struct {
		name  string
		world *protocol.World
	}{{"what the server has", dumped}, {"the folder on the default policy", layered}} {
		differences, err := compareReviews(ctx, client, options.Command, one.world, questions, answers)
		if err != nil {
			return false, err
		}
		allowed := 0
		for _, answer := range answers {
			if answer {
				allowed++
			}
		}
		fmt.Fprintf(out, "%d reviews (%d allowed) against %s, %d objects: %d differ\n", len(questions), allowed, one.name, len(one.world.Objects), len(differences))
		for index, difference := range differences {
			if index == shown {
				fmt.Fprintf(out, "  ... and %d more\n", len(differences)-index)
				break
			}
			fmt.Fprintln(out, "  "+difference)
		}
		different = different || len(differences) > 0
	}
	return different, nil
}

func questions(ctx context.Context, client kubernetes.Interface, world *protocol.World, options ReviewOptions) ([]*protocol.CanI, error) {
	objects, err := kube.Decode(world)
	if err != nil {
		return nil, err
	}
	resources, subresources, err := discover(client)
	if err != nil {
		return nil, err
	}
	listed, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var namespaces []string
	for _, namespace := range listed.Items {
		namespaces = append(namespaces, namespace.Name)
	}
	var reviewed []*protocol.CanI
	for round := uint64(0); len(reviewed) < options.Count; round++ {
		for _, question := range worlds.About(options.Seed+round, objects, resources, subresources, namespaces, options.Count) {
			if reviewable(question) && len(reviewed) < options.Count {
				reviewed = append(reviewed, question)
			}
		}
	}
	return reviewed, nil
}

// reviewable leaves out what a review cannot say, and the nodes, for which another authorizer stands before RBAC.
func reviewable(question *protocol.CanI) bool {
	groups := kube.Groups(&question.Subject)
	return question.User != "" && !slices.Contains(groups, "") &&
		!(strings.HasPrefix(question.User, "system:node:") && slices.Contains(groups, "system:nodes"))
}

func reviewAll(ctx context.Context, client kubernetes.Interface, questions []*protocol.CanI) ([]bool, error) {
	answers := make([]bool, len(questions))
	failures := make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for index := worker; index < len(questions); index += workers {
				answer, err := review(ctx, client, questions[index])
				if err != nil {
					failures[worker] = err
					return
				}
				answers[index] = answer
			}
		})
	}
	group.Wait()
	return answers, errors.Join(failures...)
}

func review(ctx context.Context, client kubernetes.Interface, question *protocol.CanI) (bool, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{User: question.User, Groups: kube.Groups(&question.Subject)}
	if question.Path != nil {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: *question.Path, Verb: question.Verb}
	} else {
		spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Namespace: question.Namespace, Verb: question.Verb, Group: question.Group, Resource: question.Resource,
			Subresource: question.Subresource, Name: question.Name,
		}
	}
	created, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		encoded, _ := json.Marshal(question)
		return false, fmt.Errorf("review of %s: %w", encoded, err)
	}
	return created.Status.Allowed, nil
}

func compareReviews(ctx context.Context, client kubernetes.Interface, command []string, world *protocol.World, questions []*protocol.CanI, answers []bool) ([]string, error) {
	session, err := ask.Start(command...)
	if err != nil {
		return nil, err
	}
	asked := []*protocol.Question{{World: world}}
	for _, question := range questions {
		asked = append(asked, &protocol.Question{CanI: question})
	}
	lines, err := ask.All[json.RawMessage](session, asked)
	if err != nil {
		return nil, err
	}
	if loaded, err := protocol.Parse(lines[0], &protocol.WorldAnswer{}); err != nil {
		return nil, err
	} else if failure, failed := loaded.(*protocol.Failure); failed {
		return []string{"the world is refused: " + failure.Error}, session.Close()
	}
	var differences []string
	for index, question := range questions {
		parsed, err := protocol.Parse(lines[1+index], &protocol.CanIAnswer{})
		if err != nil {
			return nil, err
		}
		other, ok := parsed.(*protocol.CanIAnswer)
		if ok && other.Allowed != nil && *other.Allowed == answers[index] {
			continue
		}
		for try := 0; try < retries && ok && other.Allowed != nil && *other.Allowed != answers[index]; try++ {
			time.Sleep(time.Second)
			if answers[index], err = review(ctx, client, question); err != nil {
				return nil, err
			}
		}
		if !ok || other.Allowed == nil || *other.Allowed != answers[index] {
			encoded, err := json.Marshal(question)
			if err != nil {
				return nil, err
			}
			differences = append(differences, fmt.Sprintf("%s: the server says %t, the other %s", encoded, answers[index], strings.TrimSpace(string(lines[1+index]))))
			if len(differences) > shown {
				// Each waits for the retries.
				break
			}
		}
	}
	return differences, session.Close()
}

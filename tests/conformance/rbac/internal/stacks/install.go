package stacks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fieldManager is who applies.
const fieldManager = "fieldManager=bailiwick"

// giveFirst applies, with full authority, what has to be there before the manager can do anything.
func (s *server) giveFirst(ctx context.Context, cast *cast) error {
	for _, object := range cast.first {
		own, _, _, err := s.place(object)
		if err != nil {
			return err
		}
		if err := s.admin.must(ctx, request{"PATCH", own + "?force=true&" + fieldManager, applyPatch, object.Object}); err != nil {
			return err
		}
	}
	return nil
}

// A deed is one request of the manager about an object.
type deed struct {
	request
	object                *unstructured.Unstructured
	verb, group, resource string
	// grants are the rules that the server looks for among those of the manager.
	grants []rbacv1.PolicyRule
}

// deeds are what a manager does with an object, without keeping it. To create what is there is a conflict, but only for
// who may: the authorizer and the check of escalation come first.
func (s *server) deeds(cast *cast, object *unstructured.Unstructured) ([]deed, error) {
	own, all, resource, err := s.place(object)
	if err != nil {
		return nil, err
	}
	group := object.GroupVersionKind().Group
	return []deed{
		{request{"POST", all + "?" + dryRun, plain, object.Object}, object, "create", group, resource, cast.grants(object)},
		{request{"PATCH", own + "?" + dryRun + "&" + fieldManager, applyPatch, object.Object}, object, "patch", group, resource, nil},
		{request{"GET", own, "", nil}, object, "get", group, resource, nil},
		{request{"DELETE", own + "?" + dryRun, "", nil}, object, "delete", group, resource, nil},
	}, nil
}

func (s *server) allDeeds(cast *cast) ([]deed, error) {
	var all []deed
	for _, object := range slices.Concat(cast.definitions, cast.brought) {
		deeds, err := s.deeds(cast, object)
		if err != nil {
			return nil, err
		}
		all = append(all, deeds...)
	}
	return all, nil
}

// install creates everything as the manager, applies it again, reads it, and deletes it as a dry run. It tells whether
// anything was refused.
func (s *server) install(ctx context.Context, out io.Writer, cast *cast) (bool, error) {
	manager, err := s.as(cast.manager.user(), cast.manager.groups())
	if err != nil {
		return false, err
	}
	settled := time.Now().Add(settling)
	var refusals []string
	sent := 0
	try := func(request request, wanted int) error {
		sent++
		for {
			given, err := manager.send(ctx, request)
			if err != nil {
				return err
			}
			if given.refused() && time.Now().Before(settled) {
				time.Sleep(polling)
				continue
			}
			if given.status != wanted {
				refusals = append(refusals, fmt.Sprintf("%s: %d %s", request, given.status, given.message))
			}
			return nil
		}
	}
	objects := slices.Concat(cast.definitions, cast.brought)
	for _, object := range objects {
		_, all, _, err := s.place(object)
		if err != nil {
			return false, err
		}
		if err := try(request{"POST", all + "?" + fieldManager, plain, object.Object}, http.StatusCreated); err != nil {
			return false, err
		}
	}
	for _, object := range objects {
		own, _, _, err := s.place(object)
		if err != nil {
			return false, err
		}
		for _, request := range []request{
			{"PATCH", own + "?" + fieldManager, applyPatch, object.Object},
			{"GET", own, "", nil},
			{"DELETE", own + "?" + dryRun, "", nil},
		} {
			if err := try(request, http.StatusOK); err != nil {
				return false, err
			}
		}
	}
	fmt.Fprintf(out, "%d definitions and %d objects of %d stacks created, applied again, read and, as dry runs, deleted by %s: %d of %d requests refused\n",
		len(cast.definitions), len(cast.brought), len(cast.stacks), cast.manager, len(refusals), sent)
	show(out, refusals)
	return len(refusals) > 0, nil
}

func show(out io.Writer, lines []string) {
	for index, line := range lines {
		if index == shown {
			fmt.Fprintf(out, "  ... and %d more\n", len(lines)-index)
			break
		}
		fmt.Fprintln(out, "  "+line)
	}
}

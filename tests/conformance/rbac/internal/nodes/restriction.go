package nodes

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// stage is where a write ends.
type stage string

const (
	byAuthorizer stage = "refused by the authorizer"
	byPlugin     stage = "refused by the plugin"
	passed       stage = "allowed"
)

// A write is one of a node, as a dry run.
type write struct {
	who  identity
	verb string
	place
	subresource, namespace string
	// name is that in the URL, and so what the authorizer knows.
	name string
	// selector is the field selector of a request for many.
	selector string
	what     string
	request
	changes []change
	given   verdict
}

// A restriction is what nodes write, and what the server says.
type restriction struct {
	*server
	options   KubeletOptions
	inventory *inventory
	objects   []object
	writes    []*write
}

// compare makes every write, and tells whether anything ends at another stage than the other side says.
func (r *restriction) compare(ctx context.Context, out io.Writer) (bool, error) {
	if err := r.fill(); err != nil {
		return false, err
	}
	expected, err := r.expect(nil)
	if err != nil {
		return false, err
	}
	left := r.writes
	for deadline := time.Now().Add(settling); ; time.Sleep(polling) {
		if err := r.send(ctx, left); err != nil {
			return false, err
		}
		var differing []*write
		for _, write := range left {
			if found, err := write.ended(); err != nil {
				return false, err
			} else if found != expected[write] {
				differing = append(differing, write)
			}
		}
		if left = differing; len(left) == 0 || time.Now().After(deadline) {
			break
		}
	}
	counts := map[stage]int{}
	for _, write := range r.writes {
		found, _ := write.ended()
		counts[found]++
	}
	fmt.Fprintf(out, "restriction: %d writes (%d %s, %d %s, %d %s): %d differ\n", len(r.writes), counts[passed], passed,
		counts[byPlugin], byPlugin, counts[byAuthorizer], byAuthorizer, len(left))
	var lines []string
	for _, write := range left {
		lines = append(lines, fmt.Sprintf("%s: %d %s; the program: %s", write, write.given.status, write.given.message, expected[write]))
	}
	show(out, lines)
	if len(left) > 0 {
		return true, nil
	}
	return r.selfCheck(out)
}

func (r *restriction) send(ctx context.Context, writes []*write) error {
	return parallel(len(writes), func(index int) error {
		caller, err := r.as(writes[index].who)
		if err != nil {
			return err
		}
		writes[index].given, err = caller.send(ctx, writes[index].request)
		return err
	})
}

func (w *write) String() string {
	return fmt.Sprintf("%s: %s %s %s", w.who.user, w.verb, w.request, w.what)
}

// ended tells at which stage. What was looked up and is not there is refused by the plugin, which is asked before the
// object itself is; every other status says that the write is wrong, and that is our fault.
func (w *write) ended() (stage, error) {
	switch message := w.given.message; {
	case w.given.passed():
		return passed, nil
	case w.given.status == 403 && strings.Contains(message, "is forbidden: User "):
		return byAuthorizer, nil
	case w.given.status == 403, w.given.status == 404:
		return byPlugin, nil
	}
	return "", fmt.Errorf("%s: neither allowed nor refused: %d %s", w, w.given.status, w.given.message)
}

// expect asks the other side about the writes, which may be changed first by a lie.
func (r *restriction) expect(lie func(object object)) (map[*write]stage, error) {
	var requests, admission []any
	var origins []*write
	for _, write := range r.writes {
		requests = append(requests, object{
			"user": write.who.user, "groups": write.who.groups, "verb": write.verb, "apiGroup": write.kind.Group,
			"resource": write.resource, "subresource": write.subresource, "namespace": write.namespace, "name": write.name,
			"fieldSelector": write.selector,
		})
		for _, change := range write.changes {
			asked := object{
				"user": write.who.user, "groups": write.who.groups, "operation": operation(write.verb), "apiGroup": write.kind.Group,
				"resource": write.resource, "subresource": write.subresource, "namespace": write.namespace, "name": write.name,
			}
			if write.name == "" && change.new != nil {
				// What is made has no name for the authorizer, and has one for admission.
				asked["name"] = at(change.new, "metadata", "name")
			}
			if write.who.user == "system:node:"+r.inventory.nodes[1] {
				asked["audiencesAllowed"] = []any{grantedAudience}
			}
			if change.old != nil {
				asked["oldObject"] = change.old
			}
			if change.new != nil {
				asked["object"] = change.new
			}
			if lie != nil {
				asked = clone(asked)
				lie(asked)
			}
			admission = append(admission, asked)
			origins = append(origins, write)
		}
	}
	answer, err := askNode(r.options, object{"objects": r.objects, "requests": requests, "admission": admission})
	if err != nil {
		return nil, err
	}
	expected := map[*write]stage{}
	for index, write := range r.writes {
		expected[write] = passed
		if answer.Requests[index].Decision != "allow" {
			expected[write] = byAuthorizer
		}
	}
	for index, write := range origins {
		if expected[write] == passed && !answer.Admission[index].Allowed {
			expected[write] = byPlugin
		}
	}
	return expected, nil
}

// selfCheck tells the other side of other writes than those that were made, which has to be noticed.
func (r *restriction) selfCheck(out io.Writer) (bool, error) {
	lies := map[string]func(asked object){
		"the labels below node-restriction.kubernetes.io": func(asked object) {
			for _, side := range []string{"object", "oldObject"} {
				labels, _ := asked[side].(object)
				labels, _ = labels["metadata"].(object)
				labels, _ = labels["labels"].(object)
				for key := range labels {
					if strings.Contains(key, "node-restriction.kubernetes.io") {
						delete(labels, key)
					}
				}
			}
		},
		"the audience that is granted": func(asked object) { delete(asked, "audiencesAllowed") },
		"what was there before": func(asked object) {
			if asked["oldObject"] != nil && asked["object"] != nil {
				asked["oldObject"] = asked["object"]
			}
		},
		"the owners of mirror pods": func(asked object) {
			if made, _ := asked["object"].(object); made["kind"] == "Pod" {
				delete(made["metadata"].(object), "ownerReferences")
			}
		},
	}
	unseen := 0
	for name, lie := range lies {
		expected, err := r.expect(lie)
		if err != nil {
			return false, err
		}
		noticed := false
		for _, write := range r.writes {
			found, _ := write.ended()
			noticed = noticed || found != expected[write]
		}
		if !noticed {
			unseen++
			fmt.Fprintf(out, "self-check: that the other side is not told of %s was not noticed\n", name)
		}
	}
	fmt.Fprintf(out, "self-check: %d of %d lies about writes are noticed\n", len(lies)-unseen, len(lies))
	return unseen > 0, nil
}

package lies

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bailiwick.dev/conformance/node/internal/compare"
	"bailiwick.dev/conformance/node/internal/worlds"
)

// coverage counts what becomes of questions in which nothing or one thing was changed, by what they are and by release.
type coverage map[string]map[int]*compare.Tally

func (c coverage) watch(version string, gates map[string]bool, item worlds.Item, _ string, verdict compare.Verdict) {
	// Certificates need a gate that is usually off; all else is seen as it usually is.
	if len(item.Changes) > 1 || len(gates) > 0 && !strings.Contains(item.Recipe, "certificate") {
		return
	}
	var minor int
	if _, err := fmt.Sscanf(version, "1.%d", &minor); err != nil {
		panic(err)
	}
	change := slices.Concat(item.Changes, []string{""})[0]
	c.count(key(item.Recipe, change), minor, verdict)
	if strings.HasPrefix(item.Recipe, "path ") {
		// What can be changed is the same for all ways to one kind of objects.
		c.count(key(fmt.Sprintf("path to %s", item.Body["resource"]), change), minor, verdict)
	}
}

func (c coverage) count(name string, minor int, verdict compare.Verdict) {
	if c[name] == nil {
		c[name] = map[int]*compare.Tally{}
	}
	if c[name][minor] == nil {
		c[name][minor] = &compare.Tally{}
	}
	c[name][minor].Asked++
	if verdict.Allowed {
		c[name][minor].Allowed++
	}
}

func key(recipe, change string) string {
	if strings.HasPrefix(recipe, "token for") {
		// Why an audience is fine only matters where it is the audience that is changed.
		recipe = "token"
	}
	return recipe + " | " + change
}

// before and after are what became of a recipe with a change in releases before one, and since it. Where the recipe itself
// is refused, a change shows nothing.
func (c coverage) around(recipe, change string, since int) (before, after compare.Tally) {
	for minor, tally := range c[key(recipe, change)] {
		if plain := c[key(recipe, "")][minor]; plain == nil || plain.Allowed == 0 {
			continue
		}
		side := &after
		if minor < since {
			side = &before
		}
		side.Asked += tally.Asked
		side.Allowed += tally.Allowed
	}
	return before, after
}

// rule is one that is the only reason to refuse what is otherwise allowed.
type rule struct {
	recipe  string
	since   int
	changes []string
}

// always are rules that are older than all releases.
const always = 7

// rules are those of the plugin and, at the end, of the authorizer.
var rules = []rule{
	{"create pod", always, []string{"no annotation", "annotation of another key", "bound elsewhere", "not bound", "names service account",
		"names env secret", "names envFrom configmap", "names imagePullSecrets", "names volume secret", "names volume configMap",
		"names volume claim", "account by the older field", "other node", "node without name", "other subresource"}},
	{"create pod", 17, []string{"no owner", "two owners", "owner of another version", "owner of another kind", "owner of another name",
		"owner of another UID", "owner is no controller", "owner says nothing of control", "owner blocks deletion", "node is not there"}},
	{"create pod", 29, []string{"volume projected trust bundle"}},
	{"create pod", 33, []string{"names claim direct", "names claim of a template"}},
	{"create pod", 34, []string{"volume csi without a secret", "volume glusterfs", "names volume ephemeral", "volume projected token",
		"volume projected certificate", "volume projected unknown", "volume secret without a name", "volume config without a name"}},
	{"delete pod", always, []string{"bound elsewhere", "not bound", "not there", "no name", "in another namespace"}},
	{"evict pod", always, []string{"bound elsewhere", "not there", "no name", "in another namespace"}},
	{"update pod status", always, []string{"bound elsewhere"}},
	{"update pod status", 17, []string{"label added", "label changed", "labels removed"}},
	{"update pod status", 27, []string{"claim status added", "claim status renamed", "claim status of another claim", "claim status of no claim"}},
	{"update pod status", 34, []string{"extended claim added", "extended claim removed", "extended claim changed", "extended mapping changed"}},
	{"create node", always, []string{"of another node", "config source", "no name", "label node-restriction.kubernetes.io/x",
		"label sub.node-restriction.kubernetes.io/x", "label kubernetes.io/x", "label sub.k8s.io/x", "label node-role.kubernetes.io/worker"}},
	{"update node", always, []string{"of another node", "taint added", "taint changed", "taint removed", "taints in another order",
		"taints removed", "config source changed", "all labels removed", "label removed node-restriction.kubernetes.io/team"}},
	{"update node status", always, []string{"of another node", "taint added", "taints removed", "all labels removed"}},
	{"update node", 32, []string{"owner added", "owner changed", "owner blocks", "owners removed"}},
	{"delete node", always, []string{"of another node", "no name"}},
	{"update claim status", always, []string{"phase", "label added", "annotation", "finalizer", "owner", "UID", "volume", "modes",
		"class", "requested size", "selector", "deletion"}},
	{"token", always, []string{"not bound", "bound to another kind", "bound in another version", "bound without a name",
		"bound without a UID", "bound with another UID", "pod is not there", "pod is elsewhere"}},
	{"token", 32, []string{"two audiences", "other audience", "not granted", "token of another audience", "driver is not there",
		"driver asks for nothing", "claim is not there", "volume is not there", "volume of no driver", "granted in capitals"}},
	{"create lease", always, []string{"in another namespace", "of another name"}},
	{"update lease", always, []string{"in another namespace", "of another name"}},
	{"delete lease", always, []string{"in another namespace", "of another name"}},
	{"create csinode", always, []string{"of another name"}},
	{"update csinode", always, []string{"of another name"}},
	{"delete csinode", always, []string{"of another name"}},
	{"create slice", 30, []string{"of another node", "of no node", "of all nodes"}},
	{"delete slice", 31, []string{"of another node", "of no node", "of all nodes"}},
	{"create signing request", 31, []string{"of another node", "of a longer name", "of nobody", "nonsense", "PEM of another type", "PEM of nonsense"}},
	{"create pod certificate", 34, []string{"of another node", "node of another UID", "node is not there", "pod is not there",
		"pod of another UID", "pod is elsewhere", "pod is a mirror pod", "pod of another account", "another account",
		"account of another UID", "account is not there", "in another namespace", "update", "status"}},

	{"create pod certificate", 37, []string{"of a signer that is not mounted", "of a signer that is granted with a slash"}},

	{"own get leases", always, []string{"other namespace", "other name", "verb", "other node"}},
	{"own patch leases", always, []string{"other name"}},
	{"own get csinodes", always, []string{"other name", "subresource"}},
	{"own get nodes", 32, []string{"other name", "no name", "other node"}},
	{"own list pods", 32, []string{"selector none", "selector other", "selector not", "selector and nonsense", "other node"}},
	{"own list resourceslices", 32, []string{"other node"}},
	{"own list podcertificaterequests", 34, []string{"other node"}},
	{"path to secrets", always, []string{"other node", "no name", "no namespace", "other namespace"}},
	{"path to persistentvolumeclaims", always, []string{"other node", "no name", "verb"}},
	{"path to volumeattachments", always, []string{"other node", "no name", "verb", "subresource"}},
	{"path to pods", 32, []string{"other node", "no name"}},
}

// check tells whether every rule is the only reason of some answer, and since which release.
func (c coverage) check(out io.Writer) error {
	count := 0
	for _, rule := range rules {
		if _, plain := c.around(rule.recipe, "", rule.since); plain.Allowed == 0 {
			return fmt.Errorf("self-test: %q is never allowed", rule.recipe)
		}
		for _, change := range rule.changes {
			before, after := c.around(rule.recipe, change, rule.since)
			if after.Asked == after.Allowed {
				return fmt.Errorf("self-test: %q is never the reason to refuse %q: %d of %d", change, rule.recipe, after.Allowed, after.Asked)
			}
			if before.Asked > 0 && before.Allowed == 0 {
				return fmt.Errorf("self-test: %q refuses %q before 1.%d", change, rule.recipe, rule.since)
			}
			count++
		}
	}
	for recipe, since := range worlds.Paths() {
		before, after := c.around(recipe, "", since)
		if after.Allowed == 0 {
			return fmt.Errorf("self-test: %q is never allowed of %d", recipe, after.Asked)
		}
		if since > always && before.Allowed > 0 && before.Allowed == before.Asked && !strings.Contains(recipe, "certificate") {
			return fmt.Errorf("self-test: %q is allowed before 1.%d", recipe, since)
		}
		count++
	}
	fmt.Fprintf(out, "self-test: %d rules and paths, each the only reason of some answer\n", count)
	return nil
}

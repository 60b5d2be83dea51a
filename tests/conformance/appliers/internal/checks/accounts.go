package checks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"bailiwick.dev/conformance/appliers/internal/gitops"
	"bailiwick.dev/conformance/appliers/internal/source"
	"bailiwick.dev/conformance/internal/cluster"
)

const rbacGroup = "rbac.authorization.k8s.io"

// verbs are the verbs of the roles of accounts.
var verbs = []string{"create", "delete", "get", "list", "patch", "update", "watch"}

// kinds are the resources of the output of an account, by group.
var kinds = []struct{ group, resource string }{
	{"", "namespaces"}, {"", "resourcequotas"}, {"", "serviceaccounts"},
	{rbacGroup, "clusterrolebindings"}, {rbacGroup, "clusterroles"}, {rbacGroup, "rolebindings"}, {rbacGroup, "roles"},
}

// A rule is a rule of a role.
type rule struct {
	APIGroups []string `json:"apiGroups"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`
}

// An account is an account of an applier, with the rules of its role and a workspace that it applies.
type account struct {
	// name is the name of the account, and describes is how its role came about.
	name, describes string
	rules           []rule
	parent          *gitops.Parent
	// lints is whether the program finds that the account can apply, and applies whether it does.
	lints, applies bool
	// finding is the output of the program, and message the message of the applier.
	finding, message string
}

// full returns rules with all verbs on each resource of the output, and what the output grants. A Role of the output is bound before it
// is there, if only for a dry run.
func full() []rule {
	var rules []rule
	for _, kind := range kinds {
		held := slices.Clone(verbs)
		if kind.resource == "roles" {
			held = append(held, "bind")
		}
		rules = append(rules, rule{[]string{kind.group}, []string{kind.resource}, held})
	}
	return append(rules, rule{[]string{""}, []string{"pods", "services"}, []string{"get", "list", "watch"}})
}

// without returns the full rules without a verb on a resource.
func without(resource, verb string) []rule {
	rules := full()
	for i, rule := range rules {
		if rule.Resources[0] == resource {
			rules[i].Verbs = slices.DeleteFunc(rule.Verbs, func(other string) bool { return other == verb })
		}
	}
	return rules
}

// enough returns random rules that are enough, and how they came about.
func enough(random *rand.Rand) ([]rule, string) {
	rules := full()
	switch random.IntN(4) {
	case 0:
		return []rule{{[]string{"*"}, []string{"*"}, []string{"*"}}}, "everything"
	case 1:
		for i := range kinds {
			rules[i].Verbs = []string{"*"}
		}
		return rules, "all verbs"
	case 2:
		// The permissions that the output grants are not held: bind and escalate stand for them.
		for i, kind := range kinds {
			switch kind.resource {
			case "clusterroles":
				rules[i].Verbs = append(rules[i].Verbs, "bind", "escalate")
			case "roles":
				rules[i].Verbs = append(rules[i].Verbs, "escalate")
			}
		}
		return rules[:len(kinds)], "escalate and bind"
	default:
		for i := range kinds {
			rules[i].Verbs = slices.DeleteFunc(rules[i].Verbs, func(verb string) bool { return verb == "delete" })
		}
		return rules, "no delete"
	}
}

// lacking are the verbs that a role can lack. Most of them are needed.
var lacking = append([]string{"create", "get", "patch", "create", "get", "patch", "create", "get", "patch"}, verbs...)

// short returns random rules that lack one permission, and the permission.
func short(random *rand.Rand) ([]rule, string) {
	kind := kinds[random.IntN(len(kinds))]
	verb := lacking[random.IntN(len(lacking))]
	switch random.IntN(8) {
	case 0:
		rules := full()
		rules[len(kinds)].Resources = []string{"pods"}
		return rules, "no services, which the output grants"
	case 1:
		return without("roles", "bind"), "no bind on roles"
	}
	return without(kind.resource, verb), "no " + verb + " on " + kind.resource
}

// accounts compares the program and the applier about random roles of accounts.
func (b *bench) accounts(ctx context.Context) (string, error) {
	random := rand.New(rand.NewPCG(b.Seed, 0))
	count := 40
	if b.Short {
		count = 8
	}
	var accounts []*account
	for i := range count {
		one := &account{name: fmt.Sprintf("a%02d", i)}
		switch {
		case i == 0:
			one.rules, one.describes = without("rolebindings", "create"), "control: no create on rolebindings"
		case i%2 == 0:
			one.rules, one.describes = enough(random)
		default:
			one.rules, one.describes = short(random)
		}
		accounts = append(accounts, one)
	}
	if err := b.judgeAccounts(ctx, "accounts", accounts); err != nil {
		return "", err
	}
	if accounts[0].lints || accounts[0].applies {
		return "", differs("the control passes: lint %t, sync %t", accounts[0].lints, accounts[0].applies)
	}
	var differences []string
	applied := 0
	for _, account := range accounts {
		if account.applies {
			applied++
		}
		if account.lints != account.applies {
			differences = append(differences, fmt.Sprintf("%s (%s): lint passes %t, the sync %t: %s %s",
				account.name, account.describes, account.lints, account.applies, account.finding, account.message))
		}
	}
	if len(differences) > 0 {
		return "", differs("%d of %d accounts:\n  %s", len(differences), count, strings.Join(differences, "\n  "))
	}
	return fmt.Sprintf("lint and the first sync agree about %d accounts; %d of them can apply", count, applied), nil
}

// Matrix prints for each resource and verb whether an account without it can apply, and whether the program finds so.
func Matrix(ctx context.Context, options Options) error {
	b := &bench{options}
	if err := b.Server.StartControllers(ctx); err != nil {
		return err
	}
	var accounts []*account
	for _, kind := range kinds {
		for _, verb := range append(slices.Clone(verbs), "bind") {
			if verb == "bind" && kind.resource != "roles" {
				continue
			}
			one := &account{name: "no-" + verb + "-" + kind.resource, describes: verb + " " + kind.resource, rules: without(kind.resource, verb)}
			accounts = append(accounts, one)
		}
	}
	accounts = append(accounts, &account{name: "all", describes: "none", rules: full()})
	if err := b.judgeAccounts(ctx, "matrix", accounts); err != nil {
		return err
	}
	for _, account := range accounts {
		fmt.Fprintf(b.Out, "without %s: lint passes %t, the sync %t %s\n", account.describes, account.lints, account.applies, firstLine(account.message))
	}
	return nil
}

// judgeAccounts makes the accounts and their workspaces in one repository, asks the program, and lets the applier apply.
func (b *bench) judgeAccounts(ctx context.Context, name string, accounts []*account) error {
	repository, err := source.NewRepository(b.Work, name)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		if err := b.prepareAccount(ctx, repository, account); err != nil {
			return err
		}
	}
	for i, account := range accounts {
		// The first one commits for all.
		if i == 0 {
			err = account.parent.Deliver(ctx)
		} else {
			account.parent.Commit = accounts[0].parent.Commit
			err = account.parent.ApplyDelivery(ctx)
		}
		if err != nil {
			return err
		}
	}
	for _, account := range accounts {
		failures, err := account.parent.FirstAttempt(ctx)
		if err != nil {
			return err
		}
		account.applies = len(failures) == 0
		for _, message := range failures {
			account.message = message
		}
	}
	return nil
}

// prepareAccount writes the workspace of an account, asks the program about it, and binds the account to its role.
func (b *bench) prepareAccount(ctx context.Context, repository *source.Repository, account *account) error {
	workspace := repository.Workspace(account.name, b.Binary)
	account.parent = &gitops.Parent{Applier: b.Applier, Server: b.Server, Workspace: workspace}
	held, err := b.held(account)
	if err != nil {
		return err
	}
	team := account.name + "-team"
	files := map[string]string{
		"bailiwick.yaml":        b.configuration(workspace, settings{name: "account", targets: []string{account.name}, account: account.name}),
		"policies/teams.yaml":   namespaceSet("teams", team+", serviceAccounts: [{name: runner}]"),
		"policies/reader.yaml":  permissionSet(account.name+"-reader", "ClusterRole", "pods"),
		"policies/local.yaml":   permissionSet(account.name+"-local", "Role", "services"),
		"policies/grant.yaml":   grant("reads", account.name+"-reader", "", team),
		"policies/grant2.yaml":  grant("local", account.name+"-local", "", team),
		"policies/wide.yaml":    header + "kind: Grant\nmetadata: {name: wide}\nspec:\n  to: {groups: [team]}\n  permissionSets: [" + account.name + "-reader]\n  clusterWide: true\n",
		"policies/held.yaml":    header + "kind: Manifests\nmetadata: {name: held}\nspec: {files: [held/*.yaml], emit: false}\n",
		"policies/held/of.yaml": held,
	}
	if err := write(workspace, files); err != nil {
		return err
	}
	if err := b.hurry(workspace); err != nil {
		return err
	}
	output, code, err := workspace.Run("lint", "--select", "applier-cannot-apply")
	if err != nil {
		return err
	}
	if code > 1 {
		return fmt.Errorf("lint ends with %d: %s", code, output)
	}
	account.lints, account.finding = !strings.Contains(output, "applier-cannot-apply"), firstLine(output)
	if err := b.Applier.PrepareAccount(ctx, account.name); err != nil {
		return err
	}
	objects, err := cluster.ReadText(held)
	if err != nil {
		return err
	}
	return b.Server.Apply(ctx, objects...)
}

// hurry makes the applier give up soon: an account that may not read an object waits for it in vain.
func (b *bench) hurry(workspace *source.Workspace) error {
	files, err := filepath.Glob(workspace.Absolute("delivery/*/" + b.Applier.Name() + "/*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := editFile(file, b.Applier.Hurry); err != nil {
			return err
		}
	}
	return nil
}

// held returns the role of an account and its binding.
func (b *bench) held(account *account) (string, error) {
	user := strings.Split(b.Applier.Account(account.name), ":")
	name := "applier-" + account.name
	objects := []any{
		map[string]any{"apiVersion": rbacGroup + "/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": name}, "rules": account.rules},
		map[string]any{
			"apiVersion": rbacGroup + "/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": name},
			"roleRef":  map[string]any{"apiGroup": rbacGroup, "kind": "ClusterRole", "name": name},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": user[2], "name": user[3]}},
		},
	}
	var text string
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return "", err
		}
		text += "---\n" + string(document)
	}
	return text, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

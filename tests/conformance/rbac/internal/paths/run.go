// Package paths walks escalation paths on a server that runs: for each kind of step of the graph, a world in which the
// requests of the attacker succeed, and a world in which the condition of the step blocks them.
package paths

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bailiwick.dev/conformance/rbac/internal/cluster"
)

// Options are the inputs of Check.
type Options struct {
	Binary     string
	Kubeconfig string
	// Folder has a folder for each route, with walked.yaml and blocked.yaml.
	Folder string
	// Authority and AuthorityKey are the files of the certificate authority of the clients.
	Authority, AuthorityKey string
	// AccountsKey is the file with the key of the tokens of service accounts.
	AccountsKey string
	// Only limits the routes by the beginning of their names.
	Only string
}

// Check walks every route, and reports whether anything differs.
func Check(ctx context.Context, out io.Writer, options Options) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	gaps, kinds, err := checkList(options)
	if err != nil {
		return false, err
	}
	for _, gap := range gaps {
		fmt.Fprintln(out, gap)
	}
	walk, done, err := prepare(ctx, options)
	if err != nil {
		return false, err
	}
	defer done()
	differs := len(gaps) > 0
	for _, kind := range kinds {
		if reason, isListed := listed[kind]; isListed && strings.HasPrefix(kind, options.Only) {
			fmt.Fprintf(out, "%-33s not walked: %s\n", kind, reason)
		}
		for _, route := range routes {
			if route.kind() != kind || !strings.HasPrefix(route.name, options.Only) {
				continue
			}
			found, err := walk.route(out, options, route)
			if err != nil {
				return false, fmt.Errorf("%s: %w", route.name, err)
			}
			differs = differs || found
		}
	}
	return differs, nil
}

// kind returns the kind of step of a route.
func (r route) kind() string {
	kind, _, _ := strings.Cut(r.name, ".")
	return kind
}

// checkList compares the routes with the kinds of steps of the program, and with the folders of the worlds.
func checkList(options Options) (gaps, kinds []string, err error) {
	kinds, err = edgeKinds(options.Binary)
	if err != nil {
		return nil, nil, err
	}
	isKnown := map[string]bool{}
	for _, route := range routes {
		isKnown[route.kind()] = true
		if !slices.Contains(kinds, route.kind()) {
			gaps = append(gaps, route.name+": no kind of step of the program")
		}
	}
	for kind := range listed {
		isKnown[kind] = true
		if !slices.Contains(kinds, kind) {
			gaps = append(gaps, kind+": no kind of step of the program")
		}
	}
	for _, kind := range kinds {
		if !isKnown[kind] {
			gaps = append(gaps, kind+": neither worlds nor a reason")
		}
	}
	folders, err := os.ReadDir(options.Folder)
	if err != nil {
		return nil, nil, err
	}
	for _, folder := range folders {
		if !slices.ContainsFunc(routes, func(route route) bool { return route.name == folder.Name() }) {
			gaps = append(gaps, folder.Name()+": worlds without a walk")
		}
	}
	slices.Sort(gaps)
	return gaps, kinds, nil
}

// prepare gives the server what all worlds have: controllers, nodes, a Secret of administrators, and the servers of the
// attacker.
func prepare(ctx context.Context, options Options) (*walk, func(), error) {
	server, err := reach(options.Kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	w := &walk{Context: ctx}
	if w.authority, err = readAuthority(options.Authority, options.AuthorityKey); err != nil {
		return nil, nil, err
	}
	if w.kubelet, err = serveKubelet(ctx, server, w.authority); err != nil {
		return nil, nil, err
	}
	if w.webhook, err = serveWebhook(w.authority, userSubject(attacker)); err != nil {
		return nil, nil, err
	}
	if w.group, err = serveGroup(w.authority); err != nil {
		return nil, nil, err
	}
	if w.mallory, err = server.certified(w.authority, attacker); err != nil {
		return nil, nil, err
	}
	if err := server.startControllers(ctx, options); err != nil {
		return nil, nil, err
	}
	if err := server.addNodes(ctx, w.kubelet.port, "n1", "n2"); err != nil {
		return nil, nil, err
	}
	value := base64.StdEncoding.EncodeToString([]byte(crownValue))
	secret := object{"metadata": object{"name": "crown"}, "data": object{"crown": value}}
	if _, err := server.admin.must(ctx, post(url("kube-system", "secrets"), secret)); err != nil {
		return nil, nil, err
	}
	w.stage, err = newStage(ctx, server)
	return w, func() { w.kubelet.close(); w.webhook.close(); w.group.close() }, err
}

// route walks one route in both worlds, and prints its line.
func (w *walk) route(out io.Writer, options Options, route route) (bool, error) {
	// The server keeps a successful impersonation for ten seconds, so the blocked world comes first.
	blocked, isBlocked, err := w.world(options, route, false)
	if err != nil {
		return false, err
	}
	walked, isWalked, err := w.world(options, route, true)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%-33s walked: %s\n%-33s blocked: %s\n", route.name, walked, "", blocked)
	return !isWalked || !isBlocked, nil
}

// world compares the report about one world with the walk there.
func (w *walk) world(options Options, route route, isWalked bool) (text string, isRight bool, err error) {
	file := filepath.Join(options.Folder, route.name, "blocked.yaml")
	if isWalked {
		file = filepath.Join(options.Folder, route.name, "walked.yaml")
	}
	objects, err := cluster.ReadFolder(file)
	if err != nil {
		return "", false, err
	}
	if len(objects) == 0 {
		return "", false, fmt.Errorf("%s has no objects", file)
	}
	reported, err := pathsOf(options.Binary, file)
	if err != nil {
		return "", false, err
	}
	edge := route.kind()
	if route.shown != "" {
		edge = route.shown
	}
	index := slices.IndexFunc(reported, func(path path) bool {
		isLeftOut := !isWalked && route.needsOthers && path.Certainty == "possible"
		return path.Reaches == route.reaches && path.takes(edge, route.through) && !isLeftOut
	})
	if err := w.apply(w, objects); err != nil {
		return "", false, err
	}
	walkErr := route.walk(w)
	refused, isRefused := isRefusal(walkErr)
	switch {
	case walkErr != nil && !isRefused:
		text, isRight = "DIFFERS: "+walkErr.Error(), false
	case isWalked && isRefused:
		text = "DIFFERS: the server refuses: " + refused.Error()
	case !isWalked && !isRefused:
		text = "DIFFERS: the server lets it pass: " + route.ends
	case isWalked:
		text, isRight = "ok, "+route.ends, true
	default:
		text, isRight = fmt.Sprintf("ok, %s: %d", refused.request, refused.answer.status), true
	}
	switch {
	case isWalked && index < 0:
		text, isRight = text+"\n    DIFFERS: no such path to "+route.reaches+" is reported"+list(reported), false
	case !isWalked && index >= 0:
		text, isRight = text+"\n    DIFFERS: a path is reported"+list(reported[index:index+1]), false
	}
	return text, isRight, nil
}

func list(paths []path) string {
	text := ""
	for _, path := range paths {
		text += "\n      " + path.String()
	}
	return text
}

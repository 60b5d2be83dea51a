package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"syscall"

	"bailiwick.dev/conformance/readers/wire"
	"sigs.k8s.io/yaml"
)

// outcome is what one workspace came to.
type outcome struct {
	Label string `json:"label"`
	// Changed are the words of a random workspace.
	Changed []string `json:"changed,omitempty"`
	// Refused is the first code of a refusal.
	Refused string `json:"refused,omitempty"`
	// Failed says what the program must not do.
	Failed   []string `json:"failed,omitempty"`
	Compared int      `json:"compared,omitempty"`
	Objects  int      `json:"objects,omitempty"`
	// Inputs are the compared folders of manifests.
	Inputs      int          `json:"inputs,omitempty"`
	Differences []difference `json:"differences,omitempty"`
}

// settings are what the harness has to know of a workspace.
type settings struct {
	Spec struct {
		Output   string `json:"output"`
		Delivery struct {
			Folder string         `json:"folder"`
			Flux   map[string]any `json:"flux"`
			ArgoCD map[string]any `json:"argocd"`
		} `json:"delivery"`
		Targets []struct {
			Name     string `json:"name"`
			Delivery any    `json:"delivery"`
		} `json:"targets"`
	} `json:"spec"`
}

func settingsOf(root string) (settings, error) {
	var found settings
	text, err := os.ReadFile(filepath.Join(root, "bailiwick.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &found)
	}
	if found.Spec.Output == "" {
		found.Spec.Output = "out"
	}
	if found.Spec.Delivery.Folder == "" {
		found.Spec.Delivery.Folder = "delivery"
	}
	return found, err
}

// holds tells whether a path is a place of the output: a target's folder below the output or delivery folder, or what leads to one. Base is
// the workspace.
func (s settings) holds(base, path string) bool {
	for _, folder := range []string{s.Spec.Output, s.Spec.Delivery.Folder} {
		whole := filepath.Join(base, folder)
		if whole == base || !strings.HasPrefix(whole, base+"/") {
			continue
		}
		for _, target := range s.Spec.Targets {
			own := filepath.Join(whole, target.Name) + "/"
			if target.Name != "" && (strings.HasPrefix(path, own) || strings.HasSuffix(path, "/") && strings.HasPrefix(own, path)) {
				return true
			}
		}
	}
	return false
}

// ran is a run of the program.
type ran struct {
	code           int
	stdout, stderr []byte
	problem        string
}

// program is the path of the binary.
type program struct {
	path string
	home string
}

func (p program) run(folder string, arguments ...string) ran {
	return p.feed(folder, "", arguments...)
}

// feed runs the program with a text on standard input.
func (p program) feed(folder, input string, arguments ...string) ran {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, p.path, arguments...)
	command.Dir = folder
	command.Stdin = strings.NewReader(input)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TMPDIR=" + p.home, "RUST_BACKTRACE=0", "NO_COLOR=1"}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	made := ran{stdout: stdout.Bytes(), stderr: stderr.Bytes()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		made.code, made.problem = -1, "takes more than 10 s"
	case errors.As(err, &exit):
		made.code = exit.ExitCode()
		if status, is := exit.Sys().(syscall.WaitStatus); is && status.Signaled() {
			made.problem = "ends by signal " + status.Signal().String()
		}
	case err != nil:
		cannot("%s: %v", p.path, err)
	}
	return made
}

var code = regexp.MustCompile(`(?m)^(?:error|.*: error)\[([a-z0-9-]+)\]`)

// firstLine is the first line of standard error that is not empty.
func firstLine(text []byte) string {
	for _, line := range lines(text) {
		return shown(line)
	}
	return "no text"
}

// compareWorkspace renders a workspace and asks all readers. Nothing below `fence` may change but the folders of the output.
func (w *worker) compareWorkspace(binary program, root, fence string, made *outcome) {
	before, err := snapshot(fence)
	if err != nil {
		cannot("%v", err)
	}
	rendered := binary.run(root, "render")
	after, err := snapshot(fence)
	if err != nil {
		cannot("%v", err)
	}
	found, settingsError := settingsOf(root)
	if rendered.problem != "" {
		made.Failed = append(made.Failed, "render "+rendered.problem+": "+firstLine(rendered.stderr))
	}
	base, err := filepath.Rel(fence, root)
	if err != nil {
		cannot("%v", err)
	}
	for _, path := range changes(before, after) {
		inside := rendered.code == 0 && settingsError == nil && found.holds(base, path)
		if !inside {
			made.Failed = append(made.Failed, fmt.Sprintf("render ends with %d and writes %s", rendered.code, shown(path)))
		}
	}
	switch {
	case rendered.problem != "":
		return
	case rendered.code == 2:
		made.Refused = "no code: " + firstLine(rendered.stderr)
		if named := code.FindSubmatch(rendered.stderr); named != nil {
			made.Refused = string(named[1])
		}
		return
	case rendered.code != 0:
		made.Failed = append(made.Failed, fmt.Sprintf("render ends with %d: %s", rendered.code, firstLine(rendered.stderr)))
		return
	case settingsError != nil:
		made.Failed = append(made.Failed, fmt.Sprintf("bailiwick.yaml is rendered, and no YAML for the harness: %v", settingsError))
		return
	}
	w.compareOutput(binary, root, root, found, made)
	if len(made.Differences) == 0 {
		return
	}
	// What lies beside the policies is an error of `check` alone.
	checked := binary.run(root, "check")
	if named := code.FindSubmatch(checked.stderr); named != nil && checked.problem == "" && (checked.code == 1 || checked.code == 2) {
		*made = outcome{Label: made.Label, Changed: made.Changed, Failed: made.Failed, Inputs: made.Inputs, Refused: "check: " + string(named[1])}
		return
	}
	// A kind that Argo CD leaves out is a finding of `lint`.
	for _, each := range made.Differences {
		if each.Reader != "argocd-kinds" {
			return
		}
	}
	if linted := binary.run(root, "lint", "--severity", "medium"); bytes.Contains(linted.stderr, []byte("[excluded-kind]")) {
		*made = outcome{Label: made.Label, Changed: made.Changed, Failed: made.Failed, Inputs: made.Inputs, Refused: "lint: excluded-kind"}
	}
}

// unstated are the readers that a target does not have: with the delivery by one applier, the other one reads nothing.
func (s settings) unstated(delivery any) map[string]bool {
	argocd, flux := s.Spec.Delivery.ArgoCD != nil, s.Spec.Delivery.Flux != nil
	switch {
	case delivery == false || argocd == flux:
		return nil
	case argocd:
		return map[string]bool{"flux": true, "flux-variables": true, "inventory": true}
	default:
		return map[string]bool{"argocd": true, "argocd-kinds": true, "argocd-folders": true}
	}
}

// compareOutput asks all readers for the targets and delivery folders of a workspace. The readers get the repository `repository`.
func (w *worker) compareOutput(binary program, root, repository string, found settings, made *outcome) {
	for _, target := range found.Spec.Targets {
		printed := binary.run(root, "render", "--stdout", "--format", "json", "--target", target.Name)
		if printed.code != 0 || printed.problem != "" {
			made.Failed = append(made.Failed, fmt.Sprintf("render --stdout of %s ends with %d%s: %s", target.Name, printed.code, printed.problem, firstLine(printed.stderr)))
			continue
		}
		expected, paths, err := viewOf(printed.stdout)
		if err != nil {
			made.Failed = append(made.Failed, fmt.Sprintf("render --stdout of %s: %v", target.Name, err))
			continue
		}
		folder := filepath.Join(found.Spec.Output, target.Name)
		w.ask(unit{root: repository, path: folder, expected: expected, files: paths, variables: found.Spec.Delivery.Flux != nil && target.Delivery != false, without: found.unstated(target.Delivery)}, made)
	}
	for _, folder := range deliveries(repository, found) {
		relative, err := filepath.Rel(repository, folder)
		if err != nil {
			cannot("%v", err)
		}
		paths, err := yamlFiles(folder)
		var expected []wire.Object
		if err == nil {
			expected, err = documents(paths)
		}
		if err != nil {
			made.Failed = append(made.Failed, err.Error())
			continue
		}
		w.ask(unit{root: repository, path: relative, expected: expected, files: paths, without: found.unstated(nil)}, made)
	}
}

// ask compares one folder.
func (w *worker) ask(one unit, made *outcome) {
	made.Compared++
	made.Objects += len(one.expected)
	for _, each := range w.compare(one) {
		each.Folder = one.path
		made.Differences = append(made.Differences, each)
	}
}

// deliveries are the folders of delivery objects that an applier gets: DELIVERY/TARGET/APPLIER.
func deliveries(root string, found settings) []string {
	if found.Spec.Delivery.Flux == nil && found.Spec.Delivery.ArgoCD == nil {
		return nil
	}
	held, _ := filepath.Glob(filepath.Join(escaped(root), escaped(found.Spec.Delivery.Folder), "*", "*"))
	var folders []string
	for _, path := range held {
		if information, err := os.Stat(path); err == nil && information.IsDir() {
			folders = append(folders, path)
		}
	}
	sort.Strings(folders)
	return folders
}

var special = regexp.MustCompile(`[\[\]*?\\]`)

func escaped(pattern string) string {
	return special.ReplaceAllString(pattern, `\$0`)
}

// viewOf reads what `render --stdout --format json` prints: objects with the paths of their files below the target's folder.
func viewOf(printed []byte) (objects []wire.Object, paths []string, err error) {
	seen := map[string]bool{}
	for _, line := range lines(printed) {
		var record struct {
			Path   string          `json:"path"`
			Object json.RawMessage `json:"object"`
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			return nil, nil, err
		}
		one, err := wire.FromJSON(record.Object)
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, one)
		if !seen[record.Path] {
			seen[record.Path] = true
			paths = append(paths, record.Path)
		}
	}
	return objects, paths, nil
}

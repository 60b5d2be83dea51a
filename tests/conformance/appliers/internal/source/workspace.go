// Package source has the workspaces of the checks, in git repositories of their own.
package source

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bailiwick.dev/conformance/internal/cluster"
)

// Folder is the folder of each workspace in its repository.
const Folder = "infra/access"

// A Repository is a git repository with a clone that the appliers read.
type Repository struct {
	// Name is the name of the repository and of its source.
	Name string
	// Root is the working tree, and Bare the clone.
	Root, Bare string
}

// A Workspace is a workspace in a repository.
type Workspace struct {
	*Repository
	// Path is the folder of the workspace in the repository.
	Path   string
	binary string
}

// NewRepository makes a repository below the work folder.
func NewRepository(work, name string) (*Repository, error) {
	root := filepath.Join(work, "repositories", name)
	repository := &Repository{Name: name, Root: root, Bare: root + ".git"}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	steps := [][]string{{"init", "--quiet", "--initial-branch", "main"}, {"init", "--quiet", "--bare", "--initial-branch", "main", repository.Bare}}
	for _, step := range steps {
		if _, err := repository.git(step...); err != nil {
			return nil, err
		}
	}
	return repository, nil
}

// Workspace returns the workspace at a path of the repository.
func (r *Repository) Workspace(path, binary string) *Workspace {
	return &Workspace{Repository: r, Path: path, binary: binary}
}

// URL returns the address of the clone.
func (r *Repository) URL() string { return "file://" + r.Bare }

// Commit commits and pushes everything, and returns the hash of the commit.
func (r *Repository) Commit() (string, error) {
	for _, step := range [][]string{{"add", "--all", "--force"}, {"commit", "--quiet", "--allow-empty", "--message", "change"}, {"push", "--quiet", r.Bare, "main"}} {
		if _, err := r.git(step...); err != nil {
			return "", err
		}
	}
	return r.git("rev-parse", "HEAD")
}

func (r *Repository) git(arguments ...string) (string, error) {
	settings := []string{"-C", r.Root, "-c", "user.name=conformance", "-c", "user.email=conformance@example.com", "-c", "core.hooksPath=/dev/null"}
	command := exec.Command("git", append(settings, arguments...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	output, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", arguments[0], err, output)
	}
	return strings.TrimSpace(string(output)), nil
}

// Absolute returns the path of a file of the workspace.
func (w *Workspace) Absolute(path string) string { return filepath.Join(w.Root, w.Path, path) }

// Write writes a file of the workspace.
func (w *Workspace) Write(path, text string) error {
	file := w.Absolute(path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// Run runs the program in the workspace, and returns its output and exit code.
func (w *Workspace) Run(arguments ...string) (string, int, error) {
	command := exec.Command(w.binary, append([]string{"-C", w.Absolute("")}, arguments...)...)
	output, err := command.CombinedOutput()
	if _, failed := err.(*exec.ExitError); failed {
		err = nil
	}
	if err != nil {
		return "", 0, err
	}
	return string(output), command.ProcessState.ExitCode(), nil
}

// Render renders the workspace. A failure is an error with the output.
func (w *Workspace) Render(arguments ...string) error {
	output, code, err := w.Run(append([]string{"render"}, arguments...)...)
	if err == nil && code != 0 {
		err = fmt.Errorf("%w: render ends with %d:\n%s", cluster.ErrDiffers, code, output)
	}
	return err
}

// Objects returns the output of targets, or of all of them.
func (w *Workspace) Objects(targets ...string) ([]*unstructured.Unstructured, error) {
	if len(targets) == 0 {
		return cluster.ReadPath(w.Absolute("out"))
	}
	var objects []*unstructured.Unstructured
	for _, target := range targets {
		found, err := cluster.ReadPath(w.Absolute("out/" + target))
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// Delivery returns the delivery objects of an applier for all targets.
func (w *Workspace) Delivery(applier string) ([]*unstructured.Unstructured, error) {
	folders, err := filepath.Glob(w.Absolute("delivery/*/" + applier))
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, folder := range folders {
		found, err := cluster.ReadPath(folder)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

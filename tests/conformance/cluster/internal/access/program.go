package access

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// A Program answers questions with `can-i`.
type Program struct {
	Binary string
	// World are the options of the world of the questions, such as --from.
	World []string
}

// Arguments returns the question in the words of `can-i`.
func (q Question) Arguments() []string {
	resource := q.Resource.Resource
	if q.Resource.Group != "" {
		resource += "." + q.Resource.Group
	}
	arguments := []string{q.Verb, resource}
	if q.Name != "" {
		arguments = append(arguments, q.Name)
	}
	if q.Subresource != "" {
		arguments = append(arguments, "--subresource", q.Subresource)
	}
	switch {
	case q.Namespace != "":
		arguments = append(arguments, "--namespace", q.Namespace)
	case q.Resource.Namespaced:
		arguments = append(arguments, "--all-namespaces")
	}
	return arguments
}

// Review answers a question.
func (p Program) Review(question Question) (bool, error) {
	return p.ask(question, question.Arguments())
}

// Request answers whether the HTTP request of a question is allowed.
func (p Program) Request(question Question) (bool, error) {
	method, path := HTTP(question)
	return p.ask(question, []string{"--http", method + " " + path})
}

func (p Program) ask(question Question, words []string) (bool, error) {
	arguments := append([]string{"--quiet", "can-i", "--as", question.Account.User()}, words...)
	output, err := exec.Command(p.Binary, append(arguments, p.World...)...).CombinedOutput()
	first, _, _ := strings.Cut(string(output), "\n")
	var exit *exec.ExitError
	switch {
	case err == nil && first == "yes":
		return true, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1 && first == "no":
		return false, nil
	}
	return false, fmt.Errorf("%s: can-i ends with %v: %.400s", question, err, output)
}

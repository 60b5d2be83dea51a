// Package compare holds what a program says about nodes against what Kubernetes' own code says.
package compare

import (
	"errors"
	"fmt"
	"path/filepath"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/node/internal/worlds"
)

// Newest is the release whose types the questions are made of.
const Newest = "1.36"

// Versions are the releases of which there may be an oracle, the newest first.
var Versions = []string{"1.37", Newest, "1.34", "1.31", "1.26", "1.20"}

// ErrBroken is a question that the real code cannot be asked.
var ErrBroken = errors.New("the oracle is broken")

// Answer is what is said about a world.
type Answer struct {
	Requests []struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
	} `json:"requests"`
	Admission []struct {
		Allowed bool   `json:"allowed"`
		Message string `json:"message"`
	} `json:"admission"`
	Validation []struct {
		Errors []string `json:"errors"`
	} `json:"validation"`
	// Error is that of the program, and Broken that of an oracle.
	Error  string `json:"error,omitempty"`
	Broken string `json:"broken,omitempty"`
}

// Verdict is one decision, and why.
type Verdict struct {
	Allowed bool
	Text    string
}

// Verdicts are those of a sort.
func (a *Answer) Verdicts(sort string) []Verdict {
	verdicts := []Verdict{}
	switch sort {
	case "requests":
		for _, each := range a.Requests {
			verdicts = append(verdicts, Verdict{each.Decision == "allow", each.Decision + " " + each.Reason})
		}
	case "admission":
		for _, each := range a.Admission {
			text := "allowed"
			if !each.Allowed {
				text = "refused: " + each.Message
			}
			verdicts = append(verdicts, Verdict{each.Allowed, text})
		}
	case "validation":
		for _, each := range a.Validation {
			verdicts = append(verdicts, Verdict{len(each.Errors) == 0, fmt.Sprintf("errors %q", each.Errors)})
		}
	}
	return verdicts
}

// Oracles are running programs with the real code, by release.
type Oracles struct {
	sessions map[string]ask.Answerer
	gates    map[string]map[string]bool
}

// Start starts the oracles that are in a folder.
func Start(folder string, versions []string) (*Oracles, error) {
	oracles := &Oracles{sessions: map[string]ask.Answerer{}, gates: map[string]map[string]bool{}}
	for _, version := range versions {
		session, err := ask.Start(filepath.Join(folder, "v"+version))
		if err != nil {
			return nil, err
		}
		oracles.sessions[version] = session
		var known struct{ Gates map[string]bool }
		if err := session.Ask("gates", worlds.Gates(version), &known); err != nil {
			return nil, err
		}
		oracles.gates[version] = known.Gates
	}
	return oracles, nil
}

// Gates are those that can be changed in a release, with what they usually are.
func (o *Oracles) Gates(version string) map[string]bool { return o.gates[version] }

// Ask asks the real code of the release that a question is about.
func (o *Oracles) Ask(kind string, body, answer any) error {
	version, _ := body.(worlds.Object)["version"].(string)
	session := o.sessions[version]
	if session == nil {
		return fmt.Errorf("%w: there is no oracle for %q", ErrBroken, version)
	}
	if err := session.Ask(kind, body, answer); err != nil {
		return err
	}
	return whether(answer)
}

// whether tells whether an answer is none.
func whether(answer any) error {
	if answer, ok := answer.(*Answer); ok && answer.Broken != "" {
		return fmt.Errorf("%w: %s", ErrBroken, answer.Broken)
	}
	return nil
}

// Fit makes a world fit its release: nothing stays in it that the release does not know.
func (o *Oracles) Fit(world *worlds.World) error {
	if world.Version == Newest {
		return nil
	}
	var fitting struct {
		Question struct {
			Gates      map[string]bool
			Objects    []worlds.Object
			Requests   []worlds.Object
			Admission  []worlds.Object
			Validation []worlds.Object
		}
		Kept   []int
		Broken string
	}
	if err := o.Ask("prepare", world.Body(), &fitting); err != nil {
		return err
	}
	if fitting.Broken != "" {
		return fmt.Errorf("%w: %s", ErrBroken, fitting.Broken)
	}
	question := fitting.Question
	world.Gates, world.Objects = question.Gates, question.Objects
	kept := []worlds.Item{}
	for _, index := range fitting.Kept {
		item := world.Items["admission"][index]
		item.Body = question.Admission[index]
		kept = append(kept, item)
	}
	world.Items["admission"] = kept
	for index := range world.Items["validation"] {
		world.Items["validation"][index].Body = question.Validation[index]
	}
	return nil
}

// Set changes one decision.
func (a *Answer) Set(sort string, index int, allowed bool) {
	switch sort {
	case "requests":
		a.Requests[index].Decision = map[bool]string{true: "allow", false: "no-opinion"}[allowed]
	case "admission":
		a.Admission[index].Allowed = allowed
	case "validation":
		a.Validation[index].Errors = nil
		if !allowed {
			a.Validation[index].Errors = []string{"error"}
		}
	}
}

package compare

import (
	"encoding/json"
	"fmt"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/rbac/internal/kube"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// Shrinker makes the world and the question of a difference smaller while the two sides still differ.
type Shrinker struct {
	server  *kube.Server
	session *ask.Session
}

// NewShrinker starts a second run of the other side, which is asked one thing at a time.
func NewShrinker(command []string) (*Shrinker, error) {
	server, err := kube.NewServer()
	if err != nil {
		return nil, err
	}
	session, err := ask.Start(command...)
	return &Shrinker{server: server, session: session}, err
}

// Close ends the other side.
func (s *Shrinker) Close() error { return s.session.Close() }

// Shrink gives the smallest difference that taking things away leads to.
func (s *Shrinker) Shrink(given *Difference) (*Difference, error) {
	smallest, err := s.try(given.World, given.Question)
	if err != nil {
		return nil, err
	}
	if smallest == nil {
		return nil, fmt.Errorf("batch %d: the sides agree when the question is asked alone, so an answer depends on what was asked before", given.Batch)
	}
	// As trees all the way: what is typed grows back the keys that it cannot be without.
	world, err := asTree(smallest.World)
	if err != nil {
		return nil, err
	}
	question, err := asTree(smallest.Question)
	if err != nil {
		return nil, err
	}
	for smaller := smallest; smaller != nil; {
		smallest = smaller
		if smaller, err = s.pass(&world, &question, given.Question.Kind(), failing(smallest)); err != nil {
			return nil, err
		}
	}
	smallest.Batch = given.Batch
	return smallest, nil
}

// pass tries everything that can be taken away, one by one, and leaves out what the difference does not need. It
// gives nil when all is needed.
func (s *Shrinker) pass(world, question *any, kind string, fails bool) (*Difference, error) {
	var smallest *Difference
	for _, tree := range []*any{world, question} {
		for place := 0; ; {
			// Anew after each success, because the places have moved.
			losses := lossesOf(*tree)
			if place >= len(losses) {
				break
			}
			before := *tree
			*tree = losses[place].apply(before)
			smaller, err := s.tryTrees(*world, *question)
			if err != nil {
				return nil, err
			}
			// Another question, or another reason to differ, is another difference.
			if smaller == nil || smaller.Question.Kind() != kind || failing(smaller) != fails {
				*tree = before
				place++
				continue
			}
			smallest = smaller
		}
	}
	return smallest, nil
}

func (s *Shrinker) tryTrees(world, question any) (*Difference, error) {
	var typed [2]protocol.Question
	for index, tree := range []any{world, question} {
		encoded, err := json.Marshal(tree)
		if err != nil {
			return nil, err
		}
		if json.Unmarshal(encoded, &typed[index]) != nil {
			return nil, nil
		}
	}
	if typed[0].World == nil || typed[1].Kind() == "empty" {
		return nil, nil
	}
	return s.try(&typed[0], &typed[1])
}

// try asks both sides; nil when they agree.
func (s *Shrinker) try(world, question *protocol.Question) (*Difference, error) {
	if _, failed := s.server.Answer(world).(*protocol.Failure); failed {
		return nil, nil
	}
	real := s.server.Answer(question)
	lines, err := ask.All[json.RawMessage](s.session, []*protocol.Question{world, question})
	if err != nil {
		return nil, err
	}
	loaded, err := protocol.Parse(lines[0], &protocol.WorldAnswer{})
	if err != nil {
		return nil, err
	}
	other, err := protocol.Parse(lines[1], real)
	if err != nil {
		return nil, err
	}
	if failure, failed := loaded.(*protocol.Failure); failed {
		other = failure
	}
	other.Normal()
	if protocol.Same(real, other) {
		return nil, nil
	}
	return &Difference{World: world, Question: question, Real: real, Other: other}, nil
}

func failing(difference *Difference) bool {
	_, real := difference.Real.(*protocol.Failure)
	_, other := difference.Other.(*protocol.Failure)
	return real || other
}

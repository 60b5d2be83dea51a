package kube

import (
	"context"
	"errors"

	"bailiwick.dev/conformance/rbac/internal/protocol"
)

// Server keeps one world and answers questions about it.
type Server struct {
	aggregation *Aggregation
	world       *World
	// Misread, for tests of the harness, changes what was given.
	Misread func(*Objects) *Objects
}

// NewServer starts with an empty world.
func NewServer() (*Server, error) {
	server := &Server{aggregation: NewAggregation()}
	world, err := NewWorld(&Objects{}, server.aggregation)
	server.world = world
	return server, err
}

// Answer gives the normal form of the real answer.
func (s *Server) Answer(question *protocol.Question) protocol.Answer {
	answer, err := s.answer(context.Background(), question)
	if err != nil {
		return &protocol.Failure{Error: err.Error()}
	}
	answer.Normal()
	return answer
}

func (s *Server) answer(ctx context.Context, question *protocol.Question) (protocol.Answer, error) {
	switch {
	case question.World != nil:
		objects, err := Decode(question.World)
		if err != nil {
			return nil, err
		}
		if s.Misread != nil {
			objects = s.Misread(objects)
		}
		world, err := NewWorld(objects, s.aggregation)
		if err != nil {
			return nil, err
		}
		s.world = world
		return &protocol.WorldAnswer{Objects: world.objects}, nil
	case question.CanI != nil:
		return s.world.canI(ctx, question.CanI)
	case question.Rules != nil:
		return s.world.rules(ctx, question.Rules), nil
	case question.Covers != nil:
		return covers(question.Covers), nil
	case question.WhoCan != nil:
		return s.world.whoCan(ctx, question.WhoCan), nil
	case question.Aggregate != nil:
		return &protocol.AggregateAnswer{Roles: copyRoles(s.world.aggregated)}, nil
	case question.Write != nil:
		return s.world.write(ctx, question.Write)
	case question.Reconcile != nil:
		return reconcile(question.Reconcile)
	case question.DefaultPolicy != "":
		return policyAnswer(question.DefaultPolicy)
	}
	return nil, errors.New("no question")
}

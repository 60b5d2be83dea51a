// Package protocol is the line protocol of `bailiwick ask`: one JSON question on a line, one JSON answer on a line.
package protocol

import (
	"encoding/json"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Question holds exactly one of its fields.
type Question struct {
	World         *World     `json:"world,omitempty"`
	CanI          *CanI      `json:"can-i,omitempty"`
	Rules         *RulesFor  `json:"rules,omitempty"`
	Covers        *Covers    `json:"covers,omitempty"`
	WhoCan        *Action    `json:"who-can,omitempty"`
	Aggregate     *Aggregate `json:"aggregate,omitempty"`
	Write         *Write     `json:"write,omitempty"`
	Reconcile     *Reconcile `json:"reconcile,omitempty"`
	DefaultPolicy string     `json:"default-policy,omitempty"`
}

// World replaces the set of objects that the next questions are about.
type World struct {
	Objects []json.RawMessage `json:"objects"`
	// Baseline is the minor version whose default policy lies under the objects.
	Baseline string `json:"baseline,omitempty"`
	// StatedRulesStay keeps the rules that an aggregated role has of its own while it gathers nothing, as a server does.
	StatedRulesStay bool `json:"statedRulesStay,omitempty"`
}

// Subject is who asks.
type Subject struct {
	User string `json:"user"`
	// Groups are the implicit ones of the user when nil.
	Groups *[]string `json:"groups,omitempty"`
}

// Action is what is asked for: something on a resource, or, with a path, on a URL.
type Action struct {
	Verb        string  `json:"verb,omitempty"`
	Group       string  `json:"group,omitempty"`
	Resource    string  `json:"resource,omitempty"`
	Subresource string  `json:"subresource,omitempty"`
	Namespace   string  `json:"namespace,omitempty"`
	Name        string  `json:"name,omitempty"`
	Path        *string `json:"path,omitempty"`
}

// CanI asks for a decision about an action or about an HTTP request.
type CanI struct {
	Subject
	Action
	// HTTP is a method and a URL, as in a request line.
	HTTP string `json:"http,omitempty"`
}

// RulesFor asks for the rules that a subject has in a namespace, or everywhere.
type RulesFor struct {
	Subject
	Namespace string `json:"namespace,omitempty"`
}

// Covers asks whether somebody who has the rules of Owner may give away the rules Wanted.
type Covers struct {
	Owner  []rbacv1.PolicyRule `json:"owner"`
	Wanted []rbacv1.PolicyRule `json:"wanted"`
}

// Aggregate asks for the rules of every aggregated ClusterRole.
type Aggregate struct{}

// Write asks whether a subject may write an object of RBAC.
type Write struct {
	Subject
	Object json.RawMessage `json:"object"`
	Old    json.RawMessage `json:"old,omitempty"`
	// Verb is create without an old object and update with one, unless it says otherwise.
	Verb string `json:"verb,omitempty"`
}

// Reconcile asks what the reconciliation of a default object would do.
type Reconcile struct {
	Expected    json.RawMessage `json:"expected"`
	Existing    json.RawMessage `json:"existing,omitempty"`
	RemoveExtra bool            `json:"removeExtra,omitempty"`
}

// Kind names the question, for counts and reports.
func (q *Question) Kind() string {
	switch {
	case q.World != nil:
		return "world"
	case q.CanI != nil && q.CanI.HTTP != "":
		return "can-i http"
	case q.CanI != nil && q.CanI.Path != nil:
		return "can-i path"
	case q.CanI != nil:
		return "can-i resource"
	case q.Rules != nil:
		return "rules"
	case q.Covers != nil:
		return "covers"
	case q.WhoCan != nil:
		return "who-can"
	case q.Aggregate != nil:
		return "aggregate"
	case q.Write != nil:
		return "write"
	case q.Reconcile != nil:
		return "reconcile"
	case q.DefaultPolicy != "":
		return "default-policy"
	}
	return "empty"
}

// IsDecision tells whether the question is for a decision of the authorizer.
func (q *Question) IsDecision() bool { return q.CanI != nil }

// Package protocol has the question of `bailiwick ask` about an admission policy.
package protocol

// Question asks one policy about some requests.
type Question struct {
	Policy *Body `json:"admission-policy"`
}

// Body is a policy, what binds it, the namespace of the requests, and these.
type Body struct {
	Policy    map[string]any `json:"policy"`
	Binding   map[string]any `json:"binding"`
	Namespace map[string]any `json:"namespace"`
	Requests  []*Request     `json:"requests"`
}

// Request is what admission is asked about.
type Request struct {
	User        string              `json:"user"`
	UID         string              `json:"uid,omitempty"`
	Groups      []string            `json:"groups,omitempty"`
	Extra       map[string][]string `json:"extra,omitempty"`
	Operation   string              `json:"operation"`
	Group       string              `json:"apiGroup"`
	Version     string              `json:"version"`
	Resource    string              `json:"resource"`
	Subresource string              `json:"subresource,omitempty"`
	Kind        string              `json:"kind"`
	Namespace   string              `json:"namespace,omitempty"`
	Name        string              `json:"name,omitempty"`
	Object      map[string]any      `json:"object,omitempty"`
	OldObject   map[string]any      `json:"oldObject,omitempty"`
	DryRun      bool                `json:"dryRun,omitempty"`
}

// Answer is what comes back.
type Answer struct {
	Answers []Verdict `json:"answers"`
	Error   string    `json:"error,omitempty"`
	// Compiles is false where the API server would not take the policy; only the real side tells.
	Compiles bool `json:"-"`
}

// Verdict is what is answered to one request.
type Verdict struct {
	Answer   string   `json:"answer"`
	Matched  bool     `json:"matched"`
	Message  string   `json:"message"`
	Reason   string   `json:"reason"`
	Warnings []string `json:"warnings"`
	Unknown  []string `json:"unknown"`
}

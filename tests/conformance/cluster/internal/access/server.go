package access

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A Caller is an account with its token.
type Caller struct {
	account Account
	host    string
	http    *http.Client
	kube    kubernetes.Interface
}

// NewCaller returns a caller with a configuration.
func NewCaller(account Account, config *rest.Config) (*Caller, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &Caller{account, config.Host, client, kube}, nil
}

// Review asks a SelfSubjectAccessReview.
func (c *Caller) Review(ctx context.Context, question Question) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: question.Namespace, Verb: question.Verb, Name: question.Name, Subresource: question.Subresource,
			Group: question.Resource.Group, Version: question.Resource.Version, Resource: question.Resource.Resource,
		},
	}}
	answer, err := c.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("%s: %w", question, err)
	}
	return answer.Status.Allowed, nil
}

// Request makes the request itself, as a dry run with an empty body. An error after the authorization, such as a missing object or an
// invalid body, is an allowed request.
func (c *Caller) Request(ctx context.Context, question Question) (bool, error) {
	method, path := HTTP(question)
	request, err := http.NewRequestWithContext(ctx, method, c.host+path, strings.NewReader("{}"))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", contentType(method))
	response, err := c.http.Do(request)
	if err != nil {
		return false, fmt.Errorf("%s: %w", question, err)
	}
	defer response.Body.Close()
	// A watch goes on until its timeout, and its code is known.
	if response.StatusCode == http.StatusOK {
		return true, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return false, err
	}
	status := metav1.Status{}
	if err := json.Unmarshal(body, &status); err != nil && response.StatusCode >= http.StatusBadRequest {
		return false, fmt.Errorf("%s: the server answers %d with %.200q", question, response.StatusCode, body)
	}
	return Passed(question, response.StatusCode, status.Message)
}

// Passed returns whether an answer comes from behind the authorization.
func Passed(question Question, code int, message string) (bool, error) {
	switch code {
	case http.StatusUnauthorized, http.StatusInternalServerError, http.StatusServiceUnavailable:
		return false, fmt.Errorf("%s: the server answers %d %s", question, code, message)
	case http.StatusForbidden:
		// Admission and the escalation check have other messages.
		return !strings.Contains(message, fmt.Sprintf("User %q cannot ", question.Account.User())), nil
	}
	return true, nil
}

// HTTP returns the method and the path of a question.
func HTTP(question Question) (method, path string) {
	prefix := "/apis/" + question.Resource.Group + "/"
	if question.Resource.Group == "" {
		prefix = "/api/"
	}
	path = prefix + question.Resource.Version
	if question.Namespace != "" {
		path += "/namespaces/" + question.Namespace
	}
	path += "/" + question.Resource.Resource
	if question.Name != "" {
		path += "/" + url.PathEscape(question.Name)
	}
	if question.Subresource != "" {
		path += "/" + question.Subresource
	}
	switch question.Verb {
	case "watch":
		return http.MethodGet, path + "?watch=1&timeoutSeconds=1"
	case "create":
		return http.MethodPost, path + "?dryRun=All"
	case "update":
		return http.MethodPut, path + "?dryRun=All"
	case "patch":
		return http.MethodPatch, path + "?dryRun=All"
	case "delete", "deletecollection":
		return http.MethodDelete, path + "?dryRun=All"
	}
	return http.MethodGet, path + "?limit=1"
}

func contentType(method string) string {
	if method == http.MethodPatch {
		return "application/merge-patch+json"
	}
	return "application/json"
}

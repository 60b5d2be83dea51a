package stacks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Media types of the bodies.
const (
	plain      = "application/json"
	mergePatch = "application/merge-patch+json"
	applyPatch = "application/apply-patch+yaml"
)

// dryRun makes a write end before it is kept.
const dryRun = "dryRun=All"

// A server is asked over plain HTTP, because the verdict about one request is wanted, and clients send several.
type server struct {
	config *rest.Config
	client kubernetes.Interface
	mapper meta.RESTMapper
	admin  *caller
	// states counts what roles were changed to.
	states int
}

func reach(config *rest.Config, client kubernetes.Interface) (*server, error) {
	groups, err := restmapper.GetAPIGroupResources(client.Discovery())
	if err != nil {
		return nil, err
	}
	server := &server{config: config, client: client, mapper: restmapper.NewDiscoveryRESTMapper(groups)}
	server.admin, err = server.as("", nil)
	return server, err
}

// A caller sends requests as somebody.
type caller struct {
	host string
	http *http.Client
}

// as gives whoever has the name and exactly these groups, or without a name somebody who may do everything.
func (s *server) as(user string, groups []string) (*caller, error) {
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &caller{strings.TrimSuffix(config.Host, "/"), client}, nil
}

// A request is what is sent.
type request struct {
	method, url string
	mediaType   string
	body        any
}

func (r request) String() string { return r.method + " " + r.url }

// A verdict is what came back.
type verdict struct {
	status  int
	message string
}

func (v verdict) refused() bool { return v.status == http.StatusForbidden }

// send gives the verdict about a request. A body that the server does not understand, or that it failed with, is our
// fault and none.
func (c *caller) send(ctx context.Context, request request) (verdict, error) {
	var body io.Reader
	if request.body != nil {
		text, err := json.Marshal(request.body)
		if err != nil {
			return verdict{}, err
		}
		body = bytes.NewReader(text)
	}
	// Nobody waits for what a watch has to tell.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent, err := http.NewRequestWithContext(ctx, request.method, c.host+request.url, body)
	if err != nil {
		return verdict{}, err
	}
	sent.Header.Set("Accept", "application/json")
	if request.mediaType != "" {
		sent.Header.Set("Content-Type", request.mediaType)
	}
	response, err := c.http.Do(sent)
	if err != nil {
		return verdict{}, err
	}
	defer response.Body.Close()
	given := verdict{status: response.StatusCode}
	if given.status >= http.StatusBadRequest {
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return verdict{}, err
		}
		status := &metav1.Status{}
		if given.message = string(text); json.Unmarshal(text, status) == nil && status.Message != "" {
			given.message = strings.ReplaceAll(status.Message, "\n", " ")
		}
	}
	switch {
	case given.status >= http.StatusInternalServerError, given.status == http.StatusBadRequest,
		given.status == http.StatusUnauthorized, given.status == http.StatusUnsupportedMediaType,
		given.status == http.StatusTooManyRequests:
		return verdict{}, fmt.Errorf("%s: %d %s", request, given.status, given.message)
	}
	return given, nil
}

// must sends what cannot be refused.
func (c *caller) must(ctx context.Context, request request) error {
	given, err := c.send(ctx, request)
	if err == nil && given.status >= http.StatusBadRequest {
		err = fmt.Errorf("%s: %d %s", request, given.status, given.message)
	}
	return err
}

// place is where an object is served: its URL, and that of its like.
func (s *server) place(object *unstructured.Unstructured) (own, all string, resource string, err error) {
	kind := object.GroupVersionKind()
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return "", "", "", err
	}
	all = "/apis/" + kind.Group + "/" + kind.Version
	if kind.Group == "" {
		all = "/api/" + kind.Version
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		all += "/namespaces/" + object.GetNamespace()
	}
	resource = mapping.Resource.Resource
	all += "/" + resource
	return all + "/" + object.GetName(), all, resource, nil
}

// await asks until a service account may do something, or no longer may.
func (s *server) await(ctx context.Context, who account, wanted bool, action authorizationv1.ResourceAttributes) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.user(), Groups: who.groups(), ResourceAttributes: &action,
	}}
	for deadline := time.Now().Add(settling); ; time.Sleep(polling / 4) {
		given, err := s.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil || given.Status.Allowed == wanted {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server does not heed that %s may %s %s.%s: %t", who, action.Verb, action.Resource, action.Group, wanted)
		}
	}
}

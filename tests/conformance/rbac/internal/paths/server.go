package paths

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// settling is the longest time that a controller or a cache of the server may take.
	settling = 20 * time.Second
	// polling is the time between two looks at it.
	polling = 50 * time.Millisecond
)

// Media types of the bodies.
const (
	plain          = "application/json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
)

// object is an object of the API in its JSON form.
type object = map[string]any

// A server is the API server under test.
type server struct {
	config *rest.Config
	client kubernetes.Interface
	mapper meta.RESTMapper
	admin  *caller
}

func reach(kubeconfig string) (*server, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// The server has no other clients.
	config.QPS, config.Burst = 2000, 2000
	config.WarningHandler = rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(client.Discovery())
	if err != nil {
		return nil, err
	}
	server := &server{config: config, client: client, mapper: restmapper.NewDiscoveryRESTMapper(groups)}
	server.admin, err = newCaller("admin", config)
	return server, err
}

// collection returns the URL of the objects of a kind, in a namespace or in all.
func (s *server) collection(kind schema.GroupVersionKind, namespace string) (string, error) {
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return "", err
	}
	url := "/apis/" + kind.Group + "/" + kind.Version
	if kind.Group == "" {
		url = "/api/" + kind.Version
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && namespace != "" {
		url += "/namespaces/" + namespace
	}
	return url + "/" + mapping.Resource.Resource, nil
}

// A caller sends requests with the credentials of an identity.
type caller struct {
	name string
	host string
	http *http.Client
}

func newCaller(name string, config *rest.Config) (*caller, error) {
	config = rest.CopyConfig(config)
	// The streams of exec need the upgrade of HTTP/1.1.
	config.NextProtos = []string{"http/1.1"}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &caller{name, strings.TrimSuffix(config.Host, "/"), client}, nil
}

// A request is a request to the server.
type request struct {
	method, url string
	mediaType   string
	body        any
	header      http.Header
}

func get(url string) request { return request{method: "GET", url: url} }
func post(url string, body object) request {
	return request{method: "POST", url: url, mediaType: plain, body: body}
}
func put(url string, body object) request {
	return request{method: "PUT", url: url, mediaType: plain, body: body}
}
func patch(url string, body object) request {
	return request{method: "PATCH", url: url, mediaType: mergePatch, body: body}
}
func remove(url string) request { return request{method: "DELETE", url: url + "?gracePeriodSeconds=0"} }
func (r request) with(name, value string) request {
	header := r.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Add(name, value)
	r.header = header
	return r
}

func (r request) String() string {
	url, _, _ := strings.Cut(r.url, "?")
	return r.method + " " + url
}

// An answer is the answer of the server.
type answer struct {
	status  int
	message string
	body    []byte
}

func (a answer) passed() bool { return a.status < http.StatusBadRequest }

// A refusal is an answer that denies a request.
type refusal struct {
	who     string
	request request
	answer  answer
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s: %s: %d %s", r.who, r.request, r.answer.status, r.answer.message)
}

// isRefusal reports whether the server denied a request: its authorizer, its admission or its validation.
func isRefusal(err error) (*refusal, bool) {
	var refused *refusal
	return refused, errors.As(err, &refused)
}

func (c *caller) send(ctx context.Context, request request) (answer, error) {
	var body io.Reader
	if request.body != nil {
		text, err := json.Marshal(request.body)
		if err != nil {
			return answer{}, err
		}
		body = bytes.NewReader(text)
	}
	sent, err := http.NewRequestWithContext(ctx, request.method, c.host+request.url, body)
	if err != nil {
		return answer{}, err
	}
	for name, values := range request.header {
		sent.Header[name] = values
	}
	sent.Header.Set("Accept", plain)
	if request.mediaType != "" {
		sent.Header.Set("Content-Type", request.mediaType)
	}
	response, err := c.http.Do(sent)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	given := answer{status: response.StatusCode}
	if given.body, err = io.ReadAll(response.Body); err != nil {
		return answer{}, err
	}
	if !given.passed() {
		status := &metav1.Status{}
		if given.message = string(given.body); json.Unmarshal(given.body, status) == nil && status.Message != "" {
			given.message = strings.ReplaceAll(status.Message, "\n", " ")
		}
	}
	return given, nil
}

// must sends a request and returns the object of the answer, or the refusal.
func (c *caller) must(ctx context.Context, request request) (object, error) {
	given, err := c.send(ctx, request)
	if err != nil {
		return nil, err
	}
	switch given.status {
	case http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusConflict, http.StatusUnauthorized, http.StatusNotFound:
		return nil, &refusal{c.name, request, given}
	}
	if !given.passed() {
		return nil, fmt.Errorf("%s: %s: %d %s", c.name, request, given.status, given.message)
	}
	held := object{}
	return held, json.Unmarshal(given.body, &held)
}

// await asks until a condition holds.
func await(what string, holds func() (bool, error)) error {
	for deadline := time.Now().Add(settling); ; time.Sleep(polling) {
		held, err := holds()
		if err != nil || held {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s there is no %s", settling, what)
		}
	}
}

// at returns the text at a path of an object; empty if there is none.
func at(object object, path ...string) string {
	text, _, _ := unstructured.NestedString(object, path...)
	return text
}

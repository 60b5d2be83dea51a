// Package nodes puts the objects that keep nodes and their agents apart to a server that runs: agents that may only write
// what belongs to their own node, the graph of the Node authorizer, and the admission plugin NodeRestriction.
package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
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
	// settling is how long a server may take to heed new objects: its authorizer and its admission hear of them later.
	settling = 15 * time.Second
	// polling is how often it is asked again meanwhile.
	polling = 200 * time.Millisecond
	// workers ask the server at the same time.
	workers = 4
	// shown differences are enough to see what is wrong.
	shown = 10
)

// Media types of the bodies.
const (
	plain      = "application/json"
	mergePatch = "application/merge-patch+json"
	applyPatch = "application/apply-patch+yaml"
)

// Parameters of writes: the first ends one before it is kept, the second says who applies.
const (
	dryRun       = "dryRun=All"
	fieldManager = "fieldManager=bailiwick"
)

// object is one of the API, as it is sent.
type object = map[string]any

// A server is asked over plain HTTP, because the verdict about one request is wanted, and its warnings.
type server struct {
	config *rest.Config
	client kubernetes.Interface
	mapper meta.RESTMapper
	admin  *caller

	lock    sync.Mutex
	callers map[string]*caller
}

func reach(kubeconfig string) (*server, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// The server is ours alone.
	config.QPS, config.Burst = 2000, 2000
	// Every warning is read from the answers themselves.
	config.WarningHandler = rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	server := &server{config: config, client: client, callers: map[string]*caller{}}
	if err := server.discover(); err != nil {
		return nil, err
	}
	server.admin, err = newCaller(config)
	return server, err
}

// discover learns what is served, which a new definition adds to.
func (s *server) discover() error {
	groups, err := restmapper.GetAPIGroupResources(s.client.Discovery())
	if err == nil {
		s.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	}
	return err
}

// An identity is who sends a request.
type identity struct {
	user   string
	groups []string
	extra  map[string][]string
}

// A caller sends requests as somebody.
type caller struct {
	host string
	http *http.Client
}

func newCaller(config *rest.Config) (*caller, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &caller{strings.TrimSuffix(config.Host, "/"), client}, nil
}

// as gives whoever has the name, the groups and what else a token says.
func (s *server) as(who identity) (*caller, error) {
	key := fmt.Sprint(who)
	s.lock.Lock()
	defer s.lock.Unlock()
	if known := s.callers[key]; known != nil {
		return known, nil
	}
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: who.user, Groups: who.groups, Extra: who.extra}
	caller, err := newCaller(config)
	if err == nil {
		s.callers[key] = caller
	}
	return caller, err
}

// bearing gives whoever the token is for.
func (s *server) bearing(token string) (*caller, error) {
	config := rest.AnonymousClientConfig(s.config)
	config.BearerToken = token
	return newCaller(config)
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
	status   int
	message  string
	body     []byte
	warnings []string
}

func (v verdict) passed() bool { return v.status < http.StatusBadRequest }

func (c *caller) send(ctx context.Context, request request) (verdict, error) {
	var body io.Reader
	if request.body != nil {
		text, err := json.Marshal(request.body)
		if err != nil {
			return verdict{}, err
		}
		body = bytes.NewReader(text)
	}
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
	given := verdict{status: response.StatusCode, warnings: response.Header.Values("Warning")}
	if given.body, err = io.ReadAll(response.Body); err != nil {
		return verdict{}, err
	}
	if !given.passed() {
		status := &metav1.Status{}
		if given.message = string(given.body); json.Unmarshal(given.body, status) == nil && status.Message != "" {
			given.message = strings.ReplaceAll(status.Message, "\n", " ")
		}
	}
	return given, nil
}

// must sends what cannot be refused, and gives what is there then.
func (c *caller) must(ctx context.Context, request request) (object, error) {
	given, err := c.send(ctx, request)
	if err != nil {
		return nil, err
	}
	if !given.passed() {
		return nil, fmt.Errorf("%s: %d %s", request, given.status, given.message)
	}
	held := object{}
	return held, json.Unmarshal(given.body, &held)
}

// A place is where objects of a kind are served.
type place struct {
	kind       schema.GroupVersionKind
	resource   string
	namespaced bool
}

func (s *server) placeOf(kind schema.GroupVersionKind) (place, error) {
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return place{}, err
	}
	return place{kind, mapping.Resource.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}, nil
}

func (s *server) placeOfResource(group, resource string) (place, error) {
	kind, err := s.mapper.KindFor(schema.GroupVersionResource{Group: group, Resource: resource})
	if err != nil {
		return place{}, err
	}
	return s.placeOf(kind)
}

// all is the URL of all objects, in a namespace if they are in such.
func (p place) all(namespace string) string {
	url := "/apis/" + p.kind.Group + "/" + p.kind.Version
	if p.kind.Group == "" {
		url = "/api/" + p.kind.Version
	}
	if p.namespaced && namespace != "" {
		url += "/namespaces/" + namespace
	}
	return url + "/" + p.resource
}

// one is the URL of one, with a subresource or without.
func (p place) one(namespace, name, subresource string) string {
	url := p.all(namespace) + "/" + name
	if subresource != "" {
		url += "/" + subresource
	}
	return url
}

// parallel does the tasks of an index at the same time, and ends with the first error of each worker.
func parallel(count int, task func(index int) error) error {
	failures := make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for index := worker; index < count && failures[worker] == nil; index += workers {
				failures[worker] = task(index)
			}
		})
	}
	group.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

func show(out io.Writer, lines []string) {
	for index, line := range lines {
		if index == shown {
			fmt.Fprintf(out, "  ... and %d more\n", len(lines)-index)
			break
		}
		fmt.Fprintln(out, "  "+line)
	}
}

// at is the text at a path of an object; empty where there is none.
func at(object object, path ...string) string {
	text, _, _ := unstructured.NestedString(object, path...)
	return text
}

// clone is a copy of an object that may be changed.
func clone(original object) object {
	if original == nil {
		return nil
	}
	text, err := json.Marshal(original)
	if err != nil {
		panic(err)
	}
	copied := object{}
	if err := json.Unmarshal(text, &copied); err != nil {
		panic(err)
	}
	return copied
}

// merged is what becomes of an object by a merge patch.
func merged(original, patch object) object {
	result := clone(original)
	if result == nil {
		result = object{}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(result, key)
		case object:
			inner, _ := result[key].(object)
			result[key] = merged(inner, value)
		default:
			result[key] = value
		}
	}
	return result
}

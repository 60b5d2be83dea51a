// Command audit-reader reads an audit log with the libraries and in the steps of audit2rbac: each line becomes a map, the map an event of
// the Go type, and the events of one user are kept. It writes no roles.
//
//	audit-reader LOG USER
//
// Prints the number of different requests of the user.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// request is a request without its time.
type request struct {
	verb, group, resource, subresource, namespace, name, path string
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: audit-reader LOG USER")
		os.Exit(2)
	}
	count, err := run(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println(count)
}

// run decodes and converts in two goroutines.
func run(path, user string) (int, error) {
	log, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	objects := make(chan *unstructured.Unstructured)
	var failed error
	go func() {
		defer close(objects)
		failed = decode(log, objects)
	}()
	found := map[request]bool{}
	for object := range objects {
		event := &auditv1.Event{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, event); err != nil {
			return 0, err
		}
		if userOf(event) == user {
			found[requestOf(event)] = true
		}
	}
	return len(found), failed
}

// decode sends each object of the log.
func decode(log io.Reader, objects chan<- *unstructured.Unstructured) error {
	decoder := json.NewDecoder(bufio.NewReader(log))
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		objects <- object
	}
}

func userOf(event *auditv1.Event) string {
	if event.ImpersonatedUser != nil {
		return event.ImpersonatedUser.Username
	}
	return event.User.Username
}

func requestOf(event *auditv1.Event) request {
	reference := event.ObjectRef
	if reference == nil {
		return request{verb: event.Verb, path: event.RequestURI}
	}
	return request{event.Verb, reference.APIGroup, reference.Resource, reference.Subresource, reference.Namespace, reference.Name, ""}
}

package paths

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// A listener is an HTTPS server on loopback that the API server calls.
type listener struct {
	port int
	// bundle is the certificate authority of the listener, as a webhook configuration has it.
	bundle string
	close  func()

	lock     sync.Mutex
	received []string
}

// listen starts a server with a certificate of the authority.
func listen(authority *authority, handle func(*listener, http.ResponseWriter, *http.Request)) (*listener, error) {
	pair, err := newKey()
	if err != nil {
		return nil, err
	}
	certificate, err := authority.sign(pkix.Name{CommonName: "localhost"}, &pair.key.PublicKey)
	if err != nil {
		return nil, err
	}
	own, err := tls.X509KeyPair(certificate, pair.pem)
	if err != nil {
		return nil, err
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.certificate.Raw})
	l := &listener{
		port:   socket.Addr().(*net.TCPAddr).Port,
		bundle: base64.StdEncoding.EncodeToString(root),
	}
	// The streams of exec need the upgrade of HTTP/1.1.
	settings := &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"http/1.1"}}
	server := &http.Server{Handler: http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) { handle(l, out, in) })}
	go server.Serve(tls.NewListener(socket, settings))
	l.close = func() { server.Close() }
	return l, nil
}

func (l *listener) record(text string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.received = append(l.received, text)
}

// heard reports whether a request contained a text.
func (l *listener) heard(text string) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, received := range l.received {
		if strings.Contains(received, text) {
			return true
		}
	}
	return false
}

// serveKubelet stands for the kubelets of all nodes: a command in a container prints the token that is mounted there.
func serveKubelet(ctx context.Context, server *server, authority *authority) (*listener, error) {
	return listen(authority, func(l *listener, out http.ResponseWriter, in *http.Request) {
		words := strings.Split(strings.Trim(in.URL.Path, "/"), "/")
		if len(words) != 4 || words[0] != "exec" {
			http.NotFound(out, in)
			return
		}
		token, err := server.tokenOf(ctx, words[1], words[2])
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		l.record(in.URL.Path)
		connection, _, err := out.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		fmt.Fprintf(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n%s", in.Header.Get("Upgrade"), token)
	})
}

// serveWebhook stands for a webhook of an attacker: it records every object, adds a subject to every new
// ClusterRoleBinding, and rejects every other object.
func serveWebhook(authority *authority, subject object) (*listener, error) {
	return listen(authority, func(l *listener, out http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		review := object{}
		if err != nil || json.Unmarshal(body, &review) != nil {
			http.Error(out, "no AdmissionReview", http.StatusBadRequest)
			return
		}
		l.record(string(body))
		response := object{"uid": at(review, "request", "uid"), "allowed": false, "status": object{"message": "rejected by the attacker"}}
		if at(review, "request", "kind", "kind") == "ClusterRoleBinding" {
			change, err := json.Marshal([]any{object{"op": "add", "path": "/subjects/-", "value": subject}})
			if err != nil {
				http.Error(out, err.Error(), http.StatusInternalServerError)
				return
			}
			response = object{"uid": at(review, "request", "uid"), "allowed": true, "patchType": "JSONPatch",
				"patch": base64.StdEncoding.EncodeToString(change)}
		}
		out.Header().Set("Content-Type", plain)
		json.NewEncoder(out).Encode(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
	})
}

// serveGroup stands for the server of an attacker that answers for an API group: it records every request, and returns
// the objects that it gets.
func serveGroup(authority *authority) (*listener, error) {
	return listen(authority, func(l *listener, out http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			return
		}
		l.record(in.Method + " " + in.URL.Path + " " + string(body))
		out.Header().Set("Content-Type", plain)
		if len(body) == 0 {
			json.NewEncoder(out).Encode(object{"kind": "APIResourceList", "apiVersion": "v1",
				"groupVersion": "orders.example.org/v1", "resources": []any{}})
			return
		}
		out.WriteHeader(http.StatusCreated)
		out.Write(body)
	})
}

// addNodes creates nodes whose kubelets listen on a port of loopback.
func (s *server) addNodes(ctx context.Context, port int, names ...string) error {
	for _, name := range names {
		node := object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name}}
		if _, err := s.admin.must(ctx, post("/api/v1/nodes", node)); err != nil {
			return err
		}
		status := object{"status": object{
			"addresses":       []any{object{"type": "InternalIP", "address": "127.0.0.1"}},
			"daemonEndpoints": object{"kubeletEndpoint": object{"Port": port}},
		}}
		if _, err := s.admin.must(ctx, patch("/api/v1/nodes/"+name+"/status", status)); err != nil {
			return err
		}
	}
	return nil
}

// address returns the URL of a listener.
func (l *listener) address() string { return "https://localhost:" + strconv.Itoa(l.port) }

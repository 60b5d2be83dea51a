package paths

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// crown is a Secret within reach of administrators alone.
const (
	crown      = "/api/v1/namespaces/kube-system/secrets/crown"
	crownValue = "the crown"
)

// A walk is one path in one world.
type walk struct {
	context.Context
	*stage
	authority *authority
	kubelet   *listener
	webhook   *listener
	group     *listener
	mallory   *caller
}

func url(namespace, rest string) string { return "/api/v1/namespaces/" + namespace + "/" + rest }

func rbac(rest string) string { return "/apis/rbac.authorization.k8s.io/v1/" + rest }

// try sends a request as the attacker, and returns the refusal.
func (w *walk) try(request request) error {
	_, err := w.mallory.must(w, request)
	return err
}

// denied sends a request as the attacker that both worlds refuse.
func (w *walk) denied(request request) error {
	err := w.try(request)
	if _, is := isRefusal(err); is {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s: %s: passes, and no world shall let it pass", w.mallory.name, request)
	}
	return err
}

// takesCrown reads the Secret of the administrators with credentials.
func (w *walk) takesCrown(caller *caller) error { return w.takesCrownBy(caller, get(crown)) }

func (w *walk) takesCrownBy(caller *caller, request request) error {
	held, err := caller.must(w, request)
	if err != nil {
		return err
	}
	if text, err := base64.StdEncoding.DecodeString(at(held, "data", "crown")); err != nil || string(text) != crownValue {
		return fmt.Errorf("%s: %s gives another Secret", caller.name, request)
	}
	return nil
}

// takesCrownByToken reads the Secret of the administrators with a token.
func (w *walk) takesCrownByToken(token string) error {
	caller, err := w.bearingToken("the token", token)
	if err != nil {
		return err
	}
	return w.takesCrown(caller)
}

// takesCrownByPod reads it with the token that a kubelet mounts into a pod.
func (w *walk) takesCrownByPod(namespace, pod string) error {
	token, err := w.tokenOf(w, namespace, pod)
	if err != nil {
		return err
	}
	return w.takesCrownByToken(token)
}

// takesNode uses the credentials that the kubelet of a node keeps in a file there.
func (w *walk) takesNode(name string) (*caller, error) {
	kubelet, err := w.certified(w.authority, "system:node:"+name, "system:nodes")
	if err != nil {
		return nil, err
	}
	_, err = kubelet.must(w, get("/api/v1/nodes/"+name))
	return kubelet, err
}

// takesCrownFromNode requests a token of the strong account as a node, for a pod there.
func (w *walk) takesCrownFromNode(kubelet *caller) error {
	held, err := w.admin.must(w, get(url("vault", "pods/keeper")))
	if err != nil {
		return err
	}
	given, err := kubelet.must(w, tokenRequest("vault", "boss", held))
	if err != nil {
		return err
	}
	return w.takesCrownByToken(at(given, "status", "token"))
}

// takesCrownAfterWrite reads it as the attacker, after the authorizer has seen a write.
func (w *walk) takesCrownAfterWrite() error {
	if err := w.heeded(w); err != nil {
		return err
	}
	return w.takesCrown(w.mallory)
}

// awaitsToken waits until the controller has put a token into a Secret, and reads it as a caller.
func (w *walk) awaitsToken(caller *caller, secret string) (string, error) {
	var token []byte
	err := await("token in "+secret, func() (bool, error) {
		held, err := caller.must(w, get(secret))
		if err != nil {
			return false, err
		}
		token, err = base64.StdEncoding.DecodeString(at(held, "data", "token"))
		return len(token) > 0, err
	})
	return string(token), err
}

// passes sends a request as the attacker until the admission lets it pass, and returns the refusal of the authorizer.
func (w *walk) passes(request request) error {
	return await("admission of "+request.String(), func() (bool, error) {
		given, err := w.mallory.send(w, request)
		return given.passed(), err
	})
}

// served waits until the server serves a URL.
func (w *walk) served(url string) error {
	return await("service of "+url, func() (bool, error) {
		given, err := w.admin.send(w, get(url))
		return given.status == http.StatusOK, err
	})
}

// isTrue reports whether a condition of an object is true.
func isTrue(held object, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(held, "status", "conditions")
	for _, condition := range conditions {
		if condition, is := condition.(object); is && at(condition, "type") == kind && at(condition, "status") == "True" {
			return true
		}
	}
	return false
}

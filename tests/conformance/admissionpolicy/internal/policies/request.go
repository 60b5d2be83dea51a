package policies

import (
	"bailiwick.dev/conformance/admissionpolicy/internal/protocol"
)

// request makes one about an object of no certain shape, most often one that the rules of the policy mean.
func (m *maker) request() *protocol.Request {
	request := &protocol.Request{
		User: m.one("u", "system:serviceaccount:a:default"), Groups: []string{"g", "system:authenticated"},
		Operation: m.one("CREATE", "CREATE", "UPDATE", "UPDATE", "DELETE"), Group: m.one("", "example.com"), Version: "v1",
		Resource: m.one("widgets", "widgets", "widgets", "things"), Kind: "Widget", Namespace: "a", Name: m.one("x", "y", "x", ""),
		DryRun: m.IntN(4) == 0,
	}
	if m.IntN(3) == 0 {
		request.Extra = map[string][]string{"k": {"one", "two"}, "other": {}}
	}
	if m.IntN(4) == 0 {
		request.Groups = nil
	}
	if m.IntN(8) == 0 {
		request.Subresource = "status"
	}
	if m.IntN(6) == 0 {
		request.Namespace = ""
	}
	if request.Operation != "DELETE" {
		request.Object = m.object(request)
	}
	if request.Operation != "CREATE" {
		request.OldObject = m.object(request)
	}
	return request
}

func (m *maker) object(request *protocol.Request) map[string]any {
	version := request.Version
	if request.Group != "" {
		version = request.Group + "/" + version
	}
	object := m.fields(3)
	object["apiVersion"], object["kind"] = version, request.Kind
	metadata := map[string]any{"name": request.Name}
	if m.IntN(2) == 0 {
		metadata["labels"] = map[string]any{"k": m.one("v", "w")}
	}
	object["metadata"] = metadata
	if m.IntN(4) > 0 {
		object["spec"] = m.fields(2)
	}
	return object
}

func (m *maker) fields(depth int) map[string]any {
	fields := map[string]any{}
	for _, name := range []string{"a", "b", "c", "k", "list", "labels", "num", "half", "text", "flag", "none", "deep"} {
		if m.IntN(3) == 0 {
			continue
		}
		switch name {
		case "num":
			fields[name] = m.IntN(12) - 2
		case "half":
			fields[name] = []any{0.5, 1.5, 1, 2.25}[m.IntN(4)]
		case "text":
			fields[name] = m.one("abc", "a-b", "", "12", "äö", "a\nb")
		case "flag":
			fields[name] = m.IntN(3) > 0
		case "none":
			fields[name] = nil
		case "labels":
			fields[name] = map[string]any{"k": "v", "l": m.one("v", "w")}
		case "list":
			fields[name] = [][]any{{1, 2, 3}, {"a", "b"}, {}, {map[string]any{"a": 1}, map[string]any{"a": "x"}}, {1, "a", nil, 0.5}}[m.IntN(5)]
		default:
			fields[name] = m.value(depth)
		}
	}
	return fields
}

func (m *maker) value(depth int) any {
	switch m.IntN(7) {
	case 0:
		return m.IntN(5)
	case 1:
		return m.one("a", "v", "abc", "")
	case 2:
		return m.IntN(2) == 0
	case 3:
		return 0.5
	case 4:
		return []any{m.IntN(3), "a"}
	default:
		if depth <= 0 {
			return 1
		}
		return m.fields(depth - 1)
	}
}

// home makes the namespace that requests are in.
func (m *maker) home() map[string]any {
	metadata := map[string]any{"name": "a"}
	if m.IntN(3) > 0 {
		metadata["labels"] = map[string]any{"k": m.one("v", "w"), "kubernetes.io/metadata.name": "a"}
	}
	if m.IntN(3) > 0 {
		metadata["annotations"] = map[string]any{"k": "w", "bailiwick.dev/uid": m.one("50001", "50001", "x", "")}
	}
	namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
	if m.IntN(2) == 0 {
		namespace["spec"] = map[string]any{"finalizers": []any{"kubernetes"}}
		namespace["status"] = map[string]any{"phase": "Active"}
	}
	return namespace
}

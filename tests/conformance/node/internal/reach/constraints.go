package reach

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// What nodes are labelled with, and pods ask about. Some numbers are none, or are not of 64 bits.
var (
	labelKeys = []string{"pool", "size", "example.com/zone", "gpu"}
	values    = map[string][]string{
		"pool":             {"web", "db", ""},
		"size":             {"1", "3", "3", "7", "7", "7", "07", "10", "9223372036854775807", "9223372036854775808", "x", "1.5", ""},
		"example.com/zone": {"a", "b"},
		"gpu":              {"", "true"},
		"nobody":           {"", "a"},
	}
	taintKeys   = []string{"dedicated", "example.com/gpu"}
	taintValues = []string{"", "db", "web", "5"}
	effects     = []string{"NoSchedule", "NoExecute", "PreferNoSchedule"}
	// daemonTaints are those that pods of DaemonSets tolerate by themselves, which are the first seven, and some that only look
	// like them.
	daemonTaints = []string{
		"node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/disk-pressure:NoSchedule",
		"node.kubernetes.io/memory-pressure:NoSchedule", "node.kubernetes.io/pid-pressure:NoSchedule",
		"node.kubernetes.io/unschedulable:NoSchedule", "node.kubernetes.io/network-unavailable:NoSchedule",
		"node.kubernetes.io/network-unavailable:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule",
		"node.kubernetes.io/disk-pressure:NoExecute", "node.kubernetes.io/out-of-service:NoExecute",
		"node.cloudprovider.kubernetes.io/uninitialized:NoSchedule", "node-role.kubernetes.io/control-plane:NoSchedule",
	}
)

// maker makes one cluster.
type maker struct {
	*rand.Rand
	objects []any
	serial  int
}

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

func (m *maker) pick(from ...string) string { return from[m.IntN(len(from))] }

// taint is one as a node has it.
func (m *maker) taint() Object {
	key, effect := m.pick(taintKeys...), m.pick(effects...)
	if m.chance(50) {
		key, effect, _ = strings.Cut(m.pick(daemonTaints...), ":")
	}
	taint := Object{"key": key, "effect": effect}
	if value := m.pick(taintValues...); value != "" || m.chance(30) {
		taint["value"] = value
	}
	return taint
}

// toleration is one that fits some taint more or less. Everything may be left out of it.
func (m *maker) toleration() Object {
	toleration := m.taint()
	delete(toleration, "value")
	switch {
	case m.chance(35):
		delete(toleration, "effect")
	case m.chance(10):
		toleration["effect"] = ""
	}
	switch {
	case m.chance(12):
		delete(toleration, "key")
	case m.chance(5):
		toleration["key"] = ""
	}
	if operator := m.pick("Exists", "Exists", "Equal", "", "none"); operator != "none" {
		toleration["operator"] = operator
	}
	if toleration["operator"] != "Exists" && m.chance(75) {
		toleration["value"] = m.pick(taintValues...)
	}
	if toleration["effect"] == "NoExecute" && m.chance(40) {
		toleration["tolerationSeconds"] = 300
	}
	return toleration
}

// requirement is one about a label.
func (m *maker) requirement() Object {
	key, operator := m.pick(append(labelKeys, "size", "nobody")...), m.pick("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
	if operator == "Gt" || operator == "Lt" {
		key = m.pick("size", "size", "size", "size", "size", "size", "pool", "nobody")
	}
	requirement := Object{"key": key, "operator": operator}
	switch operator {
	case "In", "NotIn":
		list := []any{}
		for range 1 + m.IntN(3) {
			list = append(list, m.pick(values[key]...))
		}
		requirement["values"] = list
	case "Gt", "Lt":
		requirement["values"] = []any{m.pick(values["size"]...)}
	}
	return requirement
}

// field is a requirement about the name of the node.
func (m *maker) field() Object {
	return Object{"key": "metadata.name", "operator": m.pick("In", "NotIn"), "values": []any{m.pick(nodeNames...)}}
}

// term is one of a required affinity. Some say nothing, in one way or another.
func (m *maker) term() Object {
	term := Object{}
	if m.chance(80) {
		list := []any{}
		for range m.IntN(10) / 4 {
			list = append(list, m.requirement())
		}
		term["matchExpressions"] = list
	}
	if m.chance(20) {
		list := []any{}
		for range m.IntN(10) / 4 {
			list = append(list, m.field())
		}
		term["matchFields"] = list
	}
	return term
}

// affinity is that of a pod: about nodes, required, preferred, or neither.
func (m *maker) affinity() Object {
	about := Object{}
	if m.chance(85) {
		terms := []any{}
		for range m.IntN(11) / 3 {
			terms = append(terms, m.term())
		}
		about["requiredDuringSchedulingIgnoredDuringExecution"] = Object{"nodeSelectorTerms": terms}
	}
	if m.chance(20) {
		about["preferredDuringSchedulingIgnoredDuringExecution"] = []any{Object{"weight": 1, "preference": m.term()}}
	}
	if m.chance(5) {
		return Object{}
	}
	return Object{"nodeAffinity": about}
}

// constrain says in the spec of a pod where it may go.
func (m *maker) constrain(spec Object) {
	if m.chance(60) {
		list := []any{}
		for range 1 + m.IntN(4) {
			list = append(list, m.toleration())
		}
		if m.chance(20) {
			list = append(list, Object{"operator": "Exists"})
		}
		spec["tolerations"] = list
	}
	if m.chance(25) {
		key := m.pick(append(labelKeys, "kubernetes.io/hostname")...)
		spec["nodeSelector"] = Object{key: m.pick(append(values[key], nodeNames[0])...)}
		if m.chance(20) {
			key := m.pick(labelKeys...)
			spec["nodeSelector"].(Object)[key] = m.pick(values[key]...)
		}
	}
	if m.chance(45) {
		spec["affinity"] = m.affinity()
	}
	if m.chance(35) {
		spec["hostNetwork"] = m.chance(80)
	}
}

// node is one with labels and taints.
func (m *maker) node(name string) Object {
	labels := Object{"kubernetes.io/hostname": name}
	for _, key := range labelKeys {
		if m.chance(60) {
			labels[key] = m.pick(values[key]...)
		}
	}
	node := Object{"apiVersion": "v1", "kind": "Node", "metadata": Object{"name": name, "labels": labels}}
	if m.chance(5) {
		node["metadata"] = Object{"name": name}
	}
	taints, seen := []any{}, map[string]bool{}
	for range m.IntN(4) * m.IntN(3) / 2 {
		taint := m.taint()
		// No two of a node have the same key and effect.
		if id := fmt.Sprint(taint["key"], taint["effect"]); !seen[id] {
			seen[id] = true
			taints = append(taints, taint)
		}
	}
	if len(taints) > 0 || m.chance(20) {
		node["spec"] = Object{"taints": taints}
	}
	return node
}

// Package reach holds what a program says about the Secrets and accounts that come to nodes against what Kubernetes' own
// code says: the controller of DaemonSets, the filters of the scheduler and the Node authorizer.
package reach

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"bailiwick.dev/conformance/node/internal/worlds"
)

// Object is JSON.
type Object = worlds.Object

// Version is the only release that is asked: nothing in it differs between releases but how tolerations compare, which is off.
const Version = "1.36"

var (
	nodeNames  = []string{"n1", "n2", "n3", "n4"}
	namespaces = []string{"a", "b"}
	// kinds bring pods; the daemons more often, since they have more rules.
	kinds = []string{"DaemonSet", "DaemonSet", "DaemonSet", "Deployment", "Deployment", "StatefulSet", "Job", "CronJob", "ReplicaSet",
		"ReplicationController", "Pod", "Pod"}
	groups = map[string]string{"DaemonSet": "apps/v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1",
		"Job": "batch/v1", "CronJob": "batch/v1", "Pod": "v1", "ReplicationController": "v1"}
)

const mirrorKey = "kubernetes.io/config.mirror"

// Random makes a question about a random cluster. The names of its Secrets begin with what brings them.
func Random(random *rand.Rand) Object {
	m := &maker{Rand: random}
	for _, name := range nodeNames {
		if m.chance(85) {
			m.add(m.node(name))
		}
	}
	for range 4 + m.IntN(8) {
		m.workload()
	}
	for range m.IntN(4) {
		m.bound()
	}
	m.Shuffle(len(m.objects), func(i, j int) { m.objects[i], m.objects[j] = m.objects[j], m.objects[i] })
	return Object{"version": Version, "objects": m.objects}
}

func (m *maker) add(object Object) { m.objects = append(m.objects, object) }

// secret is a new one of whatever has this name, or rarely one that others have too.
func (m *maker) secret(of string) string {
	m.serial++
	if m.chance(5) {
		return "shared"
	}
	return fmt.Sprintf("%s-secret-%d", of, m.serial)
}

// spec is that of a pod which names a Secret of its own in one way or another.
func (m *maker) spec(kind, namespace, name string) Object {
	main := Object{"name": "main", "image": "i"}
	spec := Object{"containers": []any{main}}
	secret := m.secret(name)
	volume := func(source string, details Object) { spec["volumes"] = []any{Object{"name": "v", source: details}} }
	switch m.IntN(10) {
	case 0:
		main["env"] = []any{Object{"name": "E", "valueFrom": Object{"secretKeyRef": Object{"name": secret, "key": "k"}}}}
	case 1:
		main["envFrom"] = []any{Object{"secretRef": Object{"name": secret}}}
	case 2:
		spec["imagePullSecrets"] = []any{Object{"name": secret}}
	case 3:
		volume("projected", Object{"sources": []any{Object{"secret": Object{"name": secret}}}})
	case 4:
		m.volume(namespace, name+"-claim", secret)
		volume("persistentVolumeClaim", Object{"claimName": name + "-claim"})
	case 5:
		m.volume(namespace, madeName(kind, name)+"-v", m.secret(name+"-made"))
		volume("ephemeral", Object{"volumeClaimTemplate": Object{"spec": Object{"accessModes": []any{"ReadWriteOnce"}}}})
		spec["imagePullSecrets"] = []any{Object{"name": secret}}
	default:
		volume("secret", Object{"secretName": secret})
	}
	switch m.IntN(5) {
	case 0:
		spec["serviceAccountName"] = m.pick("default", "shared")
	case 1:
		spec["serviceAccountName"] = name
	case 2:
		spec["serviceAccount"] = name
	}
	return spec
}

// madeName is what a controller calls a pod of its own, about which the real code and this program have to agree.
func madeName(kind, name string) string {
	switch kind {
	case "Pod":
		return name
	case "StatefulSet":
		return name + "-0"
	case "Deployment":
		return name + "-5d9c7b8f6d-x2x4z"
	case "CronJob":
		return name + "-29000000-x2x4z"
	}
	return name + "-x2x4z"
}

// volume adds a claim with a volume whose driver needs a Secret on the node.
func (m *maker) volume(namespace, claim, secret string) {
	name := "pv-" + namespace + "-" + claim
	m.add(Object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": Object{"namespace": namespace, "name": claim},
		"spec": Object{"volumeName": name}})
	m.add(Object{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": Object{"name": name}, "spec": Object{
		"claimRef": Object{"namespace": namespace, "name": claim},
		"csi": Object{"driver": "d", "volumeHandle": "h", m.pick("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"): Object{
			"namespace": namespace, "name": secret}},
	}})
}

// workload adds something that brings pods.
func (m *maker) workload() {
	kind, namespace := m.pick(kinds...), m.pick(namespaces...)
	m.serial++
	name := fmt.Sprintf("%s-%d", strings.ToLower(kind), m.serial)
	spec := m.spec(kind, namespace, name)
	m.constrain(spec)
	if kind != "Pod" && m.chance(12) {
		spec["nodeName"] = m.pick(append(nodeNames, "n9")...)
	}
	object := Object{"apiVersion": groups[kind], "kind": kind, "metadata": Object{"namespace": namespace, "name": name}}
	template := Object{"metadata": Object{"labels": Object{"app": name}}, "spec": spec}
	whole := Object{"template": template, "selector": Object{"matchLabels": Object{"app": name}}}
	switch kind {
	case "Pod":
		whole = spec
	case "ReplicationController":
		whole["selector"] = Object{"app": name}
	case "Job":
		delete(whole, "selector")
	case "CronJob":
		whole = Object{"schedule": "@daily", "jobTemplate": Object{"spec": Object{"template": template}}}
	case "StatefulSet":
		whole["serviceName"] = "s"
		if m.chance(40) {
			whole["volumeClaimTemplates"] = []any{Object{"metadata": Object{"name": "data"}, "spec": Object{}}}
			m.volume(namespace, fmt.Sprintf("data-%s-%d", name, m.IntN(2)), m.secret(name+"-made"))
		}
	}
	object["spec"] = whole
	m.add(object)
}

// bound adds a pod that has a node, wherever else it might have gone.
func (m *maker) bound() {
	namespace := m.pick(namespaces...)
	m.serial++
	state := m.pick("running", "running", "finished", "mirror")
	name := fmt.Sprintf("%s-%d", state, m.serial)
	spec := m.spec("Pod", namespace, name)
	m.constrain(spec)
	spec["nodeName"] = m.pick(append(nodeNames, "n9")...)
	pod := Object{"apiVersion": "v1", "kind": "Pod", "metadata": Object{"namespace": namespace, "name": name}, "spec": spec}
	switch state {
	case "finished":
		pod["status"] = Object{"phase": m.pick("Succeeded", "Failed")}
	case "mirror":
		pod["metadata"].(Object)["annotations"] = Object{mirrorKey: m.pick("hash", "")}
	}
	m.add(pod)
}

package nodes

import (
	"fmt"
	"net/http"
)

// mirror is the annotation of pods that stand for a file on a node.
const mirror = "kubernetes.io/config.mirror"

// A draft is a pod that is being made.
type draft struct {
	*inventory
	namespace, name, node string
	// isMirror pods may refer to little.
	isMirror bool
	spec     object
	status   object
}

func (d *draft) refer(resource, name string) {
	if d.node != "" {
		d.inventory.refer(resource, d.namespace, name, d.node)
	}
}

func (i *inventory) pods() []deed {
	var deeds []deed
	for number := range nodeCount * podsPerNode {
		deeds = append(deeds, i.pod(number))
	}
	return deeds
}

// pod makes a random pod: most are bound to a node from the beginning, and some are bound later, as by a scheduler.
func (i *inventory) pod(number int) deed {
	d := &draft{
		inventory: i, namespace: i.one(crowded...), name: fmt.Sprintf("pod-%d", number), node: i.nodes[number%nodeCount],
		isMirror: i.chance(8), spec: object{}, status: object{},
	}
	isLate := !d.isMirror && i.chance(10)
	isUnbound := !d.isMirror && !isLate && i.chance(8)
	metadata := object{"name": d.name, "namespace": d.namespace, "labels": object{"app": "crowd"}}
	if d.isMirror {
		metadata["annotations"] = object{mirror: "hash"}
	}
	if isUnbound {
		d.node = ""
	}
	d.refer("pods", d.name)
	if d.node != "" && !isLate {
		d.spec["nodeName"] = d.node
	}
	d.fill()
	if isLate && i.chance(40) {
		// A scheduler says this before it binds the pod: the authorizer of the server would not look at it later.
		d.status["extendedResourceClaimStatus"] = object{
			"resourceClaimName": d.refersTo("device"),
			"requestMappings":   []any{object{"containerName": "main", "resourceName": "example.org/device", "requestName": "request-0"}},
		}
	}
	url := "/api/v1/namespaces/" + d.namespace + "/pods"
	own := url + "/" + d.name
	made := create(url, "Pod", object{"metadata": metadata, "spec": d.spec})
	if !d.isMirror && d.node != "" && i.chance(15) {
		d.status["phase"] = i.one("Succeeded", "Failed")
	}
	if len(d.status) > 0 {
		made.after = append(made.after, request{http.MethodPatch, own + "/status", mergePatch, object{"status": d.status}})
	}
	if isLate {
		made.after = append(made.after, request{http.MethodPost, own + "/binding", plain, object{
			"apiVersion": "v1", "kind": "Binding", "metadata": named(d.name),
			"target": object{"apiVersion": "v1", "kind": "Node", "name": d.node},
		}})
	}
	if !d.isMirror && d.node != "" && i.chance(8) {
		container := d.container("late")
		made.after = append(made.after, request{http.MethodPatch, own + "/ephemeralcontainers", mergePatch, object{"spec": object{"ephemeralContainers": []any{container}}}})
	}
	switch {
	case i.chance(4):
		// Gone for good, and with it what it opened.
		made.after = append(made.after, request{http.MethodDelete, own + "?gracePeriodSeconds=0", "", nil})
	case i.chance(4):
		// Waits for its kubelet, so that it is still there.
		made.after = append(made.after, request{http.MethodDelete, own, "", nil})
	}
	return made
}

func (d *draft) fill() {
	containers := []any{d.container("main")}
	if d.chance(30) {
		containers = append(containers, d.container("beside"))
	}
	d.spec["containers"] = containers
	containers[0].(object)["resources"] = object{"limits": object{"example.org/device": "1"}}
	if d.chance(20) {
		d.spec["initContainers"] = []any{d.container("before")}
	}
	volumes := []any{}
	for number := range d.random.IntN(4) {
		volume := d.volume(fmt.Sprintf("v%d", number))
		volume["name"] = fmt.Sprintf("v%d", number)
		volumes = append(volumes, volume)
	}
	d.spec["volumes"] = volumes
	if d.isMirror {
		return
	}
	if d.chance(60) {
		d.spec["serviceAccountName"] = d.one(accountNames...)
		d.refer("serviceaccounts", d.spec["serviceAccountName"].(string))
	}
	if d.chance(50) {
		d.spec["automountServiceAccountToken"] = false
	}
	if d.chance(15) {
		d.spec["imagePullSecrets"] = []any{named(d.secret())}
	}
	d.claimDevices()
}

// claimDevices names resource claims, or templates of which a controller has made claims already.
func (d *draft) claimDevices() {
	claims, statuses := []any{}, []any{}
	if d.chance(20) {
		name := d.refersTo("device")
		claims = append(claims, object{"name": "direct", "resourceClaimName": name})
	}
	if d.chance(20) {
		claims = append(claims, object{"name": "generated", "resourceClaimTemplateName": "template"})
		switch d.random.IntN(3) {
		case 0:
			statuses = append(statuses, object{"name": "generated", "resourceClaimName": d.refersTo("device")})
		case 1:
			statuses = append(statuses, object{"name": "generated"})
		}
	}
	if len(claims) > 0 {
		d.spec["resourceClaims"] = claims
	}
	if len(statuses) > 0 {
		d.status["resourceClaimStatuses"] = statuses
	}
}

// refersTo is of an object that the pod comes to refer to.
func (d *draft) refersTo(kind string) string {
	name := d.inventory.name(kind)
	d.refer(map[string]string{"secret": "secrets", "map": "configmaps", "claim": "persistentvolumeclaims", "device": "resourceclaims"}[kind], name)
	return name
}

func (d *draft) secret() string { return d.refersTo("secret") }

func (d *draft) container(name string) object {
	made := object{"name": name, "image": "registry.example.org/crowd:1"}
	variables, sources := []any{}, []any{}
	if d.chance(25) && !d.isMirror {
		variables = append(variables, object{"name": "A", "valueFrom": object{"secretKeyRef": object{"name": d.secret(), "key": "k"}}})
	}
	if d.chance(25) {
		variables = append(variables, object{"name": "B", "valueFrom": object{"configMapKeyRef": object{"name": d.refersTo("map"), "key": "k"}}})
	}
	if d.chance(15) && !d.isMirror {
		sources = append(sources, object{"secretRef": named(d.secret())})
	}
	if d.chance(15) {
		sources = append(sources, object{"configMapRef": named(d.refersTo("map"))})
	}
	made["env"], made["envFrom"] = variables, sources
	return made
}

// volume makes a source of every kind. Those of a mirror pod name no secret and no account.
func (d *draft) volume(name string) object {
	if d.isMirror {
		switch d.random.IntN(3) {
		case 0:
			return object{"configMap": named(d.refersTo("map"))}
		case 1:
			return object{"persistentVolumeClaim": object{"claimName": d.refersTo("claim")}}
		}
		return object{"hostPath": object{"path": "/var"}}
	}
	reference := func() object { return named(d.secret()) }
	switch d.random.IntN(16) {
	case 0, 1:
		return object{"secret": object{"secretName": d.secret()}}
	case 2:
		return object{"configMap": named(d.refersTo("map"))}
	case 3, 4:
		return object{"persistentVolumeClaim": object{"claimName": d.refersTo("claim")}}
	case 5:
		d.refer("persistentvolumeclaims", d.name+"-"+name)
		return object{"ephemeral": object{"volumeClaimTemplate": object{"spec": object{
			"accessModes": []any{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "1Gi"}},
		}}}}
	case 6:
		csi := object{"driver": fmt.Sprintf("driver-%d.example.org", d.random.IntN(4))}
		if d.chance(60) {
			csi["nodePublishSecretRef"] = reference()
		}
		return object{"csi": csi}
	case 7:
		return object{"azureFile": object{"secretName": d.secret(), "shareName": "share"}}
	case 8:
		return object{"cephfs": object{"monitors": []any{"192.0.2.1"}, "secretRef": reference()}}
	case 9:
		return object{"flexVolume": object{"driver": "example.org/flex", "secretRef": reference()}}
	case 10:
		return object{"rbd": object{"monitors": []any{"192.0.2.1"}, "image": "disk", "secretRef": reference()}}
	case 11:
		return object{"iscsi": object{
			"targetPortal": "192.0.2.1:3260", "iqn": "iqn.2001-04.com.example:storage", "lun": int64(0), "chapAuthSession": true, "secretRef": reference(),
		}}
	case 12:
		return object{"emptyDir": object{}}
	}
	return object{"projected": object{"sources": []any{
		object{"secret": named(d.secret())}, object{"configMap": named(d.refersTo("map"))},
		object{"serviceAccountToken": object{"path": "token", "audience": d.one("vault", "bank", "mint")}},
	}}}
}

// Package worlds makes random small clusters, and what nodes may or may not do in them.
package worlds

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"

	authv1 "k8s.io/api/authentication/v1"
	certsv1 "k8s.io/api/certificates/v1"
	certsv1beta1 "k8s.io/api/certificates/v1beta1"
	coordv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Object is JSON.
type Object = map[string]any

// Item is one thing that is asked, and how it came about.
type Item struct {
	Body Object
	// Recipe is what was made, and Changes what was done to it then.
	Recipe  string
	Changes []string
}

// Sorts are the three things that can be asked, under the names they have in a question.
var Sorts = []string{"requests", "admission", "validation"}

// World is a cluster with everything that is asked about it.
type World struct {
	Version string
	Gates   map[string]bool
	Objects []Object
	// Items are by their sort.
	Items map[string][]Item
}

// Body is a world as it is asked about.
func (w *World) Body() Object {
	body := Object{"version": w.Version, "openshift": false, "objects": w.Objects}
	if len(w.Gates) > 0 {
		body["gates"] = w.Gates
	}
	for _, sort := range Sorts {
		bodies := []Object{}
		for _, item := range w.Items[sort] {
			bodies = append(bodies, item.Body)
		}
		body[sort] = bodies
	}
	return body
}

// Size is how much is asked.
func (w *World) Size() int {
	size := 0
	for _, items := range w.Items {
		size += len(items)
	}
	return size
}

// Names.
var (
	nodeNames  = []string{"n1", "n2", "n3"}
	namespaces = []string{"a", "b", "kube-system"}
)

// link is an object that a node might be led to.
type link struct {
	edge, group, resource, namespace, name, node string
	// leads tells whether the graph should lead from it to the node.
	leads bool
}

// builder makes one world.
type builder struct {
	*rand.Rand
	minor  int
	usual  map[string]bool
	gates  map[string]bool
	stored []any
	pods   []*corev1.Pod
	links  []link
	serial int
	// taken are names of drivers that a question in this world relies on.
	taken map[string]bool
}

// Random makes a world for a release, of which these gates can be changed.
func Random(random *rand.Rand, version string, usual map[string]bool) *World {
	b := &builder{Rand: random, minor: minorOf(version), usual: usual, gates: map[string]bool{}, taken: map[string]bool{}}
	b.chooseGates()
	b.cluster()
	world := &World{Version: version, Gates: b.gates, Items: map[string][]Item{}}
	for range 8 {
		world.Items["requests"] = append(world.Items["requests"], b.request())
	}
	for range 10 {
		world.Items["admission"] = append(world.Items["admission"], b.admission())
	}
	world.Items["validation"] = append(world.Items["validation"], b.validation())
	b.Shuffle(len(b.stored), func(i, j int) { b.stored[i], b.stored[j] = b.stored[j], b.stored[i] })
	for _, each := range b.stored {
		world.Objects = append(world.Objects, encode(each))
	}
	return world
}

// chooseGates changes some gates in a part of the worlds.
func (b *builder) chooseGates() {
	if b.chance(50) {
		return
	}
	for _, name := range sortedKeys(b.usual) {
		change := 12
		switch {
		case name == "AllowInsecureKubeletCertificateSigningRequests":
			change = 5
		case !b.usual[name]:
			// What is off has more to show when it is on.
			change = 50
		}
		if b.chance(change) {
			b.gates[name] = !b.usual[name]
		} else if b.chance(5) {
			b.gates[name] = b.usual[name]
		}
	}
}

// Gates are those that the compared code of a release may ask for.
func Gates(version string) []string {
	gates := []string{
		"AllowInsecureKubeletCertificateSigningRequests", "AuthorizeNodeWithSelectors", "CSINodeInfo", "ClusterTrustBundle",
		"DynamicKubeletConfig", "DynamicResourceAllocation", "KubeletServiceAccountTokenForCredentialProviders",
		"PodCertificateRequest", "RecoverVolumeExpansionFailure", "ServiceAccountNodeAudienceRestriction",
	}
	if minorOf(version) < 24 {
		// They are still there later, but decide nothing.
		gates = append(gates, "ExpandPersistentVolumes", "GenericEphemeralVolume")
	}
	return gates
}

// minorOf is the second number of a version.
func minorOf(version string) int {
	var minor int
	if _, err := fmt.Sscanf(version, "1.%d", &minor); err != nil {
		panic(err)
	}
	return minor
}

func (b *builder) chance(percent int) bool { return b.IntN(100) < percent }

func (b *builder) pick(from ...string) string { return from[b.IntN(len(from))] }

func (b *builder) fresh(prefix string) string {
	b.serial++
	return fmt.Sprintf("%s%d", prefix, b.serial)
}

// name is mostly a new one, so that what leads there is the only thing that does.
func (b *builder) name(prefix string) string {
	if b.chance(15) {
		return b.pick("shared", "tls")
	}
	return b.fresh(prefix)
}

func (b *builder) add(object any) { b.stored = append(b.stored, object) }

func (b *builder) drop(object any) {
	for index, each := range b.stored {
		if each == object {
			b.stored = append(b.stored[:index:index], b.stored[index+1:]...)
			return
		}
	}
}

func (b *builder) other(name string, from []string) string {
	for {
		if other := b.pick(from...); other != name {
			return other
		}
	}
}

func uid(kind, name string) types.UID { return types.UID("uid-" + kind + "-" + name) }

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func pointer[T any](value T) *T { return &value }

// encode is an object as JSON with its kind, and without what says nothing.
func encode(typed any) Object {
	version, kind := kindOf(typed)
	raw, err := json.Marshal(typed)
	if err != nil {
		panic(err)
	}
	object := Object{}
	if err := json.Unmarshal(raw, &object); err != nil {
		panic(err)
	}
	maps.DeleteFunc(object, func(_ string, value any) bool {
		part, ok := value.(Object)
		return ok && len(part) == 0
	})
	if metadata, ok := object["metadata"].(Object); ok {
		maps.DeleteFunc(metadata, func(_ string, value any) bool { return value == nil })
	}
	object["apiVersion"], object["kind"] = version, kind
	return object
}

func kindOf(typed any) (version, kind string) {
	switch typed.(type) {
	case *corev1.Node:
		return "v1", "Node"
	case *corev1.Pod:
		return "v1", "Pod"
	case *corev1.PersistentVolume:
		return "v1", "PersistentVolume"
	case *corev1.PersistentVolumeClaim:
		return "v1", "PersistentVolumeClaim"
	case *corev1.ServiceAccount:
		return "v1", "ServiceAccount"
	case *corev1.ConfigMap:
		return "v1", "ConfigMap"
	case *storagev1.VolumeAttachment:
		return "storage.k8s.io/v1", "VolumeAttachment"
	case *storagev1.CSIDriver:
		return "storage.k8s.io/v1", "CSIDriver"
	case *storagev1.CSINode:
		return "storage.k8s.io/v1", "CSINode"
	case *resourcev1.ResourceSlice:
		return "resource.k8s.io/v1", "ResourceSlice"
	case *coordv1.Lease:
		return "coordination.k8s.io/v1", "Lease"
	case *policyv1.Eviction:
		return "policy/v1", "Eviction"
	case *authv1.TokenRequest:
		return "authentication.k8s.io/v1", "TokenRequest"
	case *certsv1.CertificateSigningRequest:
		return "certificates.k8s.io/v1", "CertificateSigningRequest"
	case *certsv1beta1.PodCertificateRequest:
		return "certificates.k8s.io/v1beta1", "PodCertificateRequest"
	}
	panic(fmt.Sprintf("no kind for %T", typed))
}

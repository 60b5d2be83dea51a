package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
)

const (
	nodeCount   = 12
	podsPerNode = 60
	// referable is how many objects of each kind a namespace has that pods may refer to. Few enough that nodes share
	// some, and enough that no node reaches all.
	referable = 60
)

// crowded are the namespaces of the pods.
var crowded = []string{"crowd-a", "crowd-b", "crowd-c"}

// An inventory is what the server was filled with.
type inventory struct {
	random *rand.Rand
	nodes  []string
	// references are what a pod on a node names, or what names the node itself, for questions that are worth asking.
	references []reference
	slices     []string
}

// A reference leads to a node, directly or over other objects.
type reference struct{ resource, namespace, name, node string }

func (i *inventory) refer(resource, namespace, name, node string) {
	i.references = append(i.references, reference{resource, namespace, name, node})
}

func (i *inventory) one(list ...string) string { return list[i.random.IntN(len(list))] }

func (i *inventory) chance(percent int) bool { return i.random.IntN(100) < percent }

// name is of one of the objects that many refer to.
func (i *inventory) name(kind string) string {
	return fmt.Sprintf("%s-%d", kind, i.random.IntN(referable))
}

// A deed is a write that makes something, with those that have to come after it.
type deed struct {
	request
	after []request
}

// stock fills the server: nodes, accounts, claims, volumes, attachments, slices and pods.
func (s *server) stock(ctx context.Context, seed uint64) (*inventory, error) {
	inventory := &inventory{random: rand.New(rand.NewPCG(seed, 3))}
	for number := range nodeCount {
		inventory.nodes = append(inventory.nodes, fmt.Sprintf("crowd-%d", number))
	}
	// What is in a group may be made at the same time.
	for _, group := range [][]deed{inventory.grounds(), inventory.accounts(), inventory.storage(), inventory.pods()} {
		err := parallel(len(group), func(index int) error {
			for _, request := range append([]request{group[index].request}, group[index].after...) {
				if _, err := s.admin.must(ctx, request); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return inventory, nil
}

func create(url, kind string, made object) deed {
	version := "v1"
	if group := groupOf(url); group != "" {
		version = group + "/v1"
	}
	made["apiVersion"], made["kind"] = version, kind
	return deed{request: request{http.MethodPost, url, plain, made}}
}

// groupOf is the API group of a URL of version v1.
func groupOf(url string) string {
	var group string
	if _, err := fmt.Sscanf(url, "/apis/%s", &group); err != nil {
		return ""
	}
	for index, letter := range group {
		if letter == '/' {
			return group[:index]
		}
	}
	return group
}

func named(name string) object { return object{"name": name} }

// grounds are namespaces, nodes and drivers.
func (i *inventory) grounds() []deed {
	var deeds []deed
	for _, namespace := range crowded {
		deeds = append(deeds, create("/api/v1/namespaces", "Namespace", object{"metadata": named(namespace)}))
	}
	for number, node := range i.nodes {
		metadata := object{"name": node, "labels": object{
			"kubernetes.io/hostname": node, "team": "crowd", "node-restriction.kubernetes.io/pool": "crowd",
			"node-role.kubernetes.io/worker": "", "kubelet.kubernetes.io/size": "small",
		}}
		if number%2 == 0 {
			metadata["ownerReferences"] = []any{owner("before")}
		}
		deeds = append(deeds, create("/api/v1/nodes", "Node", object{"metadata": metadata}))
		deeds = append(deeds, create("/apis/storage.k8s.io/v1/csinodes", "CSINode", object{"metadata": named(node), "spec": object{"drivers": []any{}}}))
	}
	for number, audiences := range [][]string{{"vault"}, {"vault", ""}, {}} {
		requests := []any{}
		for _, audience := range audiences {
			requests = append(requests, object{"audience": audience})
		}
		deeds = append(deeds, create("/apis/storage.k8s.io/v1/csidrivers", "CSIDriver", object{
			"metadata": named(fmt.Sprintf("driver-%d.example.org", number)), "spec": object{"tokenRequests": requests},
		}))
	}
	// What no volume asks for may be granted, too.
	deeds = append(deeds, create("/apis/rbac.authorization.k8s.io/v1/clusterroles", "ClusterRole", object{
		"metadata": named("crowd-audience"),
		"rules":    []any{object{"apiGroups": []any{""}, "resources": []any{grantedAudience}, "verbs": []any{"request-serviceaccounts-token-audience"}}},
	}), create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "ClusterRoleBinding", object{
		"metadata": named("crowd-audience"),
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "crowd-audience"},
		"subjects": []any{object{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:node:" + i.nodes[1]}},
	}))
	return deeds
}

// grantedAudience is one that the second node may have tokens for, whatever its pods need.
const grantedAudience = "bank"

func (i *inventory) accounts() []deed {
	var deeds []deed
	for _, namespace := range crowded {
		url := "/api/v1/namespaces/" + namespace + "/serviceaccounts"
		for _, name := range append([]string{"default"}, accountNames...) {
			account := object{"metadata": named(name)}
			if i.chance(30) {
				account["imagePullSecrets"] = []any{named(i.name("secret"))}
			}
			deeds = append(deeds, create(url, "ServiceAccount", account))
		}
	}
	for number, node := range i.nodes {
		if number%2 == 0 {
			deeds = append(deeds, create("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", "Lease", object{"metadata": named(node)}))
		}
	}
	return deeds
}

var accountNames = []string{"account-0", "account-1", "account-2", "account-3", "account-4", "account-5", "account-6", "account-7"}

// exported are the kinds that decide what nodes may do, as the server lists them.
var exported = []struct{ url, version, kind string }{
	{"/api/v1/nodes", "v1", "Node"},
	{"/api/v1/pods", "v1", "Pod"},
	{"/api/v1/persistentvolumes", "v1", "PersistentVolume"},
	{"/api/v1/persistentvolumeclaims", "v1", "PersistentVolumeClaim"},
	{"/api/v1/serviceaccounts", "v1", "ServiceAccount"},
	{"/apis/storage.k8s.io/v1/volumeattachments", "storage.k8s.io/v1", "VolumeAttachment"},
	{"/apis/storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1", "CSIDriver"},
	{"/apis/storage.k8s.io/v1/csinodes", "storage.k8s.io/v1", "CSINode"},
	{"/apis/resource.k8s.io/v1/resourceslices", "resource.k8s.io/v1", "ResourceSlice"},
	{"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", "coordination.k8s.io/v1", "Lease"},
}

// export gives the objects as the server holds them.
func (s *server) export(ctx context.Context) ([]object, error) {
	var all []object
	for _, kind := range exported {
		given, err := s.admin.send(ctx, request{"GET", kind.url, "", nil})
		if err != nil {
			return nil, err
		}
		if !given.passed() {
			return nil, fmt.Errorf("GET %s: %d %s", kind.url, given.status, given.message)
		}
		list := struct {
			Items []object `json:"items"`
		}{}
		if err := json.Unmarshal(given.body, &list); err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			item["apiVersion"], item["kind"] = kind.version, kind.kind
			delete(item["metadata"].(object), "managedFields")
			all = append(all, item)
		}
	}
	return all, nil
}

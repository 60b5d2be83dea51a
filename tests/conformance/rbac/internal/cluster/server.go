package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"

	"bailiwick.dev/conformance/rbac/internal/kube"
	"bailiwick.dev/conformance/rbac/internal/protocol"
)

const (
	// settling is how long the aggregation may take on a server that has nothing else to do.
	settling = 30 * time.Second
	// polling is how often it is looked at, and quiet how often in a row it has to be as expected: a role may be so from
	// the beginning, and the controller may have its turn with it later.
	polling = 200 * time.Millisecond
	quiet   = 10
)

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := configure(kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func configure(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// The server is ours alone.
	config.QPS, config.Burst = 2000, 2000
	return config, nil
}

// dump gives all objects of RBAC that the server has, as a world.
func dump(ctx context.Context, client kubernetes.Interface) (*protocol.World, error) {
	world := &protocol.World{StatedRulesStay: true}
	add := func(object any, meta *metav1.ObjectMeta) error {
		meta.ManagedFields = nil
		text, err := json.Marshal(object)
		world.Objects = append(world.Objects, text)
		return err
	}
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: name}
	}
	rbac := client.RbacV1()
	clusterRoles, err := rbac.ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, object := range clusterRoles.Items {
		object.TypeMeta = kind("ClusterRole")
		if err := add(object, &object.ObjectMeta); err != nil {
			return nil, err
		}
	}
	roles, err := rbac.Roles("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, object := range roles.Items {
		object.TypeMeta = kind("Role")
		if err := add(object, &object.ObjectMeta); err != nil {
			return nil, err
		}
	}
	clusterRoleBindings, err := rbac.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, object := range clusterRoleBindings.Items {
		object.TypeMeta = kind("ClusterRoleBinding")
		if err := add(object, &object.ObjectMeta); err != nil {
			return nil, err
		}
	}
	roleBindings, err := rbac.RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, object := range roleBindings.Items {
		object.TypeMeta = kind("RoleBinding")
		if err := add(object, &object.ObjectMeta); err != nil {
			return nil, err
		}
	}
	return world, nil
}

// aggregate runs the controller that a server leaves to the controller manager, until the rules of all aggregated
// roles are what a world settles with. It names the roles that do not get there.
func aggregate(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := informers.NewSharedInformerFactory(client, 0)
	controller := clusterroleaggregation.NewClusterRoleAggregation(factory.Rbac().V1().ClusterRoles(), client.RbacV1())
	factory.Start(ctx.Done())
	go controller.Run(ctx, 5)
	expected, err := settled(ctx, client)
	if err != nil {
		return nil, err
	}
	deadline, equal := time.Now().Add(settling), 0
	for ; ; time.Sleep(polling) {
		roles, err := client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		var different []string
		for _, role := range roles.Items {
			if rules, aggregated := expected[role.Name]; aggregated && !equality.Semantic.DeepEqual(rules, role.Rules) {
				different = append(different, role.Name)
			}
		}
		if equal++; len(different) > 0 {
			equal = 0
		}
		if equal == quiet || time.Now().After(deadline) {
			return different, nil
		}
	}
}

// settled is what the aggregated roles shall hold in the end, told from what the server holds before.
func settled(ctx context.Context, client kubernetes.Interface) (map[string][]rbacv1.PolicyRule, error) {
	world, err := dump(ctx, client)
	if err != nil {
		return nil, err
	}
	objects, err := kube.Decode(world)
	if err != nil {
		return nil, err
	}
	_, rules, err := kube.NewAggregation().Settle(objects.ClusterRoles)
	return rules, err
}

// discover lists what the server serves, subresources apart.
func discover(client kubernetes.Interface) (resources, subresources []string, err error) {
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		return nil, nil, fmt.Errorf("discovery: %w", err)
	}
	found, below := map[string]bool{}, map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			name, subresource, _ := strings.Cut(resource.Name, "/")
			found[name] = true
			if subresource != "" {
				below[subresource] = true
			}
		}
	}
	return keys(found), keys(below), nil
}

func keys(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for key := range set {
		list = append(list, key)
	}
	sort.Strings(list)
	return list
}

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	pvutil "k8s.io/kubernetes/pkg/api/v1/persistentvolume"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

func init() {
	versions[apps.GroupName] = appsv1.SchemeGroupVersion
	versions[batch.GroupName] = batchv1.SchemeGroupVersion
	reach = func(q *question) (interface{}, error) { return q.reach() }
}

// target is what can be reached: a Secret or a service account.
type target struct{ resource, namespace, name string }

// certainties are how surely something is reached; 0 is not at all.
const (
	maybe = iota + 1
	yes
)

// workload is what brings pods to nodes that are not known yet.
type workload struct {
	// daemon is none for what the scheduler places.
	daemon *appsv1.DaemonSet
	// pod is one of its pods, without what is only made together with it.
	pod *corev1.Pod
	// made are pods as a controller makes them, with names and claims of their own.
	made []*corev1.Pod
}

// reach answers which Secrets and accounts come to each node. Pods that are bound are in a graph of the authorizer; in
// another one each workload has a node of its own, which shows what its pods bring to wherever they come.
func (q *question) reach() (interface{}, error) {
	if err := setGates(q.Gates); err != nil {
		return nil, err
	}
	stored, err := q.stored()
	if err != nil {
		return nil, err
	}
	bound, imagined := newWays(), newWays()
	targets := map[target]bool{}
	workloads := []workload{}
	nodes := []*corev1.Node{}
	note := func(pod *corev1.Pod) {
		podutil.VisitPodSecretNames(pod, func(name string) bool {
			targets[target{"secrets", pod.Namespace, name}] = true
			return true
		})
		targets[target{"serviceaccounts", pod.Namespace, pod.Spec.ServiceAccountName}] = true
	}
	for _, each := range stored {
		switch each := each.(type) {
		case *corev1.Node:
			nodes = append(nodes, each)
		case *corev1.PersistentVolume:
			bound.handlers.add(each)
			imagined.handlers.add(each)
			pvutil.VisitPVSecretNames(each, func(namespace, name string, _ bool) bool {
				targets[target{"secrets", namespace, name}] = true
				return true
			})
		case *corev1.Pod:
			admitted(each)
			note(each)
			if each.Spec.NodeName != "" {
				bound.handlers.add(each)
			} else {
				workloads = append(workloads, workload{pod: each})
			}
		default:
			found, err := workloadOf(each)
			if err != nil {
				return nil, err
			}
			if found != nil {
				note(found.pod)
				workloads = append(workloads, *found)
			}
		}
	}
	brings := make([]map[target]int, len(workloads))
	for index, each := range workloads {
		plain, made := fmt.Sprintf("plain-%d", index), fmt.Sprintf("made-%d", index)
		imagined.bind(plain, each.pod)
		imagined.bind(made, each.made...)
		certainty := maybe
		if each.daemon != nil {
			certainty = yes
		}
		brings[index] = map[target]int{}
		for target := range targets {
			switch {
			case imagined.lead(target, plain):
				brings[index][target] = certainty
			case imagined.lead(target, made):
				brings[index][target] = maybe
			}
		}
	}
	result := object{}
	for _, node := range nodes {
		lists := map[string]map[string][]string{"secrets": {}, "serviceaccounts": {}}
		for target := range targets {
			best := 0
			if bound.lead(target, node.Name) {
				best = yes
			}
			for index, each := range workloads {
				if brings[index][target] > best && each.comes(node) {
					best = brings[index][target]
				}
			}
			if best > 0 {
				word := map[int]string{yes: "yes", maybe: "maybe"}[best]
				lists[target.resource][word] = append(lists[target.resource][word], target.namespace+"/"+target.name)
			}
		}
		result[node.Name] = object{"secrets": lists["secrets"], "serviceAccounts": lists["serviceaccounts"]}
	}
	return object{"nodes": result}, nil
}

// admitted does what the admission plugin ServiceAccount does to a pod that names no account.
func admitted(pod *corev1.Pod) {
	_, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	if pod.Spec.ServiceAccountName == "" && !isMirror {
		pod.Spec.ServiceAccountName = "default"
	}
}

// workloadOf is an object as one that brings pods; none if it brings none.
func workloadOf(stored runtime.Object) (*workload, error) {
	var meta metav1.ObjectMeta
	var template corev1.PodTemplateSpec
	names, claims := []string{"-x2x4z"}, []corev1.PersistentVolumeClaim{}
	result := &workload{}
	switch each := stored.(type) {
	case *appsv1.DaemonSet:
		result.daemon = each
		meta, template = each.ObjectMeta, each.Spec.Template
	case *appsv1.Deployment:
		meta, template, names = each.ObjectMeta, each.Spec.Template, []string{"-5d9c7b8f6d-x2x4z"}
	case *appsv1.ReplicaSet:
		meta, template = each.ObjectMeta, each.Spec.Template
	case *corev1.ReplicationController:
		meta = each.ObjectMeta
		if each.Spec.Template != nil {
			template = *each.Spec.Template
		}
	case *appsv1.StatefulSet:
		meta, template, names, claims = each.ObjectMeta, each.Spec.Template, []string{"-0", "-1"}, each.Spec.VolumeClaimTemplates
	case *batchv1.Job:
		meta, template = each.ObjectMeta, each.Spec.Template
	case *batchv1.CronJob:
		meta, template, names = each.ObjectMeta, each.Spec.JobTemplate.Spec.Template, []string{"-29000000-x2x4z"}
	case *corev1.PersistentVolumeClaim, *corev1.PodTemplate:
		return nil, nil
	default:
		return nil, fmt.Errorf("nobody knows what %T brings", stored)
	}
	result.pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace}, Spec: *template.Spec.DeepCopy()}
	admitted(result.pod)
	for _, suffix := range names {
		made := result.pod.DeepCopy()
		made.Name = meta.Name + suffix
		for _, claim := range claims {
			source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + made.Name}
			made.Spec.Volumes = append(made.Spec.Volumes, corev1.Volume{
				Name: claim.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: source}})
		}
		result.made = append(result.made, made)
	}
	return result, nil
}

// comes tells whether a pod may come to a node, as far as neither other pods nor room keep it away.
func (w workload) comes(node *corev1.Node) bool {
	logger := klog.Background()
	if w.daemon != nil {
		run, _ := daemon.NodeShouldRunDaemonPod(logger, node, w.daemon)
		return run
	}
	if w.pod.Spec.NodeName != "" {
		// Nobody schedules it, and the kubelet of the node takes it.
		return w.pod.Spec.NodeName == node.Name
	}
	// As the plugins NodeAffinity and TaintToleration of the scheduler filter.
	fits, _ := nodeaffinity.GetRequiredNodeAffinity(w.pod).Match(node)
	_, kept := corev1helpers.FindMatchingUntoleratedTaint(logger, node.Spec.Taints, w.pod.Spec.Tolerations, func(taint *corev1.Taint) bool {
		return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
	}, utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators))
	return fits && !kept
}

// ways are a graph and the authorizer that looks into it.
type ways struct {
	handlers   handlers
	authorizer authorizer.Authorizer
}

func newWays() ways {
	graph := node.NewGraph()
	return ways{watch(graph), node.NewAuthorizer(graph, nodeidentifier.NewDefaultNodeIdentifier(), bootstrappolicy.NodeRules())}
}

// bind puts pods on a node. One without a name gets that of the node.
func (w ways) bind(node string, pods ...*corev1.Pod) {
	for _, pod := range pods {
		pod = pod.DeepCopy()
		pod.Spec.NodeName = node
		if pod.Name == "" {
			pod.Name = node
		}
		w.handlers.add(pod)
	}
}

// lead tells whether a node may read a Secret, or make a token of an account.
func (w ways) lead(to target, node string) bool {
	asked := authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "system:node:" + node, Groups: []string{"system:nodes"}}, Verb: "get", ResourceRequest: true,
		APIVersion: "v1", Namespace: to.namespace, Resource: to.resource, Name: to.name,
	}
	if to.resource == "serviceaccounts" {
		asked.Verb, asked.Subresource = "create", "token"
	}
	decision, _, err := w.authorizer.Authorize(context.Background(), asked)
	return err == nil && decision == authorizer.DecisionAllow
}

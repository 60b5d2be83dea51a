package world

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bailiwick.dev/conformance/psp/internal/server"
)

// The kinds of operators, which are not in the dump.
const (
	databaseKind = "data.example.org/v1 Database"
	flowKind     = "flows.example.net/v1alpha1 Flow"
	cacheKind    = "caches.example.com/v1 Cache"
)

// namespace adds a namespace with its accounts, `default` among them.
func (b *builder) namespace(name string, accounts ...string) string {
	b.namespaces++
	b.objects = append(b.objects, &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/metadata.name": name, "team": one(b, "red", "green", "blue")}},
	})
	for _, account := range append([]string{"default"}, accounts...) {
		b.objects = append(b.objects, &corev1.ServiceAccount{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: account},
		})
	}
	return name
}

// meta is the metadata of a workload.
func (b *builder) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: b.uid(), Labels: map[string]string{"app": name}}
}

func template(name string, spec corev1.PodSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}, Spec: spec}
}

func selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func (b *builder) plan(workload workload, creator server.Creator, replicas int) {
	b.plans = append(b.plans, plan{workload: workload, creator: creator, replicas: replicas})
}

func (b *builder) deployment(namespace, name string, spec corev1.PodSpec) {
	replicas := int32(1 + b.rand.IntN(3))
	b.plan(&appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: b.meta(namespace, name),
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(name), Template: template(name, spec)},
	}, server.Controller("replicaset-controller"), int(replicas))
}

// stalled adds a Deployment whose roll-out may stall: the pods of a former template run until those of the present one are admitted.
func (b *builder) stalled(namespace, name string, former, present corev1.PodSpec) {
	b.deployment(namespace, name, present)
	before := template(name, former)
	b.plans[len(b.plans)-1].former = &before
}

func (b *builder) daemonSet(namespace, name string, spec corev1.PodSpec) {
	b.plan(&appsv1.DaemonSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: b.meta(namespace, name),
		Spec: appsv1.DaemonSetSpec{Selector: selector(name), Template: template(name, spec)},
	}, server.Controller("daemon-set-controller"), 3)
}

// statefulSet adds a StatefulSet, which may have an operator's object as its owner.
func (b *builder) statefulSet(namespace, name string, spec corev1.PodSpec, owners ...metav1.OwnerReference) {
	replicas := int32(1 + b.rand.IntN(3))
	metadata := b.meta(namespace, name)
	metadata.OwnerReferences = owners
	b.plan(&appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: metadata,
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas, Selector: selector(name), ServiceName: name, Template: template(name, spec)},
	}, server.Controller("statefulset-controller"), int(replicas))
}

func jobSpec(spec corev1.PodSpec) batchv1.JobSpec {
	spec.RestartPolicy = corev1.RestartPolicyNever
	return batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}
}

func (b *builder) job(namespace, name string, spec corev1.PodSpec) {
	b.plan(&batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: b.meta(namespace, name), Spec: jobSpec(spec),
	}, server.Controller("job-controller"), 1)
}

// cronJob adds a CronJob with up to three jobs of the past.
func (b *builder) cronJob(namespace, name string, spec corev1.PodSpec) {
	b.plan(&batchv1.CronJob{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}, ObjectMeta: b.meta(namespace, name),
		Spec: batchv1.CronJobSpec{Schedule: fmt.Sprintf("%d * * * *", b.rand.IntN(60)), JobTemplate: batchv1.JobTemplateSpec{Spec: jobSpec(spec)}},
	}, server.Controller("job-controller"), b.rand.IntN(4))
}

// bare adds a pod that somebody creates, perhaps with an owner that is not in the dump.
func (b *builder) bare(creator server.Creator, namespace, name string, spec corev1.PodSpec, owners ...metav1.OwnerReference) {
	metadata := b.meta(namespace, name)
	metadata.OwnerReferences = owners
	b.plan(&corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metadata, Spec: spec}, creator, 1)
}

// mirror adds the pod of a file of a node.
func (b *builder) mirror(node, name string, spec corev1.PodSpec) {
	hash := fmt.Sprintf("%032x", b.rand.Uint64())
	spec.NodeName = node
	metadata := b.meta("kube-system", name+"-"+node)
	metadata.Annotations = map[string]string{
		"kubernetes.io/config.hash": hash, "kubernetes.io/config.mirror": hash, "kubernetes.io/config.source": "file",
		"kubernetes.io/config.seen": "2022-05-04T09:00:00.000000000Z",
	}
	metadata.OwnerReferences = []metav1.OwnerReference{b.owner("v1 Node", node)}
	b.plan(&corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metadata, Spec: spec},
		server.Person("system:node:"+node, "system:nodes"), 1)
}

// owner is a reference to the controller of an object, by `VERSION KIND`.
func (b *builder) owner(kind, name string) metav1.OwnerReference {
	yes := true
	reference := metav1.OwnerReference{Name: name, UID: b.uid(), Controller: &yes}
	if _, err := fmt.Sscanf(kind, "%s %s", &reference.APIVersion, &reference.Kind); err != nil {
		panic(err)
	}
	// A node is no controller that garbage collection knows, and sets no foreground deletion.
	if reference.Kind != "Node" {
		reference.BlockOwnerDeletion = &yes
	}
	return reference
}

// labelled returns the labels with another.
func labelled(labels map[string]string, key, value string) map[string]string {
	all := maps.Clone(labels)
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	return all
}

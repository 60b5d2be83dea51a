package world

import (
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"bailiwick.dev/conformance/psp/internal/server"
)

// born is when everything was created.
var born = metav1.NewTime(time.Date(2022, 5, 4, 9, 0, 0, 0, time.UTC))

// uid returns the id of an object.
func (b *builder) uid() types.UID {
	high, low := b.rand.Uint64(), b.rand.Uint64()
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", high>>32, high>>16&0xffff, high&0xfff, low>>48&0xfff, low&0xffffffffffff))
}

// A runner does what the controllers of a cluster do.
type runner struct {
	*builder
	api   *server.Server
	world *World
	// entry is the workload that is started.
	entry *Entry
}

// start stores a workload, and what its controllers make of it.
func (r *runner) start(plan plan) error {
	object := plan.workload
	server.Default(object)
	entry := Entry{Kind: object.GetObjectKind().GroupVersionKind().Kind, Namespace: object.GetNamespace(), Name: object.GetName(), Creator: plan.creator}
	r.entry = &entry
	fate, err := r.api.Create(plan.creator, Remade(object))
	if err != nil {
		return err
	}
	if err := isGenuine(fate); err != nil {
		return err
	}
	entry.Policy, entry.Rejection = fate.Policy, fate.Rejection
	switch object := object.(type) {
	case *corev1.Pod:
		if fate.Pod == nil {
			// A pod that is rejected leaves nothing behind.
			return nil
		}
		r.age(&fate.Pod.ObjectMeta)
		r.bound(fate.Pod, corev1.PodRunning)
		r.world.Objects = append(r.world.Objects, fate.Pod)
		entry.Pods = []string{fate.Pod.Name}
		if err := r.finish(fate.Pod, entry); err != nil || !r.asked {
			return err
		}
		asked, err := json.Marshal(Remade(object))
		r.world.Entries[len(r.world.Entries)-1].Pod = asked
		return err
	case *appsv1.Deployment:
		return r.deployment(object, plan)
	case *appsv1.DaemonSet:
		r.store(&object.ObjectMeta, object)
		err = r.pods(object.Spec.Template, ownership(object, "apps/v1", "DaemonSet"), plan.replicas, "controller-revision-hash")
	case *appsv1.StatefulSet:
		r.store(&object.ObjectMeta, object)
		err = r.pods(object.Spec.Template, ownership(object, "apps/v1", "StatefulSet"), plan.replicas, "statefulset.kubernetes.io/pod-name")
	case *batchv1.Job:
		err = r.job(object)
	case *batchv1.CronJob:
		err = r.cronJob(object, plan.replicas)
	default:
		err = fmt.Errorf("nobody runs %T", object)
	}
	if err != nil {
		return err
	}
	return r.finish(object, entry)
}

// finish completes an entry with the workload as it is in the dump.
func (r *runner) finish(object workload, entry Entry) error {
	var err error
	if entry.Object, err = json.Marshal(object); err != nil {
		return err
	}
	if entry.Pod, err = json.Marshal(Remade(object)); err != nil {
		return err
	}
	r.world.Entries = append(r.world.Entries, entry)
	return nil
}

func (r *runner) age(metadata *metav1.ObjectMeta) {
	metadata.CreationTimestamp = born
	if metadata.UID == "" {
		metadata.UID = r.uid()
	}
}

func (r *runner) store(metadata *metav1.ObjectMeta, object workload) {
	r.age(metadata)
	r.world.Objects = append(r.world.Objects, object)
}

// deployment makes the ReplicaSet of a Deployment, and of its former template, if the present one is rejected.
func (r *runner) deployment(object *appsv1.Deployment, plan plan) error {
	r.store(&object.ObjectMeta, object)
	deployment := *r.entry
	r.entry = &deployment
	if plan.former != nil && deployment.Policy == "" {
		if err := r.former(object, plan); err != nil {
			return err
		}
		r.entry = &deployment
	}
	set := r.replicaSet(object, object.Spec.Template)
	if err := r.pods(set.Spec.Template, ownership(set, "apps/v1", "ReplicaSet"), plan.replicas, ""); err != nil {
		return err
	}
	return r.finish(object, deployment)
}

// former makes the ReplicaSet of the former template, with an entry of its own.
func (r *runner) former(object *appsv1.Deployment, plan plan) error {
	before := object.DeepCopy()
	before.Spec.Template = *plan.former
	server.Default(before)
	set := r.replicaSet(object, before.Spec.Template)
	fate, err := r.api.Create(plan.creator, Remade(set))
	if err != nil {
		return err
	}
	r.entry = &Entry{
		Kind: "ReplicaSet", Namespace: set.Namespace, Name: set.Name, Creator: plan.creator, Root: "Deployment " + object.Name,
		Policy: fate.Policy, Rejection: fate.Rejection,
	}
	if err := r.pods(set.Spec.Template, ownership(set, "apps/v1", "ReplicaSet"), plan.replicas, ""); err != nil {
		return err
	}
	return r.finish(set, *r.entry)
}

// replicaSet stores the ReplicaSet of a template of a Deployment.
func (r *runner) replicaSet(object *appsv1.Deployment, template corev1.PodTemplateSpec) *appsv1.ReplicaSet {
	hash := fmt.Sprintf("%010x", r.rand.Uint64()&0xffffffffff)
	template = *template.DeepCopy()
	template.Labels = labelled(template.Labels, "pod-template-hash", hash)
	set := &appsv1.ReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.Namespace, Name: object.Name + "-" + hash, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{ownership(object, "apps/v1", "Deployment").reference},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: object.Spec.Replicas, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
		},
	}
	server.Default(set)
	r.store(&set.ObjectMeta, set)
	return set
}

func (r *runner) job(object *batchv1.Job) error {
	labels := map[string]string{"controller-uid": string(object.UID), "job-name": object.Name}
	object.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"controller-uid": string(object.UID)}}
	object.Spec.Template.Labels = labels
	r.store(&object.ObjectMeta, object)
	return r.pods(object.Spec.Template, ownership(object, "batch/v1", "Job"), 1, "")
}

func (r *runner) cronJob(object *batchv1.CronJob, jobs int) error {
	r.store(&object.ObjectMeta, object)
	for number := range jobs {
		job := &batchv1.Job{
			TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: object.Namespace, Name: fmt.Sprintf("%s-%d", object.Name, 27_527_220+60*number), UID: r.uid(),
				OwnerReferences: []metav1.OwnerReference{ownership(object, "batch/v1", "CronJob").reference},
			},
			Spec: *object.Spec.JobTemplate.Spec.DeepCopy(),
		}
		if err := r.job(job); err != nil {
			return err
		}
	}
	return nil
}

// A parent is the controller of pods.
type parent struct {
	namespace, name string
	reference       metav1.OwnerReference
}

func ownership(object metav1.Object, version, kind string) parent {
	reference := metav1.NewControllerRef(object, schema.FromAPIVersionAndKind(version, kind))
	return parent{object.GetNamespace(), object.GetName(), *reference}
}

// pods creates the pods of a controller, which adds a label of its own.
func (r *runner) pods(template corev1.PodTemplateSpec, parent parent, count int, label string) error {
	for number := range count {
		pod := fromTemplate(parent.namespace, parent.name, template)
		pod.OwnerReferences = []metav1.OwnerReference{parent.reference}
		phase := corev1.PodRunning
		switch {
		case parent.reference.Kind == "StatefulSet":
			pod.Name = fmt.Sprintf("%s-%d", parent.name, number)
			pod.Labels = labelled(pod.Labels, label, pod.Name)
		case label != "":
			pod.Labels = labelled(pod.Labels, label, "5f9d7b6c44")
		case parent.reference.Kind == "Job":
			phase = corev1.PodSucceeded
		}
		fate, err := r.api.Create(r.entry.Creator, pod)
		if err != nil {
			return err
		}
		if err := isGenuine(fate); err != nil {
			return err
		}
		if fate.Policy != r.entry.Policy {
			return fmt.Errorf("pod %d gets the policy %q, and the first one %q", number, fate.Policy, r.entry.Policy)
		}
		if fate.Pod == nil {
			continue
		}
		r.age(&fate.Pod.ObjectMeta)
		r.bound(fate.Pod, phase)
		r.world.Objects = append(r.world.Objects, fate.Pod)
		r.entry.Pods = append(r.entry.Pods, fate.Pod.Name)
	}
	return nil
}

// bound is what the scheduler and a kubelet do.
func (r *runner) bound(pod *corev1.Pod, phase corev1.PodPhase) {
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName = nodes[r.rand.IntN(len(nodes))]
	}
	pod.Status.Phase = phase
	pod.Status.HostIP = "192.0.2.1"
	pod.Status.StartTime = &born
}

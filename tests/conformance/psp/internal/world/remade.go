package world

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mirrorAnnotation marks the pod of a file of a node.
const mirrorAnnotation = "kubernetes.io/config.mirror"

// Remade returns the pod that the creator of a workload asks the server for: the template, or a running pod without what the server
// and the node have added.
func Remade(object workload) *corev1.Pod {
	namespace, name := object.GetNamespace(), object.GetName()
	switch object := object.(type) {
	case *appsv1.Deployment:
		return fromTemplate(namespace, name, object.Spec.Template)
	case *appsv1.ReplicaSet:
		return fromTemplate(namespace, name, object.Spec.Template)
	case *appsv1.DaemonSet:
		return fromTemplate(namespace, name, object.Spec.Template)
	case *appsv1.StatefulSet:
		return fromTemplate(namespace, name, object.Spec.Template)
	case *batchv1.Job:
		return fromTemplate(namespace, name, object.Spec.Template)
	case *batchv1.CronJob:
		return fromTemplate(namespace, name, object.Spec.JobTemplate.Spec.Template)
	case *corev1.Pod:
		pod := &corev1.Pod{
			TypeMeta: object.TypeMeta,
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, Labels: object.Labels, Annotations: maps.Clone(object.Annotations), OwnerReferences: object.OwnerReferences,
			},
			Spec: *object.Spec.DeepCopy(),
		}
		delete(pod.Annotations, "kubernetes.io/psp")
		if _, isMirror := pod.Annotations[mirrorAnnotation]; !isMirror {
			pod.Spec.NodeName = ""
		}
		return pod
	}
	return nil
}

func fromTemplate(namespace, name string, template corev1.PodTemplateSpec) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, GenerateName: name + "-", Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
		},
		Spec: *template.Spec.DeepCopy(),
	}
}

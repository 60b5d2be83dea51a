package judge

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"bailiwick.dev/conformance/migration/internal/plan"
)

// AddPods adds an entry for each running pod that the answer names although its template is admitted: the server is asked for the pod as
// it is stored, with the values that 1.24 has filled in.
func (i *Inputs) AddPods(dump string) error {
	known := map[string]bool{}
	ofFormer := map[string]bool{}
	for index := range i.Truth {
		entry := &i.Truth[index]
		known[entry.Key()] = true
		for _, pod := range entry.Pods {
			ofFormer[entry.Namespace+"/"+pod] = entry.Root != ""
		}
	}
	wanted := map[string]bool{}
	for _, refusal := range i.Answer.Refused {
		if name := refusal.Namespace + "/" + refusal.Name; refusal.Of != "" && !known[refusal.Key()] && !ofFormer[name] {
			wanted[name] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	objects, err := plan.ReadObjects(dump)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() != "Pod" || !wanted[object.GetNamespace()+"/"+object.GetName()] {
			continue
		}
		entry := plan.Entry{Kind: "Pod", Namespace: object.GetNamespace(), Name: object.GetName()}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &entry.Pod); err != nil {
			return fmt.Errorf("%s: %w", entry.Key(), err)
		}
		entry.Creator.User, entry.Creator.Groups = "admin", []string{"system:masters"}
		entry.Pod.ObjectMeta = metav1.ObjectMeta{
			Namespace: entry.Namespace, Name: entry.Name, Labels: entry.Pod.Labels, Annotations: entry.Pod.Annotations,
		}
		entry.Pod.Status, entry.Pod.Spec.NodeName = corev1.PodStatus{}, ""
		i.Truth = append(i.Truth, entry)
	}
	return nil
}

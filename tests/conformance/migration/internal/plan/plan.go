// Package plan reads what `bailiwick migrate psp` and `bailiwick migrate verify` write, and the truth about the world that they were
// given. The names of the program's JSON are in this file alone.
package plan

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// An Entry is a workload of the world, as `world` of the harness psp writes it.
type Entry struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Creator   struct {
		User   string   `json:"user"`
		Groups []string `json:"groups"`
	} `json:"creator"`
	Policy string `json:"policy"`
	// Rejection is the message of 1.24.
	Rejection string     `json:"rejection"`
	Root      string     `json:"root"`
	Pods      []string   `json:"pods"`
	Pod       corev1.Pod `json:"pod"`
}

// Key names a workload.
func (e *Entry) Key() string { return key(e.Kind, e.Namespace, e.Name) }

// Ran is true for a workload whose pods 1.24 admits, or that has pods.
func (e *Entry) Ran() bool { return e.Policy != "" || len(e.Pods) > 0 }

func key(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

// A Report is that of `migrate psp`.
type Report struct {
	Workloads []Workload `json:"workloads"`
	// OwnedTemplates counts the templates that belong to another workload.
	OwnedTemplates int         `json:"ownedTemplates"`
	Namespaces     []Namespace `json:"namespaces"`
	Tenancies      []Tenancy   `json:"tenancies"`
}

// A Workload is a row of the report.
type Workload struct {
	Kind      string         `json:"kind"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Policy    *string        `json:"policy"`
	Pods      int            `json:"pods"`
	Recorded  map[string]int `json:"recorded"`
}

// Key names a workload.
func (w *Workload) Key() string { return key(w.Kind, w.Namespace, w.Name) }

// A Tenancy is the namespaces with one profile.
type Tenancy struct {
	Profile string `json:"profile"`
}

// A Namespace is a row of the report.
type Namespace struct {
	Name  string `json:"name"`
	Level string `json:"level"`
	// Policy is the PodSecurityPolicy that becomes the profile of most service accounts.
	Policy *string `json:"policy"`
	// Accounts have a policy of their own.
	Accounts []struct {
		Name    string `json:"name"`
		Policy  string `json:"policy"`
		Profile string `json:"profile"`
	} `json:"accounts"`
	// Profile is the profile of most service accounts.
	Profile *string `json:"profile"`
}

// ConstraintsOf returns the constraints for the pods of a service account; empty for none. Those of a tenant have the name of its
// PodSecurityPolicy, and others the name of the profile.
func (r *Report) ConstraintsOf(namespace, account string) string {
	for _, row := range r.Namespaces {
		if row.Name != namespace || row.Profile == nil {
			continue
		}
		for _, own := range row.Accounts {
			if own.Name == account {
				return own.Profile
			}
		}
		if slices.ContainsFunc(r.Tenancies, func(tenancy Tenancy) bool { return tenancy.Profile == *row.Profile }) {
			return *row.Policy
		}
		return *row.Profile
	}
	return ""
}

// PolicyOf returns the policy for the pods of a service account; empty for none.
func (n *Namespace) PolicyOf(account string) string {
	for _, own := range n.Accounts {
		if own.Name == account {
			return own.Policy
		}
	}
	if n.Policy == nil {
		return ""
	}
	return *n.Policy
}

// A Verification is the answer of `migrate verify`.
type Verification struct {
	Refused   []Refusal `json:"refused"`
	Openshift struct {
		// OtherConstraints has the workloads, as KIND/NAMESPACE/NAME, by the constraints of the platform that admit their pods.
		OtherConstraints map[string][]string `json:"otherConstraints"`
	} `json:"openshift"`
}

// A Refusal is a workload that a stage rejects, or a pod of a workload whose template is admitted.
type Refusal struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Of        string `json:"of"`
}

// Key names a workload.
func (r *Refusal) Key() string { return key(r.Kind, r.Namespace, r.Name) }

// RootKey names the workload that owns this one in the dump; the entry itself without such a workload.
func (e *Entry) RootKey() string {
	kind, name, isOwned := strings.Cut(e.Root, " ")
	if !isOwned {
		return e.Key()
	}
	return key(kind, e.Namespace, name)
}

// Named returns the entries that an answer rejects. A pod of a former template stands for the ReplicaSet of this template.
func (v *Verification) Named(truth []Entry) map[string]bool {
	former := map[string]string{}
	for index := range truth {
		entry := &truth[index]
		if entry.Root == "" {
			continue
		}
		for _, pod := range entry.Pods {
			former[key("Pod", entry.Namespace, pod)] = entry.Key()
		}
	}
	named := map[string]bool{}
	for _, refusal := range v.Refused {
		name := refusal.Key()
		if entry, isFormer := former[name]; isFormer && refusal.Of != "" {
			name = entry
		}
		named[name] = true
	}
	return named
}

// ReadJSON reads a file.
func ReadJSON[T any](path string) (T, error) {
	var value T
	text, err := os.ReadFile(path)
	if err != nil {
		return value, err
	}
	return value, json.Unmarshal(text, &value)
}

// WriteJSON writes a file.
func WriteJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// ReadObjects reads the objects of a file, or of all files of a folder, and the items of lists.
func ReadObjects(root string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		decoder := utilyaml.NewYAMLOrJSONDecoder(file, 1<<16)
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if !object.IsList() {
				if object.Object != nil {
					objects = append(objects, object)
				}
				continue
			}
			list, err := object.ToList()
			if err != nil {
				return err
			}
			for index := range list.Items {
				objects = append(objects, &list.Items[index])
			}
		}
	})
	return objects, err
}

// Labels returns the labels of the Namespaces of a folder.
func Labels(root string) (map[string]map[string]string, error) {
	objects, err := ReadObjects(root)
	labels := map[string]map[string]string{}
	for _, object := range objects {
		if object.GetKind() == "Namespace" {
			labels[object.GetName()] = object.GetLabels()
		}
	}
	return labels, err
}

package cluster

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Read reads the objects of some kinds from a file, or from the files of a folder, and from lists.
func Read(root string, kinds ...string) ([]runtime.Object, error) {
	var all []runtime.Object
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
			var text json.RawMessage
			if err := decoder.Decode(&text); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			var list struct{ Items []json.RawMessage }
			if err := json.Unmarshal(text, &list); err != nil {
				return err
			}
			if list.Items == nil {
				list.Items = []json.RawMessage{text}
			}
			for _, item := range list.Items {
				object, err := decode(item, kinds)
				if err != nil {
					return err
				}
				if object != nil {
					all = append(all, object)
				}
			}
		}
	})
	return all, err
}

// decode reads an object; nil for another kind.
func decode(text []byte, kinds []string) (runtime.Object, error) {
	var meta metav1.TypeMeta
	if err := json.Unmarshal(text, &meta); err != nil {
		return nil, err
	}
	object := map[string]runtime.Object{
		"v1 Namespace":      &corev1.Namespace{},
		"v1 ServiceAccount": &corev1.ServiceAccount{},
		"security.openshift.io/v1 SecurityContextConstraints":      &securityv1.SecurityContextConstraints{},
		rbacv1.SchemeGroupVersion.String() + " Role":               &rbacv1.Role{},
		rbacv1.SchemeGroupVersion.String() + " RoleBinding":        &rbacv1.RoleBinding{},
		rbacv1.SchemeGroupVersion.String() + " ClusterRole":        &rbacv1.ClusterRole{},
		rbacv1.SchemeGroupVersion.String() + " ClusterRoleBinding": &rbacv1.ClusterRoleBinding{},
	}[meta.APIVersion+" "+meta.Kind]
	isWanted := false
	for _, kind := range kinds {
		isWanted = isWanted || kind == meta.Kind
	}
	if object == nil || !isWanted {
		return nil, nil
	}
	return object, json.Unmarshal(text, object)
}

// Platform reads the table of the constraints of the platform, with the role and the binding of each, as a release has them.
func Platform(path, release string) ([]runtime.Object, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var table struct {
		VolumesSince map[string]string
		Common       map[string]any
		Constraints  []struct {
			Name, Since string
			Bound       []string
			Fields      map[string]any
		}
	}
	if err := yaml.Unmarshal(text, &table); err != nil {
		return nil, err
	}
	var all []runtime.Object
	for _, entry := range table.Constraints {
		if isBefore(release, entry.Since) {
			continue
		}
		fields := map[string]any{"metadata": map[string]any{"name": entry.Name}}
		for _, part := range []map[string]any{table.Common, entry.Fields} {
			for key, value := range part {
				fields[key] = value
			}
		}
		text, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		constraints := &securityv1.SecurityContextConstraints{}
		if err := json.Unmarshal(text, constraints); err != nil {
			return nil, err
		}
		var volumes []securityv1.FSType
		for _, volume := range constraints.Volumes {
			if since := table.VolumesSince[string(volume)]; since == "" || !isBefore(release, since) {
				volumes = append(volumes, volume)
			}
		}
		constraints.Volumes = volumes
		all = append(all, constraints)
		all = append(all, grants(entry.Name, entry.Bound)...)
	}
	return all, nil
}

// grants returns the role for the use of constraints, and its binding to groups.
func grants(constraints string, groups []string) []runtime.Object {
	name := metav1.ObjectMeta{Name: "system:openshift:scc:" + constraints}
	rule := rbacv1.PolicyRule{
		APIGroups: []string{"security.openshift.io"}, Resources: []string{"securitycontextconstraints"},
		ResourceNames: []string{constraints}, Verbs: []string{"use"},
	}
	objects := []runtime.Object{&rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{rule}}}
	if len(groups) == 0 {
		return objects
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name}}
	for _, group := range groups {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: group})
	}
	return append(objects, binding)
}

// isBefore compares releases such as 4.9 and 4.20.
func isBefore(left, right string) bool {
	number := func(text string) int {
		major, minor, _ := strings.Cut(text, ".")
		high, _ := strconv.Atoi(major)
		low, _ := strconv.Atoi(minor)
		return high*1000 + low
	}
	return number(left) < number(right)
}

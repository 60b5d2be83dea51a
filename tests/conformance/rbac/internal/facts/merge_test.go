package facts

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func role(name string, verbs ...string) *rbacv1.ClusterRole {
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs}
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}
}

func written(t *testing.T, roles ...*rbacv1.ClusterRole) []Object {
	t.Helper()
	objects := []Object{}
	for _, role := range roles {
		object, err := Write(role, "ClusterRole")
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

func merged(t *testing.T, table string, minor int, roles ...*rbacv1.ClusterRole) string {
	t.Helper()
	table, err := Merge(table, minor, written(t, roles...))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestMerge(t *testing.T) {
	first := "# 1.16 to 1.36, by default.\n" + mark + "\"16-36\"\n" + written(t, role("a", "get"))[0].Text
	table := merged(t, first, 37, role("a", "get"), role("b", "get"))
	want := []string{"# 1.16 to 1.37, by default.", `minors: "16-37"`, `minors: "37-37"`}
	for _, line := range want {
		if !strings.Contains(table, line+"\n") {
			t.Errorf("no %q in\n%s", line, table)
		}
	}
	if again := merged(t, table, 37, role("a", "get"), role("b", "get")); again != table {
		t.Errorf("a minor that is there changes the table:\n%s", again)
	}
	if _, err := Merge(table, 37, written(t, role("a", "get"))); err == nil {
		t.Error("an object less in the same minor is not noticed")
	}
	if _, err := Merge(table, 39, nil); err == nil {
		t.Error("a minor is left out, and nobody notices")
	}
	changed := merged(t, table, 38, role("a", "get", "list"), role("b", "get"))
	if !strings.Contains(changed, `minors: "16-37"`) || !strings.Contains(changed, `minors: "38-38"`) {
		t.Errorf("a change does not make a form of its own:\n%s", changed)
	}
	back := merged(t, changed, 39, role("a", "get"), role("b", "get"))
	if !strings.Contains(back, `minors: "16-37 39-39"`) {
		t.Errorf("an earlier form does not come back:\n%s", back)
	}
}

package lies

import (
	"slices"
	"strings"

	"bailiwick.dev/conformance/crossplane/internal/cases"
)

// All are the lies, from details of objects to rules that are misunderstood.
var All = []Lie{
	{Name: "explicit-verbs", kind: "stack", answer: rule(":system", func(rule cases.Object) { rule["verbs"] = []any{"get", "list", "watch"} })},
	{Name: "edit-without-deletecollection", kind: "stack", answer: without(":edit", "verbs", "deletecollection")},
	{Name: "edit-is-view", kind: "stack", answer: rule(":edit", func(rule cases.Object) { rule["verbs"] = []any{"get", "list", "watch"} })},
	{Name: "verbs-in-another-order", kind: "stack", answer: rule(":admin", func(rule cases.Object) { slices.Reverse(rule["verbs"].([]any)) })},
	{Name: "rules-in-another-order", kind: "stack", answer: rules(":system", reversed)},
	{Name: "personas-in-the-order-of-rules", kind: "stack", answer: func(_, answer cases.Object) {
		all := objects(answer)
		if len(all) < 6 || field(all[5], "rules") == nil {
			return
		}
		system := all[1]["rules"].([]any)
		for _, part := range all[3:6] {
			rules, _ := part["rules"].([]any)
			position := func(rule any) int {
				return slices.IndexFunc(system, func(other any) bool {
					return slices.Equal(field(other.(cases.Object), "resources").([]any), field(rule.(cases.Object), "resources").([]any)) &&
						slices.Equal(field(other.(cases.Object), "apiGroups").([]any), field(rule.(cases.Object), "apiGroups").([]any))
				})
			}
			slices.SortStableFunc(rules, func(one, two any) int { return position(one) - position(two) })
		}
	}},
	{Name: "personas-may-use-dependencies", kind: "stack", answer: func(_, answer cases.Object) {
		if all := objects(answer); len(all) >= 6 && len(all[1]["rules"].([]any)) > 1 {
			all[5]["rules"] = all[1]["rules"].([]any)[1:]
		}
	}},
	{Name: "no-secrets", kind: "stack", answer: without(":system", "resources", "secrets")},
	{Name: "no-status", kind: "stack", answer: without(":system", "resources", "/status")},
	{Name: "no-scale-for-personas", kind: "stack", answer: without(":view", "resources", "/scale")},
	{Name: "no-finalizers-in-packages", kind: "stack", answer: without(":system", "resources", "/finalizers")},
	{Name: "status-always", kind: "stack", question: crds(func(spec cases.Object) { spec["subresources"] = cases.Object{"status": cases.Object{}} })},
	{Name: "version-does-not-count", kind: "stack", question: crds(func(spec cases.Object) {
		if spec["version"] != nil && spec["versions"] == nil {
			spec["version"] = "v1"
		}
	})},
	{Name: "first-version-counts", kind: "stack", question: crds(func(spec cases.Object) {
		if list, ok := spec["versions"].([]any); ok && spec["version"] == nil {
			spec["version"] = list[0].(cases.Object)["name"]
		}
	})},
	{Name: "one-crd-is-forgotten", kind: "stack", question: func(body cases.Object) {
		if list, _ := body["crds"].([]any); len(list) > 3 {
			body["crds"] = list[:len(list)-1]
		}
	}},
	{Name: "dependencies-are-sorted", kind: "stack", question: depends(func(list []any) []any {
		slices.SortFunc(list, func(one, two any) int {
			left, _ := one.(cases.Object)["crd"].(string)
			right, _ := two.(cases.Object)["crd"].(string)
			return strings.Compare(left, right)
		})
		return list
	})},
	{Name: "dependencies-once", kind: "stack", question: depends(func(list []any) []any {
		return slices.CompactFunc(list, func(one, two any) bool { return one.(cases.Object)["crd"] == two.(cases.Object)["crd"] })
	})},
	{Name: "dependencies-with-status", kind: "stack", answer: rule("", func(rule cases.Object) {
		if list, _ := rule["resources"].([]any); len(list) == 1 && list[0] == "mysqlinstances" {
			rule["resources"] = append(list, "mysqlinstances/status")
		}
	})},
	{Name: "packages-are-stacks", kind: "stack", answer: renamed("package:", "stack:")},
	{Name: "no-version-in-names", kind: "stack", answer: func(body, answer cases.Object) {
		renamed(":"+body["app"].(cases.Object)["version"].(string)+":", ":")(body, answer)
	}},
	{Name: "role-is-renamed", kind: "stack", answer: renamed(":view", ":viewer")},
	{Name: "no-parent-labels", kind: "stack", answer: unlabelled(":system", "core.crossplane.io/parent-kind")},
	{Name: "parent-namespace-is-whole", kind: "stack", answer: each("", func(body, part cases.Object) {
		if labels, ok := field(part, "metadata", "labels").(cases.Object); ok {
			labels["core.crossplane.io/parent-name"] = field(body, "install", "name")
		}
	})},
	{Name: "no-aggregation", kind: "stack", answer: unlabelled(":edit", "rbac.crossplane.io/aggregate-to-namespace")},
	{Name: "no-aggregation-to-environment", kind: "stack", answer: unlabelled(":admin", "rbac.crossplane.io/aggregate-to-environment")},
	{Name: "namespace-label-for-all", kind: "stack", answer: each(":view", func(body, part cases.Object) {
		if labels, ok := field(part, "metadata", "labels").(cases.Object); ok {
			labels["namespace.crossplane.io/"+field(body, "install", "namespace").(string)] = "true"
		}
	})},
	{Name: "binding-to-a-role", kind: "stack", answer: each("", func(_, part cases.Object) {
		if reference, ok := part["roleRef"].(cases.Object); ok {
			reference["kind"] = "Role"
		}
	})},
	{Name: "subject-without-namespace", kind: "stack", answer: each("", func(_, part cases.Object) {
		if list, ok := part["subjects"].([]any); ok {
			delete(list[0].(cases.Object), "namespace")
		}
	})},
	{Name: "namespaced-is-cluster", kind: "stack", answer: each("", func(_, part cases.Object) {
		if part["kind"] == "RoleBinding" {
			part["kind"] = "ClusterRoleBinding"
		}
	})},
	{Name: "no-account", kind: "stack", answer: func(_, answer cases.Object) {
		if list, _ := answer["objects"].([]any); len(list) > 0 {
			answer["objects"] = list[1:]
		}
	}},
	{Name: "no-crd-labels", kind: "stack", answer: func(_, answer cases.Object) {
		if list, ok := answer["objects"].([]any); ok {
			answer["objects"] = slices.DeleteFunc(list, func(part any) bool { return part.(cases.Object)["crdLabels"] != nil })
		}
	}},
	{Name: "crds-in-another-order", kind: "stack", answer: func(_, answer cases.Object) {
		if list, _ := answer["objects"].([]any); len(list) > 7 {
			slices.Reverse(list[6:])
		}
	}},
	{Name: "crd-without-manager", kind: "stack", answer: labelled(func(labels cases.Object) { delete(labels, "app.kubernetes.io/managed-by") })},
	{Name: "crd-scope", kind: "stack", answer: labelled(func(labels cases.Object) { labels["crossplane.io/scope"] = "namespace" })},
	{Name: "crd-parents-of-stacks", kind: "stack", answer: labelled(func(labels cases.Object) {
		for key, value := range labels {
			if rest, ok := strings.CutPrefix(key, "parent.packages."); ok {
				delete(labels, key)
				labels["parent.stacks."+rest] = value
			}
		}
	})},
	{Name: "everything-is-refused", kind: "stack", answer: func(_, answer cases.Object) { answer["error"] = "cluster-scoped-crd" }},
	{Name: "core-is-allowed", kind: "stack", answer: func(_, answer cases.Object) { delete(answer, "error") }},
	{Name: "scope-does-not-matter", kind: "stack", question: func(body cases.Object) {
		scope := "Namespaced"
		if strings.HasPrefix(body["install"].(cases.Object)["kind"].(string), "Cluster") {
			scope = "Cluster"
		}
		body["app"].(cases.Object)["permissionScope"] = scope
	}},
	{Name: "system-may-delete", kind: "provider", answer: rule(":system", func(rule cases.Object) {
		if verbs, _ := rule["verbs"].([]any); len(verbs) == 6 {
			rule["verbs"] = append(verbs, "delete")
		}
	})},
	{Name: "no-finalizers", kind: "provider", answer: rules(":system", func(rules []any) []any {
		return slices.DeleteFunc(rules, func(rule any) bool {
			return slices.Equal(rule.(cases.Object)["resources"].([]any), []any{"*/finalizers"})
		})
	})},
	{Name: "no-leases", kind: "provider", answer: without(":system", "resources", "leases")},
	{Name: "groups-are-sorted", kind: "provider", answer: rules(":aggregate-to-view", func(rules []any) []any {
		slices.SortFunc(rules, func(one, two any) int {
			return strings.Compare(one.(cases.Object)["apiGroups"].([]any)[0].(string), two.(cases.Object)["apiGroups"].([]any)[0].(string))
		})
		return rules
	})},
	{Name: "resources-once", kind: "provider", answer: rule("", func(rule cases.Object) {
		if list, ok := rule["resources"].([]any); ok {
			kept := []any{}
			for _, entry := range list {
				if !slices.Contains(kept, entry) {
					kept = append(kept, entry)
				}
			}
			rule["resources"] = kept
		}
	})},
	{Name: "family-does-not-count", kind: "provider", question: dropped("family")},
	{Name: "everybody-is-family", kind: "provider", question: func(body cases.Object) {
		body["package"] = "x.io/a/b"
		list, _ := body["family"].([]any)
		for _, member := range list {
			member.(cases.Object)["package"] = "x.io/a/b"
		}
	}},
	{Name: "unknown-images-are-family", kind: "provider", question: func(body cases.Object) {
		list, _ := body["family"].([]any)
		for _, member := range list {
			if member.(cases.Object)["package"] == body["package"] {
				member.(cases.Object)["package"] = "x.io/a/b"
				body["package"] = "x.io/a/b"
			}
		}
	}},
	{Name: "no-safe-start", kind: "provider", question: dropped("capabilities")},
	{Name: "safe-start-by-letter", kind: "provider", question: func(body cases.Object) {
		if list, ok := body["capabilities"].([]any); ok {
			body["capabilities"] = slices.DeleteFunc(list, func(entry any) bool { return entry != "safe-start" })
		}
	}},
	{Name: "no-permission-requests", kind: "provider", question: dropped("permissionRequests")},
	{Name: "all-permission-requests", kind: "provider", question: func(body cases.Object) { body["allowedPermissions"] = body["permissionRequests"] }},
	{Name: "one-rejection-is-enough", kind: "provider", answer: func(_, answer cases.Object) {
		if list, _ := answer["rejected"].([]any); len(list) > 1 {
			answer["rejected"] = list[:1]
		}
	}},
	{Name: "requests-come-first", kind: "provider", answer: func(body, answer cases.Object) {
		if requests, _ := body["permissionRequests"].([]any); len(requests) > 0 {
			rules(":system", reversed)(body, answer)
		}
	}},
	{Name: "accounts-are-not-bound", kind: "provider", question: dropped("serviceAccounts")},
	{Name: "edit-is-not-for-crossplane", kind: "provider", answer: unlabelled("", "rbac.crossplane.io/aggregate-to-crossplane")},
	{Name: "system-without-label", kind: "provider", answer: unlabelled(":system", "rbac.crossplane.io/system")},
	{Name: "claims-are-browsed", kind: "composite", answer: func(_, answer cases.Object) {
		all := objects(answer)
		all[3]["rules"] = all[2]["rules"]
	}},
	{Name: "no-claims", kind: "composite", question: func(body cases.Object) { delete(body["xrd"].(cases.Object), "claimPlural") }},
	{Name: "no-status-of-composites", kind: "composite", answer: without(":aggregate-to-view", "resources", "/status")},
	{Name: "old-composites-are-new", kind: "composite", question: func(body cases.Object) { body["revision"] = "rbac-manager-v2.3" }},
	{Name: "no-label-of-the-definition", kind: "composite", answer: unlabelled("", "rbac.crossplane.io/xrd")},
	{Name: "not-for-namespaces", kind: "composite", answer: unlabelled("", "rbac.crossplane.io/aggregate-to-ns-")},
	{Name: "all-namespaces-are-managed", kind: "namespace-personas", question: func(body cases.Object) {
		for _, namespace := range body["namespaces"].([]any) {
			namespace.(cases.Object)["labels"] = cases.Object{"rbac.crossplane.io/managed-roles": "true"}
		}
	}},
	{Name: "admin-is-not-for-crossplane", kind: "namespace-personas", answer: unlabelled(":admin", "rbac.crossplane.io/aggregate-to-crossplane-admin")},
	{Name: "no-default-personas", kind: "namespace-personas", answer: each(":edit", func(_, part cases.Object) {
		rule := part["aggregationRule"].(cases.Object)
		rule["clusterRoleSelectors"] = rule["clusterRoleSelectors"].([]any)[:1]
	})},
	{Name: "parents-of-all-namespaces", kind: "namespace-personas", answer: unlabelled("", "core.crossplane.io/parent-group")},
	{Name: "cut-too-late", kind: "truncate", question: func(body cases.Object) {
		if length, ok := body["len"].(float64); ok {
			body["len"] = length + 1
		}
	}},
	{Name: "namespace-is-not-cut", kind: "truncate", answer: func(body, answer cases.Object) {
		if pair, ok := body["multiParent"].([]any); ok && len(pair[0].(string)+pair[1].(string)) < 63 {
			answer["out"] = "parent.stacks.crossplane.io/" + pair[0].(string) + "-" + pair[1].(string)
		}
	}},
	{Name: "registry-does-not-count", kind: "provider-family", answer: func(body, answer cases.Object) {
		organization := func(image any) string {
			parts := strings.Split(image.(string), "/")
			return parts[max(0, len(parts)-2)]
		}
		answer["sameOrg"] = organization(body["a"]) == organization(body["b"])
	}},
	{Name: "no-default-registry", kind: "provider-family", question: dropped("defaultRegistry")},
	{Name: "unreadable-images-are-the-same", kind: "provider-family", answer: func(body, answer cases.Object) {
		if body["a"] == body["b"] {
			answer["sameOrg"] = true
		}
	}},
	{Name: "every-dot-is-allowed", kind: "gate", answer: func(body, answer cases.Object) {
		if list, ok := field(body, "rule", "apiGroups").([]any); ok && len(list) > 0 && field(body, "rule", "nonResourceURLs") == nil {
			answer["allowed"] = !slices.ContainsFunc(list, func(group any) bool { return !strings.Contains(group.(string), ".") })
		}
	}},
	{Name: "paths-are-allowed", kind: "gate", question: func(body cases.Object) { delete(body["rule"].(cases.Object), "nonResourceURLs") }},
	{Name: "core-as-a-part", kind: "gate", answer: func(body, answer cases.Object) {
		if list, ok := field(body, "rule", "apiGroups").([]any); ok && len(list) == 1 && list[0] == "" {
			answer["allowed"] = true
		}
	}},
	{Name: "path-prefixes", kind: "permission-request", question: func(body cases.Object) {
		for _, rule := range body["owner"].([]any) {
			rule := rule.(cases.Object)
			if list, ok := rule["nonResourceURLs"].([]any); ok && slices.Contains(list, any("/apis/*")) {
				rule["nonResourceURLs"] = append(list, "/apis/a.io")
			}
		}
	}},
	{Name: "status-of-everything", kind: "permission-request", question: func(body cases.Object) {
		for _, rule := range body["owner"].([]any) {
			rule := rule.(cases.Object)
			if list, ok := rule["resources"].([]any); ok && slices.Contains(list, any("*/status")) {
				rule["resources"] = append(list, "pods/status")
			}
		}
	}},
	{Name: "names-do-not-count", kind: "permission-request", question: func(body cases.Object) {
		for _, rule := range body["owner"].([]any) {
			delete(rule.(cases.Object), "resourceNames")
		}
	}},
}

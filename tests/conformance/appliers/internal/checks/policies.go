package checks

import (
	"fmt"
	"strings"
)

const header = "apiVersion: bailiwick.dev/v1alpha1\n"

// namespaceSet returns a NamespaceSet with a ResourceQuota in each namespace. A name can be followed by fields of its entry.
func namespaceSet(name string, namespaces ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%skind: NamespaceSet\nmetadata: {name: %s}\nspec:\n", header, name)
	text.WriteString("  resourceQuota: {name: team, hard: {pods: \"20\"}}\n  namespaces:\n")
	for _, namespace := range namespaces {
		fmt.Fprintf(&text, "  - {name: %s}\n", namespace)
	}
	return text.String()
}

// grant returns a Grant in namespaces. A name of the bindings that is empty is left to the program.
func grant(name, permissionSet, bindingName string, namespaces ...string) string {
	text := fmt.Sprintf("%skind: Grant\nmetadata: {name: %s}\nspec:\n  to: {groups: [team]}\n  permissionSets: [%s]\n", header, name, permissionSet)
	if bindingName != "" {
		text += fmt.Sprintf("  bindingName: %s\n", bindingName)
	}
	return text + fmt.Sprintf("  namespaces: [%s]\n", strings.Join(namespaces, ", "))
}

// permissionSet returns a PermissionSet that lets read some resources.
func permissionSet(name, kind string, resources ...string) string {
	return fmt.Sprintf("%skind: PermissionSet\nmetadata: {name: %s}\nspec:\n  as: %s\n  rules: [{apiGroups: [\"\"], resources: [%s], verbs: [get, list, watch]}]\n",
		header, name, kind, strings.Join(resources, ", "))
}

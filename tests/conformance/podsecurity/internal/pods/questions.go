package pods

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"

	"bailiwick.dev/conformance/podsecurity/internal/protocol"
)

// PerPod is how many policies a pod is judged by.
const PerPod = 10

// Questions are those about one random pod, which depends on nothing but the seed and its number.
func Questions(seed uint64, number int) ([]*protocol.Question, error) {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	pod, err := object(r, "v1", "Pod")
	if err != nil {
		return nil, err
	}
	several := &protocol.PodSecurity{Pod: pod}
	for range PerPod {
		several.Policies = append(several.Policies, pick(r, []string{"baseline", "restricted", "restricted"})+":"+version(r))
	}
	one := &protocol.PodSecurity{Pod: pod, Level: pick(r, levels), Version: version(r)}
	questions := []*protocol.Question{{PodSecurity: several}, {PodSecurity: one}, {NamespacePolicy: policy(r)}}
	written, err := admission(r)
	return append(questions, &protocol.Question{PodAdmission: written}), err
}

// admission is the creation of a random object.
func admission(r *rand.Rand) (*protocol.PodAdmission, error) {
	version, kind := "v1", "Pod"
	if chance(r, 60) {
		controller := pick(r, controllers)
		version, kind = controller[0], controller[1]
	}
	given, err := object(r, version, kind)
	if err != nil {
		return nil, err
	}
	question := &protocol.PodAdmission{Object: given, User: pick(r, users), Labels: labels(r), Defaults: defaults(r)}
	if chance(r, 30) {
		question.Exemptions = &protocol.Exemptions{
			Usernames: exempt(r, users), Namespaces: exempt(r, namespaces), RuntimeClasses: exempt(r, runtimeClasses),
		}
	}
	return question, nil
}

func exempt(r *rand.Rand, names []string) []string {
	if chance(r, 70) {
		return nil
	}
	return []string{pick(r, names), "other"}
}

func policy(r *rand.Rand) *protocol.NamespacePolicy {
	question := &protocol.NamespacePolicy{Labels: labels(r), Defaults: defaults(r)}
	if chance(r, 50) {
		old := labels(r)
		if chance(r, 40) {
			// The same but for one label.
			old = map[string]string{}
			for key, value := range question.Labels {
				old[key] = value
			}
			other := labels(r)
			// Sorted: the order of a map is another one in each run, and the question depends on the seed alone.
			if keys := slices.Sorted(maps.Keys(other)); len(keys) > 0 {
				key := pick(r, keys)
				old[key] = other[key]
			}
		}
		question.Old = &old
	}
	return question
}

var labelKeys = []string{"enforce", "enforce-version", "audit", "audit-version", "warn", "warn-version"}

func labels(r *rand.Rand) map[string]string {
	labels := map[string]string{}
	if chance(r, 10) {
		labels["kubernetes.io/metadata.name"] = "a"
	}
	odd := pick(r, []int{0, 0, 10, 50})
	for index, key := range labelKeys {
		if chance(r, 55) {
			continue
		}
		value := pick(r, levels)
		if chance(r, odd) {
			value = pick(r, badLevels)
		}
		if index%2 == 1 {
			value = version(r)
			if chance(r, odd) {
				value = pick(r, badVersions)
			}
		}
		labels["pod-security.kubernetes.io/"+key] = value
	}
	return labels
}

func defaults(r *rand.Rand) map[string]string {
	if chance(r, 40) {
		return nil
	}
	defaults := map[string]string{}
	for index, key := range labelKeys {
		switch {
		case chance(r, 50):
		case index%2 == 1:
			defaults[key] = version(r)
		default:
			defaults[key] = pick(r, append(slices.Clone(levels), ""))
		}
	}
	return defaults
}

// controllers are the objects with templates, by version, kind and the way to the template.
var controllers = [][]string{
	{"v1", "PodTemplate", "template"},
	{"v1", "ReplicationController", "spec", "template"},
	{"apps/v1", "ReplicaSet", "spec", "template"},
	{"apps/v1", "Deployment", "spec", "template"},
	{"apps/v1", "DaemonSet", "spec", "template"},
	{"apps/v1", "StatefulSet", "spec", "template"},
	{"batch/v1", "Job", "spec", "template"},
	{"batch/v1", "CronJob", "spec", "jobTemplate", "spec", "template"},
}

// object is a random object of a kind as JSON.
func object(r *rand.Rand, version, kind string) (json.RawMessage, error) {
	made := template(r)
	encoded, err := json.Marshal(made)
	if err != nil {
		return nil, err
	}
	tree := map[string]any{}
	if err := json.Unmarshal(encoded, &tree); err != nil {
		return nil, err
	}
	sprinkle(r, tree)
	for _, controller := range controllers {
		if controller[0] == version && controller[1] == kind {
			for _, key := range slices.Backward(controller[2:]) {
				tree = map[string]any{key: tree}
			}
		}
	}
	metadata, _ := tree["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		tree["metadata"] = metadata
	}
	metadata["name"], metadata["namespace"] = "x", pick(r, namespaces)
	tree["apiVersion"], tree["kind"] = version, kind
	return json.Marshal(tree)
}

// absent are keys that may as well be null or empty, by one that tells the kind of the map.
var absent = map[string][]string{
	"containers":               {"os", "hostUsers", "hostNetwork", "hostPID", "securityContext", "volumes[]", "initContainers[]", "ephemeralContainers[]", "runtimeClassName"},
	"image":                    {"securityContext{}", "ports[]", "livenessProbe", "lifecycle{}", "startupProbe{}"},
	"runAsNonRoot":             {"seccompProfile", "seLinuxOptions{}", "windowsOptions{}", "runAsUser", "capabilities{}", "procMount", "privileged", "appArmorProfile"},
	"drop":                     {"add[]"},
	"add":                      {"drop[]"},
	"allowPrivilegeEscalation": {"seccompProfile", "seLinuxOptions{}", "windowsOptions{}", "runAsUser", "procMount", "privileged"},
}

// sprinkle adds what says nothing: nulls, empty lists and maps, and fields that nobody knows.
func sprinkle(r *rand.Rand, value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			sprinkle(r, item)
		}
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		// The order of maps must not matter.
		slices.Sort(keys)
		for _, key := range keys {
			if key == "annotations" {
				continue
			}
			sprinkle(r, value[key])
			for _, name := range absent[key] {
				add(r, value, name)
			}
		}
		if chance(r, 3) && !slices.Contains(keys, "container.apparmor.security.beta.kubernetes.io/a") {
			value["unknownField"] = pick(r, []any{1, "x", map[string]any{}, nil})
		}
	}
}

func add(r *rand.Rand, to map[string]any, name string) {
	key := name
	var empty any
	if stem := name[:len(name)-2]; name[len(name)-2:] == "[]" {
		key, empty = stem, []any{}
	} else if name[len(name)-2:] == "{}" {
		key, empty = stem, map[string]any{}
	}
	if _, present := to[key]; present || !chance(r, 8) {
		return
	}
	if chance(r, 50) {
		empty = nil
	}
	to[key] = empty
}

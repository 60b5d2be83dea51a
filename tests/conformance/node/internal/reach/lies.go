package reach

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"bailiwick.dev/conformance/ask"
	"bailiwick.dev/conformance/node/internal/compare"
)

// Lie is a mistake that somebody could make: the truth about another question, or another word for it.
type Lie struct {
	Name  string
	twist func(question Object)
	tell  func(thing thing, word string) string
}

// list is a list in an object; none if it is not there.
func list(object Object, key string) []any {
	found, _ := object[key].([]any)
	return found
}

// part is an object far in another one; an empty one if it is not there.
func part(object Object, keys ...string) Object {
	for _, key := range keys {
		object, _ = object[key].(Object)
	}
	if object == nil {
		return Object{}
	}
	return object
}

// specs changes the specs of pods: those of templates, of pods without a node and, where they are asked for, of bound pods.
func specs(name string, which func(kind string, bound bool) bool, change func(object, spec Object)) Lie {
	return Lie{Name: name, twist: func(question Object) {
		for _, each := range list(question, "objects") {
			object := each.(Object)
			of, spec := object["kind"].(string), part(object, "spec")
			switch {
			case of == "CronJob":
				spec = part(spec, "jobTemplate", "spec", "template", "spec")
			case of != "Pod":
				spec = part(spec, "template", "spec")
			}
			_, named := spec["nodeName"]
			if len(spec) > 0 && which(of, of == "Pod" && named) {
				change(object, spec)
			}
		}
	}}
}

func loose(_ string, bound bool) bool     { return !bound }
func daemons(kind string, _ bool) bool    { return kind == "DaemonSet" }
func others(kind string, bound bool) bool { return kind != "DaemonSet" && !bound }
func fixed(_ string, bound bool) bool     { return bound }
func templates(kind string, _ bool) bool  { return kind != "Pod" }
func bring(kind string) func(string, bool) bool {
	return func(own string, bound bool) bool { return own == kind && !bound }
}

func tolerations(name string, change func(toleration Object)) Lie {
	return specs(name, loose, func(_, spec Object) {
		for _, each := range list(spec, "tolerations") {
			change(each.(Object))
		}
	})
}

func taints(name string, change func(taint Object)) Lie {
	return Lie{Name: name, twist: func(question Object) {
		for _, each := range list(question, "objects") {
			if object := each.(Object); object["kind"] == "Node" {
				for _, taint := range list(part(object, "spec"), "taints") {
					change(taint.(Object))
				}
			}
		}
	}}
}

const must = "requiredDuringSchedulingIgnoredDuringExecution"

// affinity changes the required affinity; what becomes none is as if nobody had asked.
func affinity(name string, change func(terms []any) []any) Lie {
	return specs(name, loose, func(_, spec Object) {
		about := part(spec, "affinity", "nodeAffinity")
		required, there := about[must].(Object)
		if !there {
			return
		}
		if required["nodeSelectorTerms"] = change(list(required, "nodeSelectorTerms")); required["nodeSelectorTerms"].([]any) == nil {
			delete(about, must)
		}
	})
}

// requirements changes each requirement of a list of the required affinity; what becomes nothing is left out.
func requirements(name, key string, change func(requirement Object) Object) Lie {
	return affinity(name, func(terms []any) []any {
		for _, term := range terms {
			changed := []any{}
			for _, each := range list(term.(Object), key) {
				if requirement := change(each.(Object)); requirement != nil {
					changed = append(changed, requirement)
				}
			}
			term.(Object)[key] = changed
		}
		return terms
	})
}

// operator takes one operator for another.
func operator(from, to, key string) Lie {
	return requirements(fmt.Sprintf("%s of %s is %s", from, key, to), key, func(requirement Object) Object {
		if requirement["operator"] == from {
			requirement["operator"] = to
			if to == "Exists" || to == "DoesNotExist" {
				delete(requirement, "values")
			}
		}
		return requirement
	})
}

// closer moves the number of an operator.
func closer(operator string, by int) func(requirement Object) Object {
	return func(requirement Object) Object {
		numbers := list(requirement, "values")
		if requirement["operator"] == operator && len(numbers) == 1 {
			if number, err := strconv.Atoi(numbers[0].(string)); err == nil && number < math.MaxInt {
				requirement["values"] = []any{strconv.Itoa(number + by)}
			}
		}
		return requirement
	}
}

func says(term any) bool {
	return len(list(term.(Object), "matchExpressions"))+len(list(term.(Object), "matchFields")) > 0
}

// forget leaves out objects.
func forget(name string, which func(object Object) bool) Lie {
	return Lie{Name: name, twist: func(question Object) {
		question["objects"] = slices.DeleteFunc(list(question, "objects"), func(each any) bool { return which(each.(Object)) })
	}}
}

func forgetKind(kind string) Lie {
	return forget(kind+" forgotten", func(object Object) bool {
		return object["kind"] == kind && part(object, "spec")["nodeName"] == nil
	})
}

// daemonTolerations are all that pods of DaemonSets tolerate by themselves.
func daemonTolerations(spec Object) {
	for _, id := range daemonTaints[:7] {
		key, effect, _ := strings.Cut(id, ":")
		spec["tolerations"] = append(list(spec, "tolerations"), Object{"key": key, "operator": "Exists", "effect": effect})
	}
}

// Lies are all.
var Lies = []Lie{
	specs("tolerations ignored", loose, func(_, spec Object) { delete(spec, "tolerations") }),
	tolerations("key of tolerations ignored", func(each Object) {
		delete(each, "key")
	}),
	tolerations("effect of tolerations ignored", func(each Object) { delete(each, "effect") }),
	tolerations("value of tolerations ignored", func(each Object) { each["operator"] = "Exists"; delete(each, "value") }),
	tolerations("toleration without effect is for NoSchedule", func(each Object) {
		if each["effect"] == nil || each["effect"] == "" {
			each["effect"] = "NoSchedule"
		}
	}),
	tolerations("toleration without key is for nothing", func(each Object) {
		if each["key"] == nil || each["key"] == "" {
			each["key"] = "nothing"
		}
	}),
	tolerations("toleration without operator is Exists", func(each Object) {
		if each["operator"] == nil || each["operator"] == "" {
			each["operator"] = "Exists"
			delete(each, "value")
		}
	}),
	tolerations("toleration without value is for every value", func(each Object) {
		if each["value"] == nil || each["value"] == "" {
			each["operator"] = "Exists"
		}
	}),
	taints("taints ignored", func(taint Object) { taint["effect"] = "PreferNoSchedule" }),
	taints("PreferNoSchedule counted", func(taint Object) {
		if taint["effect"] == "PreferNoSchedule" {
			taint["effect"] = "NoSchedule"
		}
	}),
	taints("NoExecute not counted", func(taint Object) {
		if taint["effect"] == "NoExecute" {
			taint["effect"] = "PreferNoSchedule"
		}
	}),
	taints("NoSchedule not counted", func(taint Object) {
		if taint["effect"] == "NoSchedule" {
			taint["effect"] = "PreferNoSchedule"
		}
	}),
	operator("In", "NotIn", "matchExpressions"),
	operator("NotIn", "In", "matchExpressions"),
	operator("Exists", "DoesNotExist", "matchExpressions"),
	operator("DoesNotExist", "Exists", "matchExpressions"),
	operator("Gt", "Lt", "matchExpressions"),
	operator("Lt", "Gt", "matchExpressions"),
	operator("In", "Exists", "matchExpressions"),
	operator("In", "NotIn", "matchFields"),
	operator("NotIn", "In", "matchFields"),
	requirements("Gt is also for the same number", "matchExpressions", closer("Gt", -1)),
	requirements("Lt is also for the same number", "matchExpressions", closer("Lt", 1)),
	requirements("no number is as none was asked for", "matchExpressions", func(requirement Object) Object {
		if of := requirement["operator"]; (of == "Gt" || of == "Lt") && requirement["values"].([]any)[0] == "x" {
			return Object{"key": "nobody-has-this", "operator": "DoesNotExist"}
		}
		return requirement
	}),
	affinity("NotIn needs the label", func(terms []any) []any {
		for _, term := range terms {
			for _, each := range list(term.(Object), "matchExpressions") {
				if requirement := each.(Object); requirement["operator"] == "NotIn" {
					term.(Object)["matchExpressions"] = append(list(term.(Object), "matchExpressions"), Object{"key": requirement["key"], "operator": "Exists"})
				}
			}
		}
		return terms
	}),
	requirements("matchFields ignored", "matchFields", func(Object) Object { return nil }),
	requirements("matchExpressions ignored", "matchExpressions", func(Object) Object { return nil }),
	affinity("required affinity ignored", func([]any) []any { return nil }),
	affinity("all terms have to hold", func(terms []any) []any {
		all := Object{"matchExpressions": []any{}, "matchFields": []any{}}
		for _, term := range terms {
			for key := range all {
				all[key] = append(list(all, key), list(term.(Object), key)...)
			}
		}
		return []any{all}
	}),
	affinity("only the first term counts", func(terms []any) []any { return terms[:min(1, len(terms))] }),
	affinity("one requirement of a term is enough", func(terms []any) []any {
		each := []any{}
		for _, term := range terms {
			for _, key := range []string{"matchExpressions", "matchFields"} {
				for _, requirement := range list(term.(Object), key) {
					each = append(each, Object{key: []any{requirement}})
				}
			}
		}
		return each
	}),
	affinity("an empty term holds everywhere", func(terms []any) []any {
		if slices.ContainsFunc(terms, func(term any) bool { return !says(term) }) {
			return nil
		}
		return terms
	}),
	affinity("an empty list of terms holds everywhere", func(terms []any) []any {
		if len(terms) == 0 {
			return nil
		}
		return terms
	}),
	specs("preferred affinity is required", loose, func(_, spec Object) {
		about := part(spec, "affinity", "nodeAffinity")
		for _, each := range list(about, "preferredDuringSchedulingIgnoredDuringExecution") {
			about[must] = Object{"nodeSelectorTerms": []any{part(each.(Object), "preference")}}
		}
	}),
	specs("nodeSelector ignored", loose, func(_, spec Object) { delete(spec, "nodeSelector") }),
	specs("one label of nodeSelector is enough", loose, func(_, spec Object) {
		selector := part(spec, "nodeSelector")
		for _, key := range slices.Sorted(maps.Keys(selector))[min(1, len(selector)):] {
			delete(selector, key)
		}
	}),

	// Under other names nobody tolerates these taints by himself.
	{Name: "tolerations of daemons missing", twist: func(question Object) {
		rename := func(each Object) {
			if key, _ := each["key"].(string); key != "" {
				each["key"] = "x." + key
			}
		}
		taints("", rename).twist(question)
		tolerations("", rename).twist(question)
	}},
	specs("daemons never tolerate a missing network", daemons, func(_, spec Object) { delete(spec, "hostNetwork") }),
	specs("daemons always tolerate a missing network", daemons, func(_, spec Object) { spec["hostNetwork"] = true }),
	specs("daemons tolerate these taints with every effect", daemons, func(_, spec Object) {
		daemonTolerations(spec)
		for _, each := range list(spec, "tolerations") {
			if key, _ := each.(Object)["key"].(string); strings.HasPrefix(key, "node.kubernetes.io/") && each.(Object)["operator"] == "Exists" {
				delete(each.(Object), "effect")
			}
		}
	}),
	specs("everybody tolerates what daemons do", others, func(_, spec Object) { daemonTolerations(spec) }),
	specs("nodeName of templates ignored", templates, func(_, spec Object) { delete(spec, "nodeName") }),
	specs("nodeName of daemons ignored", daemons, func(_, spec Object) { delete(spec, "nodeName") }),
	specs("daemons with nodeName need nothing else", daemons, func(_, spec Object) {
		if spec["nodeName"] != nil {
			delete(spec, "nodeSelector")
			delete(spec, "affinity")
			spec["tolerations"] = []any{Object{"operator": "Exists"}}
		}
	}),
	specs("the scheduler looks at pods with nodeName", others, func(_, spec Object) {
		name, named := spec["nodeName"]
		if !named {
			return
		}
		delete(spec, "nodeName")
		only := Object{"key": "metadata.name", "operator": "In", "values": []any{name}}
		about := part(spec, "affinity", "nodeAffinity")
		if required, there := about[must].(Object); there {
			for _, term := range list(required, "nodeSelectorTerms") {
				term.(Object)["matchFields"] = append(list(term.(Object), "matchFields"), only)
			}
			return
		}
		spec["affinity"] = Object{"nodeAffinity": Object{must: Object{"nodeSelectorTerms": []any{Object{"matchFields": []any{only}}}}}}
	}),
	specs("bound pods forgotten", fixed, func(_, spec Object) { spec["nodeName"] = "elsewhere" }),
	specs("bound pods may come to other nodes", fixed, func(_, spec Object) { delete(spec, "nodeName") }),
	forget("finished pods forgotten", func(object Object) bool { return part(object, "status")["phase"] != nil }),
	specs("mirror pods count", fixed, func(object, _ Object) { delete(part(object, "metadata"), "annotations") }),

	{Name: "daemons are not sure", tell: func(thing thing, word string) string {
		if strings.Contains(thing.name, "/daemonset-") {
			return "maybe"
		}
		return word
	}},
	{Name: "pods of other workloads are sure", tell: func(thing thing, word string) string {
		if strings.Contains(thing.name, "/deployment-") {
			return "yes"
		}
		return word
	}},
	{Name: "claims of daemons are sure", tell: func(thing thing, word string) string {
		if strings.Contains(thing.name, "/daemonset-") {
			return "yes"
		}
		return word
	}},
	{Name: "the least sure counts", tell: func(thing thing, word string) string {
		if strings.HasSuffix(thing.name, "/shared") || strings.HasSuffix(thing.name, "/default") {
			return "maybe"
		}
		return word
	}},
	forget("volumes forgotten", func(object Object) bool { return object["kind"] == "PersistentVolume" }),
	specs("ephemeral volumes forgotten", loose, func(_, spec Object) {
		for _, volume := range list(spec, "volumes") {
			delete(volume.(Object), "ephemeral")
		}
	}),
	specs("claims of stateful sets forgotten", bring("StatefulSet"), func(object, _ Object) {
		delete(part(object, "spec"), "volumeClaimTemplates")
	}),
	specs("older field of accounts ignored", loose, func(_, spec Object) { delete(spec, "serviceAccount") }),
	forgetKind("DaemonSet"), forgetKind("Deployment"), forgetKind("StatefulSet"), forgetKind("Job"), forgetKind("CronJob"),
	forgetKind("ReplicaSet"), forgetKind("ReplicationController"), forgetKind("Pod"),
}

// say is what a lie makes of the truth about a question.
func (l *Lie) say(oracle ask.Answerer, question Object, truth map[thing]string) (map[thing]string, error) {
	if l.tell != nil {
		told := map[thing]string{}
		for thing, word := range truth {
			told[thing] = l.tell(thing, word)
		}
		return told, nil
	}
	twisted, err := compare.Generic(question)
	if err != nil {
		return nil, err
	}
	l.twist(twisted)
	if reflect.DeepEqual(twisted, question) {
		return truth, nil
	}
	said, _, err := asked(oracle, twisted)
	return said, err
}

// SelfTest tells every lie about a sample of questions, each of which has to be noticed.
func SelfTest(out io.Writer, oracle ask.Answerer, clusters int) error {
	source := rand.New(rand.NewPCG(1, 2))
	questions, truths := []Object{}, []map[thing]string{}
	for range clusters {
		question, err := compare.Generic(Random(source))
		if err != nil {
			return err
		}
		truth, _, err := asked(oracle, question)
		if err != nil {
			return err
		}
		questions, truths = append(questions, question), append(truths, truth)
	}
	for index := range Lies {
		lie := &Lies[index]
		noticed := 0
		for at := 0; at < clusters && noticed == 0; at++ {
			said, err := lie.say(oracle, questions[at], truths[at])
			if err != nil {
				return fmt.Errorf("self-test: %s: %w", lie.Name, err)
			}
			if !maps.Equal(said, truths[at]) {
				noticed = at + 1
			}
		}
		if noticed == 0 {
			return fmt.Errorf("self-test: nobody notices `%s`", lie.Name)
		}
		fmt.Fprintf(out, "%-56s noticed within %d clusters\n", lie.Name, noticed)
	}
	fmt.Fprintf(out, "self-test: %d clusters, %d lies, all noticed\n", clusters, len(Lies))
	return nil
}

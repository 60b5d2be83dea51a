package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"k8s.io/api/admissionregistration/v1"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/restmapper"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// typeQuestion is a policy, with the definitions of custom resources.
type typeQuestion struct {
	Policy      *v1.ValidatingAdmissionPolicy              `json:"typeCheck"`
	Definitions []apiextensionsv1.CustomResourceDefinition `json:"definitions"`
}

// misfit is an expression that does not fit a kind.
type misfit struct {
	Field      string `json:"field"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Message    string `json:"message"`
}

var builtIn = resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme, apiextensionsscheme.Scheme)

// checkTypes does what the controller of the policies' status does.
func checkTypes(question typeQuestion) verdict {
	groups, err := servedGroups()
	if err != nil {
		return verdict{Stage: "unknown", Message: err.Error()}
	}
	custom := customResolver{}
	for index := range question.Definitions {
		definition := &question.Definitions[index]
		groups = append(groups, custom.add(definition)...)
	}
	checker := &validating.TypeChecker{SchemaResolver: builtIn.Combine(custom), RestMapper: restmapper.NewDiscoveryRESTMapper(groups)}
	context := checker.CreateContext(question.Policy)
	answer := verdict{}
	take := func(field, expression string) {
		for _, result := range checker.CheckExpression(context, expression) {
			answer.Misfits = append(answer.Misfits, misfit{field, result.GVK.GroupVersion().String(), result.GVK.Kind, result.String()})
		}
	}
	for index, validation := range question.Policy.Spec.Validations {
		take(fmt.Sprintf("spec.validations[%d].expression", index), validation.Expression)
		if validation.MessageExpression != "" {
			take(fmt.Sprintf("spec.validations[%d].messageExpression", index), validation.MessageExpression)
		}
	}
	return answer
}

var served []*restmapper.APIGroupResources

// servedGroups lists what a server of the release serves by default.
func servedGroups() ([]*restmapper.APIGroupResources, error) {
	if served != nil {
		return served[:len(served):len(served)], nil
	}
	var core metav1.APIResourceList
	if err := readDiscovery("core", &core); err != nil {
		return nil, err
	}
	var groups apidiscovery.APIGroupDiscoveryList
	if err := readDiscovery("groups", &groups); err != nil {
		return nil, err
	}
	served = append(served, group("", "v1", core.APIResources))
	for _, one := range groups.Items {
		for _, version := range one.Versions {
			// Of the beta versions, only those of an earlier time are on.
			if strings.Contains(version.Version, "alpha") || strings.Contains(version.Version, "beta") {
				continue
			}
			found := group(one.Name, version.Version, nil)
			for _, known := range version.Resources {
				found.VersionedResources[version.Version] = append(found.VersionedResources[version.Version], metav1.APIResource{
					Name: known.Resource, SingularName: known.SingularResource, Kind: known.ResponseKind.Kind,
				})
			}
			served = append(served, found)
		}
	}
	return servedGroups()
}

// readDiscovery reads a discovery document of the release, which `build` copies from its module to the folder of this program.
func readDiscovery(name string, into interface{}) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	document, err := os.ReadFile(program + "-" + name + ".json")
	if err != nil {
		return err
	}
	return json.Unmarshal(document, into)
}

func group(name, version string, resources []metav1.APIResource) *restmapper.APIGroupResources {
	known := metav1.GroupVersionForDiscovery{GroupVersion: schema.GroupVersion{Group: name, Version: version}.String(), Version: version}
	return &restmapper.APIGroupResources{
		Group:              metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{known}, PreferredVersion: known},
		VersionedResources: map[string][]metav1.APIResource{version: resources},
	}
}

// customResolver finds the schemas of custom resources in the documents that the server publishes of them.
type customResolver map[schema.GroupVersionKind]*spec.Schema

func (r customResolver) ResolveSchema(kind schema.GroupVersionKind) (*spec.Schema, error) {
	if found, ok := r[kind]; ok {
		return found, nil
	}
	return nil, fmt.Errorf("%v: %w", kind, resolver.ErrSchemaNotFound)
}

const references = "#/components/schemas/"

func (r customResolver) add(definition *apiextensionsv1.CustomResourceDefinition) []*restmapper.APIGroupResources {
	var groups []*restmapper.APIGroupResources
	names := definition.Spec.Names
	for _, version := range definition.Spec.Versions {
		if !version.Served {
			continue
		}
		groups = append(groups, group(definition.Spec.Group, version.Name, []metav1.APIResource{{Name: names.Plural, SingularName: names.Singular, Kind: names.Kind}}))
		document, err := builder.BuildOpenAPIV3(definition, version.Name, builder.Options{V2: false})
		if err != nil {
			continue
		}
		text, err := json.Marshal(document)
		if err != nil {
			continue
		}
		var published struct {
			Components struct {
				Schemas map[string]*spec.Schema `json:"schemas"`
			} `json:"components"`
		}
		if err := json.Unmarshal(text, &published); err != nil {
			continue
		}
		for name := range published.Components.Schemas {
			if !strings.HasSuffix(name, "."+version.Name+"."+names.Kind) {
				continue
			}
			found, err := resolver.PopulateRefs(func(reference string) (*spec.Schema, bool) {
				known, ok := published.Components.Schemas[strings.TrimPrefix(reference, references)]
				return known, ok
			}, name)
			if err == nil {
				r[schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: names.Kind}] = found
			}
		}
	}
	sort.Slice(groups, func(i, j int) bool { return groups[i].Group.Versions[0].Version < groups[j].Group.Versions[0].Version })
	return groups
}

package kube

import (
	"context"
	"encoding/json"
	"slices"

	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/apis/core"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecuritypolicy"
)

// Choice is which of many policies a new pod gets.
type Choice struct {
	// Allowed tells whether the pod is stored.
	Allowed bool
	// PSP is the policy that the mutating plugin chose; empty for none, and where the validating plugin has none.
	PSP string
	// Pod holds the parts that a policy fills in, where the pod is stored, and Whole the pod with everything else.
	Pod   any
	Whole []byte
}

// Choose runs a new pod through the real plugin, as an API server does: mutate, prepare, validate, ask again.
func Choose(policyTexts [][]byte, usable []string, podText []byte) (*Choice, error) {
	policies, err := readAll(policyTexts)
	if err != nil {
		return nil, err
	}
	plugin, err := newPlugin(policies, usable)
	if err != nil {
		return nil, err
	}
	pod, err := Pod(podText)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	choice := &Choice{}
	if err := plugin.(admission.MutationInterface).Admit(ctx, attributes(pod), nil); err != nil {
		return choice, nil
	}
	choice.PSP = pod.Annotations["kubernetes.io/psp"]
	podregistry.Strategy.PrepareForCreate(ctx, pod)
	for _, problem := range podregistry.Strategy.Validate(ctx, pod) {
		if concernsPolicies(problem.Field) || problem.Field == "spec.ephemeralContainers" {
			return choice, nil
		}
	}
	if err := plugin.(admission.ValidationInterface).Validate(ctx, attributes(pod), nil); err != nil {
		choice.PSP = ""
		return choice, nil
	}
	choice.Allowed = true
	choice.Pod, choice.Whole, err = parts(pod)
	return choice, err
}

func newPlugin(policies []*policyv1beta1.PodSecurityPolicy, usable []string) (admission.Interface, error) {
	factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
	// What the plugin lists, without a watch that would have to be waited for.
	store := factory.Policy().V1beta1().PodSecurityPolicies().Informer().GetStore()
	for _, policy := range policies {
		if err := store.Add(policy); err != nil {
			return nil, err
		}
	}
	plugins := admission.NewPlugins()
	podsecuritypolicy.Register(plugins)
	return plugins.InitPlugin(podsecuritypolicy.PluginName, nil, initializer{factory, only(usable)})
}

// Keep asks the real plugin about a pod that changes: the policy that admits it as it is, if any.
func Keep(policyTexts [][]byte, usable []string, podText []byte) (string, error) {
	policies, err := readAll(policyTexts)
	if err != nil {
		return "", err
	}
	plugin, err := newPlugin(policies, usable)
	if err != nil {
		return "", err
	}
	pod, err := Pod(podText)
	if err != nil {
		return "", err
	}
	// Of what changed the plugin wants to know only that it is more than the garbage collector's business.
	before := pod.DeepCopy()
	before.Spec.Containers = append(before.Spec.Containers, core.Container{Name: "before"})
	asked := &audited{Attributes: admission.NewAttributesRecord(
		pod, before, core.Kind("Pod").WithVersion("v1"), pod.Namespace, pod.Name, core.Resource("pods").WithVersion("v1"), "",
		admission.Update, runtime.Object(nil), false, &user.DefaultInfo{Name: "u"})}
	if err := plugin.(admission.ValidationInterface).Validate(context.Background(), asked, nil); err != nil {
		return "", nil
	}
	return asked.policy, nil
}

// audited remembers what the plugin tells the audit log.
type audited struct {
	admission.Attributes
	policy string
}

func (a *audited) AddAnnotation(key, value string) error {
	if key == "podsecuritypolicy.policy.k8s.io/validate-policy" {
		a.policy = value
	}
	return nil
}

func readAll(texts [][]byte) ([]*policyv1beta1.PodSecurityPolicy, error) {
	var policies []*policyv1beta1.PodSecurityPolicy
	for _, text := range texts {
		object, err := Policy(text)
		if err != nil {
			return nil, err
		}
		policies = append(policies, object)
	}
	return policies, nil
}

// initializer gives the plugin what it needs.
type initializer struct {
	factory    informers.SharedInformerFactory
	authorizer authorizer.Authorizer
}

func (i initializer) Initialize(plugin admission.Interface) {
	if plugin, ok := plugin.(*podsecuritypolicy.Plugin); ok {
		plugin.SetExternalKubeInformerFactory(i.factory)
		plugin.SetAuthorizer(i.authorizer)
	}
}

// only allows the use of some policies, in the group that counts today.
type only []string

func (o only) Authorize(_ context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	if asked.GetVerb() == "use" && asked.GetAPIGroup() == "policy" && slices.Contains(o, asked.GetName()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func attributes(pod *core.Pod) admission.Attributes {
	return admission.NewAttributesRecord(
		pod, nil, core.Kind("Pod").WithVersion("v1"), pod.Namespace, pod.Name, core.Resource("pods").WithVersion("v1"), "",
		admission.Create, runtime.Object(nil), false, &user.DefaultInfo{Name: "u"})
}

// Texts writes objects as they are sent.
func Texts(objects []any) ([][]byte, error) {
	texts := make([][]byte, len(objects))
	for index, object := range objects {
		text, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		texts[index] = text
	}
	return texts, nil
}

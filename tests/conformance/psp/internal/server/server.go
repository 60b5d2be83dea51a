// Package server admits pods as an API server of Kubernetes 1.24 does: with RBAC, and the plugins ServiceAccount and
// PodSecurityPolicy.
package server

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1internal "k8s.io/kubernetes/pkg/apis/core/v1"
	policyinternal "k8s.io/kubernetes/pkg/apis/policy/v1beta1"
	rbacinternal "k8s.io/kubernetes/pkg/apis/rbac/v1"
	"k8s.io/kubernetes/pkg/capabilities"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecuritypolicy"
	serviceaccountplugin "k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

func init() {
	// Without this no server takes a privileged container, whatever the policies say.
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
}

// A Creator is the user of a request, with the groups of the user.
type Creator struct {
	User   string   `json:"user"`
	Groups []string `json:"groups"`
}

// Account returns a service account as a creator.
func Account(namespace, name string) Creator {
	info := serviceaccount.UserInfo(namespace, name, "")
	return Creator{info.GetName(), append(info.GetGroups(), user.AllAuthenticated)}
}

// Controller returns the account of a controller of Kubernetes.
func Controller(name string) Creator { return Account("kube-system", name) }

// Person returns a user with groups.
func Person(name string, groups ...string) Creator {
	return Creator{name, append(slices.Clone(groups), user.AllAuthenticated)}
}

func (c Creator) info() user.Info { return &user.DefaultInfo{Name: c.User, Groups: c.Groups} }

// A Fate is the outcome of the creation of a pod.
type Fate struct {
	// Policy is the PodSecurityPolicy of the pod; empty for a rejected pod.
	Policy string
	// Pod is the stored pod; nil for a rejected pod.
	Pod *corev1.Pod
	// Rejection is the message of the server.
	Rejection string
}

// A Server has the policies, the service accounts and the RBAC objects of a cluster.
type Server struct {
	policies []*policyv1beta1.PodSecurityPolicy
	rules    validation.AuthorizationRuleResolver
	store    cache.Store
	accounts admission.MutationInterface
	plugin   admission.Interface
	usable   map[[3]string][]any
}

// New returns a server with the default policy of 1.24 below the objects.
func New(objects []runtime.Object) (*Server, error) {
	factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
	server := &Server{usable: map[[3]string][]any{}, store: factory.Policy().V1beta1().PodSecurityPolicies().Informer().GetStore()}
	accounts := factory.Core().V1().ServiceAccounts().Informer().GetStore()
	grants := newGrants()
	for _, object := range objects {
		var err error
		switch object := object.(type) {
		case *policyv1beta1.PodSecurityPolicy:
			policy := object.DeepCopy()
			policyinternal.SetObjectDefaults_PodSecurityPolicy(policy)
			server.policies = append(server.policies, policy)
		case *corev1.ServiceAccount:
			err = accounts.Add(object)
		default:
			err = grants.add(object)
		}
		if err != nil {
			return nil, err
		}
	}
	byRBAC := rbac.New(grants.roles(), grants.roleBindings(), grants.clusterRoles(), grants.clusterRoleBindings())
	server.rules = validation.NewDefaultRuleResolver(grants.roles(), grants.roleBindings(), grants.clusterRoles(), grants.clusterRoleBindings())
	ofAccounts := serviceaccountplugin.NewServiceAccount()
	ofAccounts.SetExternalKubeInformerFactory(factory)
	ofAccounts.SetExternalKubeClientSet(fake.NewSimpleClientset())
	server.accounts = ofAccounts
	plugins := admission.NewPlugins()
	podsecuritypolicy.Register(plugins)
	var err error
	server.plugin, err = plugins.InitPlugin(podsecuritypolicy.PluginName, nil, initializer{factory, byRBAC})
	return server, err
}

// Create runs a new pod through the server: defaults, mutating plugins, strategy, validating plugin.
func (s *Server) Create(creator Creator, object *corev1.Pod) (*Fate, error) {
	object = object.DeepCopy()
	corev1internal.SetObjectDefaults_Pod(object)
	pod := &core.Pod{}
	if err := corev1internal.Convert_v1_Pod_To_core_Pod(object, pod, nil); err != nil {
		return nil, err
	}
	ctx := context.Background()
	request := attributes(creator, pod)
	if err := s.accounts.Admit(ctx, request, nil); err != nil {
		return &Fate{Rejection: err.Error()}, nil
	}
	if err := s.store.Replace(s.usablePolicies(creator, pod), ""); err != nil {
		return nil, err
	}
	if err := s.plugin.(admission.MutationInterface).Admit(ctx, request, nil); err != nil {
		return &Fate{Rejection: err.Error()}, nil
	}
	podregistry.Strategy.PrepareForCreate(ctx, pod)
	if pod.Name == "" {
		pod.Name = podregistry.Strategy.GenerateName(pod.GenerateName)
	}
	if problems := podregistry.Strategy.Validate(ctx, pod); len(problems) > 0 {
		return &Fate{Rejection: problems.ToAggregate().Error()}, nil
	}
	if err := s.plugin.(admission.ValidationInterface).Validate(ctx, request, nil); err != nil {
		return &Fate{Rejection: err.Error()}, nil
	}
	stored := &corev1.Pod{}
	if err := corev1internal.Convert_core_Pod_To_v1_Pod(pod, stored, nil); err != nil {
		return nil, err
	}
	stored.APIVersion, stored.Kind = "v1", "Pod"
	return &Fate{Policy: pod.Annotations["kubernetes.io/psp"], Pod: stored}, nil
}

// usablePolicies returns the policies that the creator or the service account may use, by the rules of RBAC. The plugin passes over all
// others, but only after it has evaluated them, which takes minutes with thousands of policies. It authorizes these once more.
func (s *Server) usablePolicies(creator Creator, pod *core.Pod) []any {
	key := [3]string{pod.Namespace, creator.User, pod.Spec.ServiceAccountName}
	if found, known := s.usable[key]; known {
		return found
	}
	who := []user.Info{creator.info()}
	if pod.Spec.ServiceAccountName != "" {
		who = append(who, serviceaccount.UserInfo(pod.Namespace, pod.Spec.ServiceAccountName, ""))
	}
	var rules []rbacv1.PolicyRule
	for _, one := range who {
		// A binding of a missing role is an error beside the rules of all others.
		more, _ := s.rules.RulesFor(one, pod.Namespace)
		for _, rule := range more {
			if rbacinternal.VerbMatches(&rule, "use") {
				rules = append(rules, rule)
			}
		}
	}
	var usable []any
	for _, policy := range s.policies {
		if slices.ContainsFunc([]string{"policy", "extensions"}, func(group string) bool {
			return rbac.RulesAllow(authorizer.AttributesRecord{Verb: "use", Namespace: pod.Namespace, APIGroup: group, APIVersion: "*",
				Resource: "podsecuritypolicies", Name: policy.Name, ResourceRequest: true}, rules...)
		}) {
			usable = append(usable, policy)
		}
	}
	s.usable[key] = usable
	return usable
}

func attributes(creator Creator, pod *core.Pod) admission.Attributes {
	return admission.NewAttributesRecord(
		pod, nil, core.Kind("Pod").WithVersion("v1"), pod.Namespace, pod.Name, core.Resource("pods").WithVersion("v1"), "",
		admission.Create, runtime.Object(nil), false, creator.info())
}

// initializer gives the plugin the policies and the authorizer.
type initializer struct {
	factory    informers.SharedInformerFactory
	authorizer authorizer.Authorizer
}

// Initialize sets up the plugin.
func (i initializer) Initialize(plugin admission.Interface) {
	if plugin, ok := plugin.(*podsecuritypolicy.Plugin); ok {
		plugin.SetExternalKubeInformerFactory(i.factory)
		plugin.SetAuthorizer(i.authorizer)
	}
}

// Default fills in the defaults of the API.
func Default(object runtime.Object) { legacyscheme.Scheme.Default(object) }

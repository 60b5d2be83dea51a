package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/plugin/pkg/admission/noderestriction"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// authorize decides requests with a graph that its own event handlers fill.
func (q *question) authorize(stored []runtime.Object) ([]object, error) {
	graph := node.NewGraph()
	handlers := watch(graph)
	for _, each := range stored {
		// Some pods were elsewhere before, of which nothing may remain.
		if pod, ok := each.(*corev1.Pod); ok && pod.Spec.NodeName != "" && strings.HasSuffix(string(pod.UID), "7") {
			before := pod.DeepCopy()
			before.Spec.NodeName = "n1"
			before.UID += "-before"
			handlers.add(before)
			handlers.remove(before)
		}
		handlers.add(each)
	}
	nodes := node.NewAuthorizer(graph, nodeidentifier.NewDefaultNodeIdentifier(), bootstrappolicy.NodeRules())
	results := []object{}
	for _, each := range q.Requests {
		attributes := authorizer.AttributesRecord{
			User:            &user.DefaultInfo{Name: each.User, Groups: each.Groups},
			Verb:            each.Verb,
			Namespace:       each.Namespace,
			APIGroup:        each.APIGroup,
			APIVersion:      "v1",
			Resource:        each.Resource,
			Subresource:     each.Subresource,
			Name:            each.Name,
			ResourceRequest: each.Path == "",
			Path:            each.Path,
		}
		selectFields(&attributes, each.FieldSelector)
		decision, reason, err := nodes.Authorize(context.Background(), attributes)
		if err != nil {
			return nil, err
		}
		text := map[authorizer.Decision]string{
			authorizer.DecisionAllow: "allow", authorizer.DecisionDeny: "deny", authorizer.DecisionNoOpinion: "no-opinion",
		}[decision]
		results = append(results, object{"decision": text, "reason": reason})
	}
	return results, nil
}

// handlers are the event handlers of the graph, by what they are told about.
type handlers map[string]*[]cache.ResourceEventHandler

func (h handlers) of(stored runtime.Object) []cache.ResourceEventHandler {
	if list := h[fmt.Sprintf("%T", stored)]; list != nil {
		return *list
	}
	return nil
}

func (h handlers) remove(stored runtime.Object) {
	for _, handler := range h.of(stored) {
		handler.OnDelete(stored)
	}
}

// teller stands for an informer that only knows whom to tell.
type teller struct {
	cache.SharedIndexInformer
	told *[]cache.ResourceEventHandler
}

func (teller) HasSynced() bool { return true }

// admit decides admission questions with a plugin whose listers hold the objects.
func (q *question) admit(stored []runtime.Object) ([]object, error) {
	results := []object{}
	if len(q.Admission) == 0 {
		return results, nil
	}
	factory := informers.NewSharedInformerFactory(nil, 0)
	for _, each := range stored {
		var informer cache.SharedIndexInformer
		switch each.(type) {
		case *corev1.Pod:
			informer = factory.Core().V1().Pods().Informer()
		case *corev1.Node:
			informer = factory.Core().V1().Nodes().Informer()
		case *corev1.ServiceAccount:
			informer = factory.Core().V1().ServiceAccounts().Informer()
		case *corev1.PersistentVolumeClaim:
			informer = factory.Core().V1().PersistentVolumeClaims().Informer()
		case *corev1.PersistentVolume:
			informer = factory.Core().V1().PersistentVolumes().Informer()
		case *storagev1.CSIDriver:
			informer = factory.Storage().V1().CSIDrivers().Informer()
		default:
			continue
		}
		if err := informer.GetIndexer().Add(each); err != nil {
			return nil, err
		}
	}
	asked := &grants{}
	plugin := noderestriction.NewPlugin(nodeidentifier.NewDefaultNodeIdentifier())
	start(plugin, factory, asked)
	if err := plugin.ValidateInitialization(); err != nil {
		return nil, err
	}
	for _, each := range q.Admission {
		attributes, err := each.attributes()
		if err != nil {
			return nil, err
		}
		*asked = grants{review: each}
		verdict := object{"allowed": true, "message": ""}
		if plugin.Handles(attributes.GetOperation()) {
			if err := plugin.Admit(context.Background(), attributes, nil); err != nil {
				verdict = object{"allowed": false, "message": err.Error()}
			}
		}
		if asked.wrong != "" {
			return nil, fmt.Errorf("the plugin asked its authorizer for %s", asked.wrong)
		}
		results = append(results, verdict)
	}
	return results, nil
}

func (r review) attributes() (admission.Attributes, error) {
	object, err := decode(r.Object)
	if err != nil {
		return nil, err
	}
	old, err := decode(r.OldObject)
	if err != nil {
		return nil, err
	}
	group := schema.GroupVersion{Group: r.APIGroup, Version: r.Version}
	asker := &user.DefaultInfo{Name: r.User, Groups: r.Groups}
	return admission.NewAttributesRecord(object, old, group.WithKind(r.Kind), r.Namespace, r.Name, group.WithResource(r.Resource),
		r.Subresource, admission.Operation(r.Operation), nil, false, asker), nil
}

// signerVerb is asked since 1.37, of the service account that a certificate is for.
const signerVerb = "request-serviceaccounts-podcertificate-signer"

// grants is an authorizer that lets a node ask for some audiences and signers.
type grants struct {
	review review
	wrong  string
}

func (g *grants) Authorize(_ context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	if asked.GetVerb() == signerVerb {
		return g.signer(asked)
	}
	// The grant is about one service account of one namespace, so that these must have been asked for.
	if asked.GetVerb() != "request-serviceaccounts-token-audience" || asked.GetNamespace() != g.review.Namespace ||
		asked.GetName() != g.review.Name || asked.GetUser().GetName() != g.review.User || asked.GetAPIGroup() != "" {
		g.wrong = fmt.Sprintf("%#v", asked)
	}
	if g.review.Authz == "allow" {
		return authorizer.DecisionAllow, "", nil
	}
	for _, audience := range g.review.AudiencesAllowed {
		if audience == asked.GetResource() {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// signer decides about a signer, in whose name every slash is a colon.
func (g *grants) signer(asked authorizer.Attributes) (authorizer.Decision, string, error) {
	if asked.GetNamespace() != g.review.Namespace || asked.GetName() == "" || asked.GetUser().GetName() != g.review.User ||
		asked.GetAPIGroup() != "certificates.k8s.io" || asked.GetSubresource() != "" {
		g.wrong = fmt.Sprintf("%#v", asked)
	}
	for _, signer := range g.review.SignersAllowed {
		if signer == asked.GetResource() {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// validate keeps what validation says about the annotation of mirror pods.
func (q *question) validate() ([]object, error) {
	results := []object{}
	for _, each := range q.Validation {
		fresh, err := decode(each.Object)
		if err != nil {
			return nil, err
		}
		old, err := decode(each.OldObject)
		if err != nil {
			return nil, err
		}
		var found field.ErrorList
		if old == nil {
			found = validation.ValidatePodCreate(fresh.(*api.Pod), validation.PodValidationOptions{})
		} else {
			found = validation.ValidatePodUpdate(fresh.(*api.Pod), old.(*api.Pod), validation.PodValidationOptions{})
		}
		errors := []string{}
		for _, each := range found {
			if strings.Contains(each.Field, api.MirrorPodAnnotationKey) {
				errors = append(errors, each.Error())
			}
		}
		results = append(results, object{"errors": errors})
	}
	return results, nil
}

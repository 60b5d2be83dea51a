package main

import (
	certsv1alpha1 "k8s.io/api/certificates/v1alpha1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericfeatures "k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	certsinformers "k8s.io/client-go/informers/certificates/v1alpha1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	storageinformers "k8s.io/client-go/informers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/resource"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/plugin/pkg/admission/noderestriction"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
)

func init() {
	versions[resource.GroupName] = resourcev1.SchemeGroupVersion
	versions[certificates.GroupName] = certsv1alpha1.SchemeGroupVersion
}

type (
	nodes struct{ coreinformers.NodeInformer }
	pods  struct {
		coreinformers.PodInformer
		teller
	}
	volumes struct {
		coreinformers.PersistentVolumeInformer
		teller
	}
	attached struct {
		storageinformers.VolumeAttachmentInformer
		teller
	}
	slices struct {
		resourceinformers.ResourceSliceInformer
		teller
	}
	requests struct {
		certsinformers.PodCertificateRequestInformer
		teller
	}
)

func (p pods) Informer() cache.SharedIndexInformer     { return p.teller }
func (v volumes) Informer() cache.SharedIndexInformer  { return v.teller }
func (a attached) Informer() cache.SharedIndexInformer { return a.teller }
func (s slices) Informer() cache.SharedIndexInformer   { return s.teller }
func (r requests) Informer() cache.SharedIndexInformer { return r.teller }

func (t teller) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	*t.told = append(*t.told, handler)
	return t, nil
}

// watch connects a graph, and as the API server does only to what the gates let it watch.
func watch(graph *node.Graph) handlers {
	made := handlers{}
	tell := func(kind string) teller {
		made[kind] = &[]cache.ResourceEventHandler{}
		return teller{told: made[kind]}
	}
	var seen resourceinformers.ResourceSliceInformer
	if utilfeature.DefaultFeatureGate.Enabled(features.DynamicResourceAllocation) {
		seen = slices{teller: tell("*v1.ResourceSlice")}
	}
	var asked certsinformers.PodCertificateRequestInformer
	if utilfeature.DefaultFeatureGate.Enabled(features.PodCertificateRequest) {
		asked = requests{teller: tell("*v1alpha1.PodCertificateRequest")}
	}
	node.AddGraphEventHandlers(graph, nodes{}, pods{teller: tell("*v1.Pod")}, volumes{teller: tell("*v1.PersistentVolume")},
		attached{teller: tell("*v1.VolumeAttachment")}, seen, asked)
	return made
}

func (h handlers) add(stored runtime.Object) {
	for _, handler := range h.of(stored) {
		handler.OnAdd(stored, false)
	}
}

// selectFields reads a selector as the filter does that makes attributes of a request.
func selectFields(attributes *authorizer.AttributesRecord, text string) {
	if text == "" || !utilfeature.DefaultFeatureGate.Enabled(genericfeatures.AuthorizeWithSelectors) {
		return
	}
	selector, err := fields.ParseSelector(text)
	if err != nil {
		attributes.FieldSelectorParsingErr = err
		return
	}
	attributes.FieldSelectorRequirements = selector.Requirements()
}

func start(plugin *noderestriction.Plugin, factory informers.SharedInformerFactory, granted authorizer.Authorizer) {
	plugin.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	plugin.SetExternalKubeInformerFactory(factory)
	plugin.SetAuthorizer(granted)
}

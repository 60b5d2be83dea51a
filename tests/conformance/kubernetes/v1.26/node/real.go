package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	storageinformers "k8s.io/client-go/informers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/admission/noderestriction"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
)

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
)

func (p pods) Informer() cache.SharedIndexInformer     { return p.teller }
func (v volumes) Informer() cache.SharedIndexInformer  { return v.teller }
func (a attached) Informer() cache.SharedIndexInformer { return a.teller }

func (t teller) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	*t.told = append(*t.told, handler)
	return t, nil
}

// watch connects a graph.
func watch(graph *node.Graph) handlers {
	made := handlers{}
	tell := func(kind string) teller {
		made[kind] = &[]cache.ResourceEventHandler{}
		return teller{told: made[kind]}
	}
	node.AddGraphEventHandlers(graph, nodes{}, pods{teller: tell("*v1.Pod")}, volumes{teller: tell("*v1.PersistentVolume")},
		attached{teller: tell("*v1.VolumeAttachment")})
	return made
}

func (h handlers) add(stored runtime.Object) {
	for _, handler := range h.of(stored) {
		handler.OnAdd(stored)
	}
}

// selectFields reads no selector: authorizers of this release are not told of any.
func selectFields(*authorizer.AttributesRecord, string) {}

func start(plugin *noderestriction.Plugin, factory informers.SharedInformerFactory, _ authorizer.Authorizer) {
	plugin.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	plugin.SetExternalKubeInformerFactory(factory)
}

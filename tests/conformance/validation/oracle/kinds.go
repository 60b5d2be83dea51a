package main

import (
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admission/install"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
	admissionregistrationmutatingadmissionpolicy "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	admissionregistrationmutatingadmissionpolicybinding "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	admissionregistrationmutatingwebhookconfiguration "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	admissionregistrationvalidatingadmissionpolicy "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	admissionregistrationvalidatingadmissionpolicybinding "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	admissionregistrationvalidatingwebhookconfiguration "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	apiserverinternalstorageversion "k8s.io/kubernetes/pkg/registry/apiserverinternal/storageversion"
	appscontrollerrevision "k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	appsdaemonset "k8s.io/kubernetes/pkg/registry/apps/daemonset"
	appsdeployment "k8s.io/kubernetes/pkg/registry/apps/deployment"
	appsreplicaset "k8s.io/kubernetes/pkg/registry/apps/replicaset"
	appsstatefulset "k8s.io/kubernetes/pkg/registry/apps/statefulset"
	autoscalinghorizontalpodautoscaler "k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	batchcronjob "k8s.io/kubernetes/pkg/registry/batch/cronjob"
	batchjob "k8s.io/kubernetes/pkg/registry/batch/job"
	certificatescertificates "k8s.io/kubernetes/pkg/registry/certificates/certificates"
	certificatesclustertrustbundle "k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	certificatespodcertificaterequest "k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest"
	coordinationlease "k8s.io/kubernetes/pkg/registry/coordination/lease"
	coordinationleasecandidate "k8s.io/kubernetes/pkg/registry/coordination/leasecandidate"
	coreconfigmap "k8s.io/kubernetes/pkg/registry/core/configmap"
	coreendpoint "k8s.io/kubernetes/pkg/registry/core/endpoint"
	coreevent "k8s.io/kubernetes/pkg/registry/core/event"
	corelimitrange "k8s.io/kubernetes/pkg/registry/core/limitrange"
	corenamespace "k8s.io/kubernetes/pkg/registry/core/namespace"
	corenode "k8s.io/kubernetes/pkg/registry/core/node"
	corepersistentvolume "k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	corepersistentvolumeclaim "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	corepod "k8s.io/kubernetes/pkg/registry/core/pod"
	corepodtemplate "k8s.io/kubernetes/pkg/registry/core/podtemplate"
	corereplicationcontroller "k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	coreresourcequota "k8s.io/kubernetes/pkg/registry/core/resourcequota"
	coresecret "k8s.io/kubernetes/pkg/registry/core/secret"
	coreservice "k8s.io/kubernetes/pkg/registry/core/service"
	coreserviceaccount "k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	discoveryendpointslice "k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	flowcontrolflowschema "k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	flowcontrolprioritylevelconfiguration "k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	networkingingress "k8s.io/kubernetes/pkg/registry/networking/ingress"
	networkingingressclass "k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	networkingipaddress "k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	networkingnetworkpolicy "k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	networkingservicecidr "k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	noderuntimeclass "k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	policypoddisruptionbudget "k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	rbacclusterrole "k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	rbacclusterrolebinding "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	rbacrole "k8s.io/kubernetes/pkg/registry/rbac/role"
	rbacrolebinding "k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	resourcedeviceclass "k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	resourcedevicetaintrule "k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	resourceresourceclaim "k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	resourceresourceclaimtemplate "k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	resourceresourceslice "k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	schedulingpodgroup "k8s.io/kubernetes/pkg/registry/scheduling/podgroup"
	schedulingpriorityclass "k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	schedulingworkload "k8s.io/kubernetes/pkg/registry/scheduling/workload"
	storagecsidriver "k8s.io/kubernetes/pkg/registry/storage/csidriver"
	storagecsinode "k8s.io/kubernetes/pkg/registry/storage/csinode"
	storagecsistoragecapacity "k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	storagestorageclass "k8s.io/kubernetes/pkg/registry/storage/storageclass"
	storagevolumeattachment "k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	storagevolumeattributesclass "k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
	storagemigrationstoragemigration "k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"
)

// createStrategies lists what the API server does with each kind before it stores a new object.
func createStrategies() map[schema.GroupKind]rest.RESTCreateStrategy {
	return map[schema.GroupKind]rest.RESTCreateStrategy{
		{Group: "", Kind: "Pod"}:                                                          corepod.Strategy,
		{Group: "", Kind: "Service"}:                                                      coreservice.Strategy,
		{Group: "", Kind: "ConfigMap"}:                                                    coreconfigmap.Strategy,
		{Group: "", Kind: "Secret"}:                                                       coresecret.Strategy,
		{Group: "", Kind: "Namespace"}:                                                    corenamespace.Strategy,
		{Group: "", Kind: "Node"}:                                                         corenode.Strategy,
		{Group: "", Kind: "ServiceAccount"}:                                               coreserviceaccount.Strategy,
		{Group: "", Kind: "ResourceQuota"}:                                                coreresourcequota.Strategy,
		{Group: "", Kind: "LimitRange"}:                                                   corelimitrange.Strategy,
		{Group: "", Kind: "PersistentVolume"}:                                             corepersistentvolume.Strategy,
		{Group: "", Kind: "PersistentVolumeClaim"}:                                        corepersistentvolumeclaim.Strategy,
		{Group: "", Kind: "PodTemplate"}:                                                  corepodtemplate.Strategy,
		{Group: "", Kind: "Endpoints"}:                                                    coreendpoint.Strategy,
		{Group: "", Kind: "ReplicationController"}:                                        corereplicationcontroller.Strategy,
		{Group: "", Kind: "Event"}:                                                        coreevent.Strategy,
		{Group: "apps", Kind: "Deployment"}:                                               appsdeployment.Strategy,
		{Group: "apps", Kind: "DaemonSet"}:                                                appsdaemonset.Strategy,
		{Group: "apps", Kind: "StatefulSet"}:                                              appsstatefulset.Strategy,
		{Group: "apps", Kind: "ReplicaSet"}:                                               appsreplicaset.Strategy,
		{Group: "apps", Kind: "ControllerRevision"}:                                       appscontrollerrevision.Strategy,
		{Group: "batch", Kind: "Job"}:                                                     batchjob.Strategy,
		{Group: "batch", Kind: "CronJob"}:                                                 batchcronjob.Strategy,
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:                           autoscalinghorizontalpodautoscaler.Strategy,
		{Group: "policy", Kind: "PodDisruptionBudget"}:                                    policypoddisruptionbudget.Strategy,
		{Group: "networking.k8s.io", Kind: "Ingress"}:                                     networkingingress.Strategy,
		{Group: "networking.k8s.io", Kind: "IngressClass"}:                                networkingingressclass.Strategy,
		{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                               networkingnetworkpolicy.Strategy,
		{Group: "networking.k8s.io", Kind: "ServiceCIDR"}:                                 networkingservicecidr.Strategy,
		{Group: "networking.k8s.io", Kind: "IPAddress"}:                                   networkingipaddress.Strategy,
		{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                                rbacrole.Strategy,
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                         rbacclusterrole.Strategy,
		{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:                         rbacrolebinding.Strategy,
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                  rbacclusterrolebinding.Strategy,
		{Group: "storage.k8s.io", Kind: "StorageClass"}:                                   storagestorageclass.Strategy,
		{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                      storagecsidriver.Strategy,
		{Group: "storage.k8s.io", Kind: "CSINode"}:                                        storagecsinode.Strategy,
		{Group: "storage.k8s.io", Kind: "CSIStorageCapacity"}:                             storagecsistoragecapacity.Strategy,
		{Group: "storage.k8s.io", Kind: "VolumeAttachment"}:                               storagevolumeattachment.Strategy,
		{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:                          storagevolumeattributesclass.Strategy,
		{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                               schedulingpriorityclass.Strategy,
		{Group: "scheduling.k8s.io", Kind: "Workload"}:                                    schedulingworkload.Strategy,
		{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                      noderuntimeclass.Strategy,
		{Group: "coordination.k8s.io", Kind: "Lease"}:                                     coordinationlease.Strategy,
		{Group: "coordination.k8s.io", Kind: "LeaseCandidate"}:                            coordinationleasecandidate.Strategy,
		{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:                                discoveryendpointslice.Strategy,
		{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:                 certificatescertificates.Strategy,
		{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}:                        certificatesclustertrustbundle.Strategy,
		{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}:                       flowcontrolflowschema.Strategy,
		{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"}:       flowcontrolprioritylevelconfiguration.Strategy,
		{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     admissionregistrationmutatingwebhookconfiguration.Strategy,
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   admissionregistrationvalidatingwebhookconfiguration.Strategy,
		{Group: "storagemigration.k8s.io", Kind: "StorageVersionMigration"}:               storagemigrationstoragemigration.Strategy,
		{Group: "resource.k8s.io", Kind: "DeviceClass"}:                                   resourcedeviceclass.Strategy,
		{Group: "resource.k8s.io", Kind: "ResourceSlice"}:                                 resourceresourceslice.Strategy,
		{Group: "resource.k8s.io", Kind: "DeviceTaintRule"}:                               resourcedevicetaintrule.Strategy,
		{Group: "internal.apiserver.k8s.io", Kind: "StorageVersion"}:                      apiserverinternalstorageversion.Strategy,
		{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                                 resourceresourceclaim.NewStrategy(nil, nil),
		{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}:                         resourceresourceclaimtemplate.NewStrategy(nil),
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        admissionregistrationvalidatingadmissionpolicy.NewStrategy(nil, nil),
		{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:          admissionregistrationmutatingadmissionpolicy.NewStrategy(nil, nil),
		{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   admissionregistrationmutatingadmissionpolicybinding.NewStrategy(nil, nil, nil),
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: admissionregistrationvalidatingadmissionpolicybinding.NewStrategy(nil, nil, nil),
		{Group: "scheduling.k8s.io", Kind: "PodGroup"}:                                    schedulingpodgroup.NewStrategy(),
		{Group: "certificates.k8s.io", Kind: "PodCertificateRequest"}:                     certificatespodcertificaterequest.NewStrategy(),
		{Group: "events.k8s.io", Kind: "Event"}:                                           coreevent.Strategy,
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:                 customresourcedefinition.NewStrategy(legacyscheme.Scheme),
		{Group: "apiregistration.k8s.io", Kind: "APIService"}:                             apiservice.NewStrategy(legacyscheme.Scheme),
	}
}

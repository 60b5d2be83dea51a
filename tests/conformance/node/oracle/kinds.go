package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/storage"

	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// versions are those in which objects are watched.
var versions = map[string]schema.GroupVersion{
	api.GroupName:     corev1.SchemeGroupVersion,
	storage.GroupName: storagev1.SchemeGroupVersion,
}

// served is an object in the version in which it is watched.
func served(internal runtime.Object) (runtime.Object, error) {
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(internal)
	if err != nil {
		return nil, err
	}
	version, ok := versions[kinds[0].Group]
	if !ok {
		return nil, fmt.Errorf("nobody watches %s", kinds[0])
	}
	return legacyscheme.Scheme.ConvertToVersion(internal, version)
}

// enabled tells what a gate is, if there is one of that name.
func enabled(name string) (now, known bool) {
	defer func() {
		if recover() != nil {
			now, known = false, false
		}
	}()
	return utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name)), true
}

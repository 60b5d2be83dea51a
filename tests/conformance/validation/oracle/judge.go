package main

import (
	"context"
	"errors"
	"fmt"
	"sort"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// decoder is strict, as for a request with fieldValidation=Strict.
var decoder runtime.Decoder

var strategies map[schema.GroupKind]rest.RESTCreateStrategy

func init() {
	apiextensions.Install(legacyscheme.Scheme)
	apiregistration.Install(legacyscheme.Scheme)
	decoder = jsonserializer.NewSerializerWithOptions(
		jsonserializer.DefaultMetaFactory, legacyscheme.Scheme, legacyscheme.Scheme, jsonserializer.SerializerOptions{Strict: true})
	strategies = createStrategies()
}

// kinds lists `apiVersion Kind` of all kinds with a strategy.
func kinds() []string {
	var found []string
	for known := range strategies {
		for _, version := range legacyscheme.Scheme.VersionsForGroupKind(known) {
			apiVersion := version.String()
			if version.Version != runtime.APIVersionInternal {
				found = append(found, fmt.Sprintf("%s %s", apiVersion, known.Kind))
			}
		}
	}
	sort.Strings(found)
	return found
}

func judge(manifest []byte) (answer verdict) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = verdict{Stage: "panic", Message: fmt.Sprint(cause)}
		}
	}()
	var types typeQuestion
	if json.Unmarshal(manifest, &types) == nil && types.Policy != nil {
		return checkTypes(types)
	}
	var custom customObject
	if json.Unmarshal(manifest, &custom) == nil && custom.Custom != nil {
		return judgeCustom(custom)
	}
	manifest, err := asClientsSend(manifest)
	if err != nil {
		return verdict{Stage: "decode", Message: err.Error()}
	}
	object, kind, err := decoder.Decode(manifest, nil, nil)
	if err != nil {
		if runtime.IsStrictDecodingError(err) {
			return verdict{Stage: "strict", Message: err.Error()}
		}
		return verdict{Stage: "decode", Message: err.Error()}
	}
	legacyscheme.Scheme.Default(object)
	internal, err := legacyscheme.Scheme.ConvertToVersion(object, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return verdict{Stage: "decode", Message: err.Error()}
	}
	strategy, known := strategies[kind.GroupKind()]
	if !known {
		return verdict{Stage: "unknown", Message: kind.String()}
	}
	accessor, err := meta.Accessor(internal)
	if err != nil {
		return verdict{Stage: "decode", Message: err.Error()}
	}
	namespace := ""
	if strategy.NamespaceScoped() {
		if accessor.GetNamespace() == "" {
			accessor.SetNamespace(metav1.NamespaceDefault)
		}
		namespace = accessor.GetNamespace()
	} else {
		accessor.SetNamespace("")
	}
	ctx := request.WithNamespace(context.Background(), namespace)
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: kind.Group, APIVersion: kind.Version, Namespace: namespace,
	})
	rest.FillObjectMetaSystemFields(accessor)
	// The server chooses both at random.
	accessor.SetUID("00000000-0000-0000-0000-000000000000")
	if prefix := accessor.GetGenerateName(); prefix != "" && accessor.GetName() == "" {
		name := strategy.GenerateName(prefix)
		accessor.SetName(name[:max(len(name)-5, 0)] + "xxxxx")
	}
	if err := rest.BeforeCreate(strategy, ctx, internal); err != nil {
		return refusal(err)
	}
	accessor.SetUID("")
	accessor.SetCreationTimestamp(metav1.Time{})
	stored, err := legacyscheme.Scheme.ConvertToVersion(internal, kind.GroupVersion())
	if err != nil {
		return verdict{Stage: "convert", Message: err.Error()}
	}
	text, err := runtime.Encode(legacyscheme.Codecs.LegacyCodec(kind.GroupVersion()), stored)
	if err != nil {
		return verdict{Stage: "convert", Message: err.Error()}
	}
	return verdict{Stored: text}
}

// asClientsSend writes numbers as kubectl does, which reads a manifest without its type before it sends it.
func asClientsSend(manifest []byte) ([]byte, error) {
	var value any
	if err := json.Unmarshal(manifest, &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// refusal lists the causes of an error of validation.
func refusal(err error) verdict {
	var status *apierrors.StatusError
	answer := verdict{Stage: "validate", Message: err.Error()}
	if errors.As(err, &status) && status.ErrStatus.Details != nil {
		for _, cause := range status.ErrStatus.Details.Causes {
			answer.Errors = append(answer.Errors, fieldError{Type: string(cause.Type), Field: cause.Field, Message: cause.Message})
		}
	}
	return answer
}

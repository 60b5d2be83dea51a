package main

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
)

// customObject is a custom resource with the schema of its definition.
type customObject struct {
	Schema map[string]any `json:"schema"`
	Custom map[string]any `json:"custom"`
}

// judgeCustom does what the server does with a custom resource: strict pruning, defaulting, validation. The metadata is left to
// the rules of all kinds.
func judgeCustom(question customObject) verdict {
	text, err := json.Marshal(question.Schema)
	if err != nil {
		return verdict{Stage: "unknown", Message: err.Error()}
	}
	var external v1.JSONSchemaProps
	if err := json.Unmarshal(text, &external); err != nil {
		return verdict{Stage: "unknown", Message: err.Error()}
	}
	var internal apiextensions.JSONSchemaProps
	if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil); err != nil {
		return verdict{Stage: "unknown", Message: err.Error()}
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return verdict{Stage: "unknown", Message: err.Error()}
	}
	if errors := schema.ValidateStructural(nil, structural); len(errors) > 0 {
		return verdict{Stage: "unknown", Message: errors.ToAggregate().Error()}
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return verdict{Stage: "unknown", Message: err.Error()}
	}
	unknown := pruning.PruneWithOptions(question.Custom, structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if err, more := objectmeta.CoerceWithOptions(nil, question.Custom, structural, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true}); err != nil {
		return verdict{Stage: "decode", Message: err.Error()}
	} else {
		unknown = append(unknown, more...)
	}
	if len(unknown) > 0 {
		return verdict{Stage: "strict", Message: fmt.Sprint(unknown)}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(question.Custom, structural)
	defaulting.Default(question.Custom, structural)
	if errors := validation.ValidateCustomResource(nil, question.Custom, validator); len(errors) > 0 {
		answer := verdict{Stage: "validate", Message: errors.ToAggregate().Error()}
		for _, one := range errors {
			answer.Errors = append(answer.Errors, fieldError{Type: string(one.Type), Field: one.Field, Message: one.Detail})
		}
		return answer
	}
	return verdict{}
}

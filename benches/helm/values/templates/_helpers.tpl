{{- define "tenants.ownId" -}}
ranges:
- max: {{ .uid }}
  min: {{ .uid }}
rule: MustRunAs
{{- end }}

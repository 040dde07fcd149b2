{{/* The name of everything that is of the release alone. */}}
{{- define "provider.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "provider.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "provider.labels" -}}
{{ include "provider.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "provider.serviceAccount" -}}
{{- if .Values.serviceAccount.name }}{{ .Values.serviceAccount.name }}{{ else if .Values.serviceAccount.enabled }}{{ include "provider.name" . }}{{ else }}default{{ end }}
{{- end }}

{{/* What kinds are in no namespace, and namespaces themselves. */}}
{{- define "provider.unscoped" -}}
{{- $out := list "namespaces" }}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $crd := $.Files.Get $path | fromYaml }}
{{- if eq $crd.spec.scope "Cluster" }}{{ $out = append $out $crd.spec.names.plural }}{{ end }}
{{- end }}
{{- toJson $out }}
{{- end }}

{{- define "provider.subjects" -}}
- kind: ServiceAccount
  name: {{ include "provider.serviceAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* The name of the objects of this release. */}}
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

{{/* The plurals of the cluster-scoped resources in the rules: namespaces, CRDs, and kinds of the provider. */}}
{{- define "provider.unscoped" -}}
{{- $out := list "namespaces" "customresourcedefinitions" }}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $crd := $.Files.Get $path | fromYaml }}
{{- if eq $crd.spec.scope "Cluster" }}{{ $out = append $out $crd.spec.names.plural }}{{ end }}
{{- end }}
{{- toJson $out }}
{{- end }}

{{/* The namespaces to which the provider is restricted; none means all. */}}
{{- define "provider.namespaces" -}}
{{- $out := .Values.rbac.namespaces }}
{{- if .Values.rbac.namespaced }}{{ $out = prepend $out .Release.Namespace }}{{ end }}
{{- uniq $out | toJson }}
{{- end }}

{{/* The parts of rules for resources whose plurals are in a list, or are not in it. */}}
{{- define "provider.about" -}}
{{- $out := list }}
{{- range $rule := .rules }}
{{- $resources := list }}
{{- range $rule.resources }}{{ if eq (has (splitList "/" . | first) $.plurals) $.are }}{{ $resources = append $resources . }}{{ end }}{{ end }}
{{- if $resources }}{{ $out = append $out (merge (dict "resources" $resources) $rule) }}{{ end }}
{{- end }}
{{- toJson $out }}
{{- end }}

{{/* The parts of rules that only read. */}}
{{- define "provider.reads" -}}
{{- $out := list }}
{{- range $rule := . }}
{{- $verbs := list }}
{{- range $rule.verbs }}{{ if has . (list "get" "list" "watch") }}{{ $verbs = append $verbs . }}{{ end }}{{ end }}
{{- if has "*" $rule.verbs }}{{ $verbs = list "get" "list" "watch" }}{{ end }}
{{- if $verbs }}{{ $out = append $out (merge (dict "verbs" $verbs) $rule) }}{{ end }}
{{- end }}
{{- toJson $out }}
{{- end }}

{{/* Rules that permit to get all namespaces, so that the command plan can say that one does not exist. */}}
{{- define "provider.withNamespaces" -}}
{{- $rules := . }}
{{- $permitted := false }}
{{- range $rules }}
{{- if and (eq (join "," .resources) "namespaces") (has "get" .verbs) }}
{{- $permitted = true }}
{{- $_ := unset . "resourceNames" }}
{{- end }}
{{- end }}
{{- if not $permitted }}
{{- $rules = append $rules (dict "apiGroups" (list "") "resources" (list "namespaces") "verbs" (list "get")) }}
{{- end }}
{{- toJson $rules }}
{{- end }}

{{/* The rules of the provider: those of its role, without writes of Secrets if no object asks for any. */}}
{{- define "provider.rules" -}}
{{- $rules := (.Files.Get "files/rbac/role.yaml" | fromYaml).rules }}
{{- if not .Values.rbac.connectionSecrets }}
{{- $left := include "provider.about" (dict "rules" $rules "plurals" (list "secrets") "are" false) | fromJsonArray }}
{{- $secrets := include "provider.about" (dict "rules" $rules "plurals" (list "secrets") "are" true) | fromJsonArray }}
{{- $rules = include "provider.reads" $secrets | fromJsonArray | concat $left }}
{{- end }}
{{- toJson $rules }}
{{- end }}

{{- define "provider.subjects" -}}
- kind: ServiceAccount
  name: {{ include "provider.serviceAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "provider.image" -}}
{{- with .Values.manager.image }}{{ printf "%s%s" .repository (empty .digest | ternary (printf ":%s" (.tag | default $.Chart.AppVersion)) (printf "@%s" .digest)) | quote }}{{ end }}
{{- end }}

{{/* The environment of a container, by the values of the manager. */}}
{{- define "provider.environment" -}}
{{- if or .env .envOverrides }}
env:
  {{- range .env }}
  {{- if not (hasKey $.envOverrides .name) }}
  - {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- range $name, $value := .envOverrides }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
{{- end }}
{{- with .envSecret }}
envFrom:
  - secretRef:
      name: {{ . }}
      optional: true
{{- end }}
{{- end }}

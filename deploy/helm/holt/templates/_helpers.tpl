{{- define "holt.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "holt.labels" -}}
app.kubernetes.io/name: holt
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "holt.selector" -}}
app.kubernetes.io/name: holt
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: host
{{- end -}}

{{- define "holt.frontSelector" -}}
app.kubernetes.io/name: holt
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: front
{{- end -}}

{{/* Hosts and fronts: the pods that speak with each other. */}}
{{- define "holt.peerSelector" -}}
app.kubernetes.io/name: holt
app.kubernetes.io/instance: {{ .Release.Name }}
holt.dev/peer: "true"
{{- end -}}

{{/* The pods that clients use. */}}
{{- define "holt.entrySelector" -}}
{{- if .Values.fronts.enabled }}{{ include "holt.frontSelector" . }}{{ else }}{{ include "holt.selector" . }}{{ end -}}
{{- end -}}

{{- define "holt.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "holt.name" .) -}}
{{- end -}}

{{- define "holt.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The chart makes no secret: one that a template makes is a new one at each upgrade. */}}
{{- define "holt.required" -}}
{{- $database := required "database.existingSecret is empty: make a Secret with the address of PostgreSQL, and name it" .Values.database.existingSecret -}}
{{- $keys := required "masterKeys.existingSecret is empty: make a Secret with the master keys, and name it" .Values.masterKeys.existingSecret -}}
{{- $store := required "objectStore.url is empty: hosts of a fleet share an object store" .Values.objectStore.url -}}
{{- end -}}

{{/* The settings that hosts, fronts and the preflight share. */}}
{{- define "holt.env" -}}
- {name: HOLT_FLEET, value: '1'}
- {name: HOLT_MASTER_KEYS_FILE, value: /etc/holt/master-keys/master-keys.json}
- {name: HOLT_HOST, value: '0.0.0.0'}
- {name: HOLT_ALLOW_REMOTE, value: '1'}
- name: HOLT_PEER_ADDRESS
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
- name: HOLT_KUBERNETES_NODE
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
- name: HOLT_DATABASE_URL
  valueFrom:
    secretKeyRef: {name: {{ .Values.database.existingSecret | quote }}, key: {{ .Values.database.key | quote }}}
- {name: HOLT_OBJECT_STORE, value: {{ .Values.objectStore.url | quote }}}
{{- with .Values.objectStore.existingSecret }}
- name: AWS_ACCESS_KEY_ID
  valueFrom: {secretKeyRef: {name: {{ . | quote }}, key: AWS_ACCESS_KEY_ID}}
- name: AWS_SECRET_ACCESS_KEY
  valueFrom: {secretKeyRef: {name: {{ . | quote }}, key: AWS_SECRET_ACCESS_KEY}}
{{- end }}
{{- if .Values.artifactKey.existingSecret }}
- {name: HOLT_ARTIFACT_KEY, value: /etc/holt/artifact-keys/keys}
{{- end }}
- {name: HOLT_FLEET_SUSPECT, value: {{ .Values.fleet.suspect | quote }}}
- {name: HOLT_FLEET_FENCE, value: {{ .Values.fleet.fence | quote }}}
- {name: HOLT_FLEET_VERDICT, value: {{ .Values.fleet.verdict | quote }}}
- {name: HOLT_POOL_MIN, value: {{ .Values.pools.min | quote }}}
- {name: HOLT_POOL_MAX, value: {{ .Values.pools.max | quote }}}
- {name: HOLT_MEMORY_OVERCOMMIT, value: {{ .Values.memoryOvercommit | quote }}}
{{- with .Values.portDomain }}
- {name: HOLT_PORT_DOMAIN, value: {{ . | quote }}}
{{- end }}
{{- with .Values.reserve.memory }}
- {name: HOLT_RESERVE_MEMORY, value: {{ . | quote }}}
{{- end }}
{{- with .Values.reserve.disk }}
- {name: HOLT_RESERVE_DISK, value: {{ . | quote }}}
{{- end }}
{{- with .Values.trustedProxies }}
- {name: HOLT_TRUSTED_PROXIES, value: {{ join "," . | quote }}}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What a host needs of its Node. Mounts of runtimes have to be the Node's, so that they outlive the pod. */}}
{{- define "holt.mounts" -}}
- {name: state, mountPath: {{ .Values.stateDir | quote }}, mountPropagation: Bidirectional}
- {name: run, mountPath: /run/holt, mountPropagation: Bidirectional}
- {name: dev, mountPath: /dev}
- {name: cgroups, mountPath: /sys/fs/cgroup}
{{ include "holt.keyMounts" . }}
{{- end -}}

{{/* The keys of the fleet, and what the operator adds. */}}
{{- define "holt.keyMounts" -}}
- {name: master-keys, mountPath: /etc/holt/master-keys, readOnly: true}
{{- if .Values.artifactKey.existingSecret }}
- {name: artifact-keys, mountPath: /etc/holt/artifact-keys, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "holt.volumes" -}}
- name: state
  hostPath: {path: {{ .Values.stateDir | quote }}, type: DirectoryOrCreate}
- name: run
  hostPath: {path: {{ .Values.runDir | quote }}, type: DirectoryOrCreate}
- name: dev
  hostPath: {path: /dev, type: Directory}
- name: cgroups
  hostPath: {path: /sys/fs/cgroup, type: Directory}
{{ include "holt.keyVolumes" (dict "root" . "mode" "0400") }}
{{- end -}}

{{/* `mode` is that of the files: 0400 for root, 0440 for a group. */}}
{{- define "holt.keyVolumes" -}}
{{- $mode := .mode -}}
{{- with .root -}}
- name: master-keys
  secret:
    secretName: {{ .Values.masterKeys.existingSecret | quote }}
    defaultMode: {{ $mode }}
    items: [{key: {{ .Values.masterKeys.key | quote }}, path: master-keys.json}]
{{- if .Values.artifactKey.existingSecret }}
- name: artifact-keys
  secret:
    secretName: {{ .Values.artifactKey.existingSecret | quote }}
    defaultMode: {{ $mode }}
    items: [{key: {{ .Values.artifactKey.key | quote }}, path: keys}]
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- end -}}

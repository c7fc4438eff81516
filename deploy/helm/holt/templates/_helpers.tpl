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

{{/* The pods that may ask hosts: with workers, fronts alone. */}}
{{- define "holt.askerSelector" -}}
{{- if .Values.workers.enabled }}{{ include "holt.frontSelector" . }}{{ else }}{{ include "holt.peerSelector" . }}{{ end -}}
{{- end -}}

{{/* The pods that watch over Nodes, and hear of evictions. */}}
{{- define "holt.watcherSelector" -}}
{{- if .Values.workers.enabled }}{{ include "holt.frontSelector" . }}{{ else }}{{ include "holt.selector" . }}{{ end -}}
{{- end -}}

{{/* The pods that clients use. */}}
{{- define "holt.entrySelector" -}}
{{- if .Values.fronts.enabled }}{{ include "holt.frontSelector" . }}{{ else }}{{ include "holt.selector" . }}{{ end -}}
{{- end -}}

{{- define "holt.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "holt.name" .) -}}
{{- end -}}

{{/* The service accounts of the pods with keys, separated by spaces. */}}
{{- define "holt.keyAccounts" -}}
{{- if not .Values.workers.enabled }}{{ include "holt.serviceAccount" . }}{{ end -}}
{{- if .Values.fronts.enabled }} {{ include "holt.serviceAccount" . }}-front{{ end -}}
{{- end -}}

{{- define "holt.hostAccount" -}}
{{- include "holt.serviceAccount" . }}{{ if .Values.workers.enabled }}-worker{{ end -}}
{{- end -}}

{{/* The service account of the pods that watch over Nodes. */}}
{{- define "holt.watcherAccount" -}}
{{- include "holt.serviceAccount" . }}{{ if .Values.workers.enabled }}-front{{ end -}}
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
{{- if .Values.workers.enabled -}}
{{- if not .Values.fronts.enabled }}{{ fail "workers.enabled needs fronts, which hold the keys: set fronts.enabled" }}{{ end -}}
{{- if not .Values.fronts.nodeSelector }}{{ fail "fronts.nodeSelector is empty: fronts need Nodes of their own, on which no worker is" }}{{ end -}}
{{- $token := required "workers.joinTokenSecret is empty: name the Secret for the token with which workers join" .Values.workers.joinTokenSecret -}}
{{- end -}}
{{- end -}}

{{/* The settings of the hosts that have the keys of the fleet. */}}
{{- define "holt.keyEnv" -}}
- {name: HOLT_MASTER_KEYS_FILE, value: /etc/holt/master-keys/master-keys.json}
- name: HOLT_DATABASE_URL
  valueFrom:
    secretKeyRef: {name: {{ .Values.database.existingSecret | quote }}, key: {{ .Values.database.key | quote }}}
{{- end -}}

{{/* The settings of the pods that watch over Nodes. */}}
{{- define "holt.watcherEnv" -}}
- {name: HOLT_KUBERNETES_DRAIN_ON_CORDON, value: {{ ternary "1" "0" .Values.drainOnCordon | quote }}}
{{- if .Values.guard.enabled }}
- {name: HOLT_KUBERNETES_GUARD_IMAGE, value: {{ .Values.guard.image | default (include "holt.image" .) | quote }}}
{{- if .Values.guard.evictions.enabled }}
- {name: HOLT_KUBERNETES_EVICTIONS, value: /etc/holt/evictions}
{{- end }}
{{- end }}
{{- end -}}

{{/* The settings of a host: with keys, or of a worker. The preflight has them, too. */}}
{{- define "holt.hostEnv" -}}
- {name: HOLT_STATE_DIR, value: {{ .Values.stateDir | quote }}}
{{- if .Values.workers.enabled }}
- {name: HOLT_ROLE, value: worker}
- {name: HOLT_JOIN_TOKEN_FILE, value: /etc/holt/join/token}
- name: HOLT_JOIN_ADDRESS
  value: {{ .Values.workers.joinAddress | default (printf "%s-join.%s:4659" (include "holt.name" .) .Release.Namespace) | quote }}
{{- else }}
{{ include "holt.keyEnv" . }}
{{- end }}
{{ include "holt.env" . }}
{{- end -}}

{{/* The settings that hosts and fronts share. */}}
{{- define "holt.env" -}}
- {name: HOLT_FLEET, value: '1'}
- {name: HOLT_HOST, value: '0.0.0.0'}
- {name: HOLT_ALLOW_REMOTE, value: '1'}
- name: HOLT_PEER_ADDRESS
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
- name: HOLT_KUBERNETES_NODE
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
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
{{- if .Values.workers.enabled }}
- {name: join, mountPath: /etc/holt/join, readOnly: true}
{{- else }}
{{ include "holt.masterKeyMount" . }}
{{- end }}
{{ include "holt.sharedMounts" . }}
{{- end -}}

{{- define "holt.masterKeyMount" -}}
- {name: master-keys, mountPath: /etc/holt/master-keys, readOnly: true}
{{- end -}}

{{/* The certificate of the webhook for evictions. */}}
{{- define "holt.evictionMount" -}}
{{- if and .Values.guard.enabled .Values.guard.evictions.enabled }}
- {name: evictions, mountPath: /etc/holt/evictions, readOnly: true}
{{- end }}
{{- end -}}

{{/* What hosts and fronts have, and what the operator adds. */}}
{{- define "holt.sharedMounts" -}}
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
{{- if .Values.workers.enabled }}
# A worker that has joined needs it no more, so it may be gone.
- name: join
  secret:
    secretName: {{ .Values.workers.joinTokenSecret | quote }}
    optional: true
    defaultMode: 0400
    items: [{key: {{ .Values.workers.key | quote }}, path: token}]
{{- else }}
{{ include "holt.masterKeyVolume" (dict "root" . "mode" "0400") }}
{{- end }}
{{ include "holt.sharedVolumes" (dict "root" . "mode" "0400") }}
{{- end -}}

{{/* `mode` is that of the files: 0400 for root, 0440 for a group. */}}
{{- define "holt.masterKeyVolume" -}}
- name: master-keys
  secret:
    secretName: {{ .root.Values.masterKeys.existingSecret | quote }}
    defaultMode: {{ .mode }}
    items: [{key: {{ .root.Values.masterKeys.key | quote }}, path: master-keys.json}]
{{- end -}}

{{- define "holt.evictionVolume" -}}
{{- with .root.Values.guard }}
{{- if and .enabled .evictions.enabled }}
- name: evictions
  secret:
    secretName: {{ required "guard.evictions.tlsSecret is empty: make a Secret with a certificate, and name it" .evictions.tlsSecret | quote }}
    defaultMode: {{ $.mode }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "holt.sharedVolumes" -}}
{{- $mode := .mode -}}
{{- with .root -}}
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

export type { BodyLimits } from './connect/read-body.ts'
export type { ListedSandbox, LogEntry, Sandbox, SandboxDetail, SandboxMetric } from './control/answers.ts'
export { decideEgress, type Egress, type EgressMode, type EgressWish } from './control/decide-egress.ts'
export {
  decodeMetadata,
  ListSandboxes,
  ListSandboxesV1,
  ListSnapshots,
  LogsQuery,
  MetricsOfQuery,
  MetricsQuery,
  readQuery,
  type SandboxState,
} from './control/list-query.ts'
export { isAtLeast } from './control/log-levels.ts'
export { NetworkConfig, NetworkUpdate } from './control/network-config.ts'
export {
  ConnectSandbox,
  ForkSandbox,
  NewSandbox,
  NewSnapshot,
  PauseSandbox,
  Refresh,
  SetTimeout,
} from './control/new-sandbox.ts'
export {
  type Entry,
  type EntryFacts,
  type EntryNames,
  entryOf,
  envdPort,
  sandboxHeaders,
  splitTarget,
} from './entry/entry-of.ts'
export * from './envd/index.ts'
export { type ConnectCode, ConnectError, connectStatuses } from './errors/connect-error.ts'
export { E2bError, portClosed, sandboxGone } from './errors/e2b-error.ts'
export { buildIdOf, buildUuid } from './names/build-uuids.ts'
export { clientId, envdVersion } from './names/constants.ts'
export {
  type ControlMatch,
  type ControlRouteName,
  controlRoutes,
  isAbsentPath,
  isControlPath,
  matchControl,
  uploadPath,
} from './routes/control-routes.ts'
export { admissionOf, changeOf, type EnvdRouteName, envdRoutes, matchEnvd } from './routes/envd-routes.ts'
export type { PathMatch } from './routes/match-path.ts'
export { type BuildLogEntry, type BuildReason, buildReason, templateStatus } from './templates/build-progress.ts'
export { inLoginShell } from './templates/shell-words.ts'
export { holtName, parseTag, parseTemplateName, presentTag, type TemplateName } from './templates/template-names.ts'
export {
  AssignTags,
  BuildLogsQuery,
  ListTemplates,
  NewTemplate,
  RemoveTags,
  StartBuild,
  StatusQuery,
  type TemplateStep,
  UpdateTemplate,
} from './templates/template-requests.ts'
export { firstPlace, type StepOrigin, type StepPlace, translateSteps } from './templates/translate-steps.ts'

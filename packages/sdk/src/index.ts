export type {
  Actor,
  ArchiveFormat,
  AuditEntry,
  Build,
  BuildFailureCode,
  BuildLogItem,
  BuildLogLine,
  BuildRequest,
  BuildStatus,
  BuildStep,
  BuildStepState,
  CheckDockerfileInput,
  CheckedLine,
  CodeContext,
  CodeError,
  CodeItem,
  CodeOutput,
  CodeResult,
  Command,
  CommandResult,
  CopyFileInput,
  CreateBuildInput,
  CreateCodeContextInput,
  CreateKeyInput,
  CreatePolicyInput,
  CreateProjectInput,
  CreateProviderInput,
  CreateRuntimeInput,
  CreateSecretInput,
  CreateSnapshotInput,
  CreateWebhookInput,
  DeliveryAttempt,
  DiffEntry,
  DockerfileCheck,
  DryRun,
  DryRunProblem,
  ErrorBody,
  ErrorCode,
  ErrorDetails,
  Event,
  EventItem,
  EventPage,
  EventType,
  FieldIssue,
  FileChanged,
  FileDiff,
  FileInfo,
  FileTransferred,
  ForkDryRun,
  ForkRuntimeInput,
  Host,
  HostCapacity,
  HostCheck,
  HostDrain,
  HostPool,
  Identity,
  Isolation,
  JoinToken,
  Key,
  NetworkLogItem,
  NewJoinToken,
  NewKey,
  NewWebhook,
  OnTimeout,
  OutputItem,
  Page,
  Policy,
  PolicyBodyInput,
  PolicyPreset,
  Port,
  PortState,
  Project,
  Provider,
  QuotaName,
  Quotas,
  QuotaUse,
  Readiness,
  ReplaceInFilesInput,
  ReplacePolicyInput,
  ReplaceProviderInput,
  ReplaceResult,
  ReplaceSecretInput,
  RotateKeyInput,
  Runtime as RuntimeData,
  RuntimeMetrics,
  RuntimeNetwork,
  RuntimeSample,
  RuntimeState,
  Scope,
  SearchFilesInput,
  SearchItem,
  SearchMatch,
  SearchResult,
  Secret,
  SendSignalInput,
  Session,
  SetQuotas,
  Snapshot,
  SnapshotKind,
  SnapshotState,
  StartCommandInput,
  SuggestedPolicy,
  Template as TemplateData,
  TerminalSize,
  TestedNetwork,
  TestNetworkInput,
  TreeExtracted,
  UpdateProjectInput,
  UpdateRuntimeInput,
  UpdateWebhookInput,
  WatchItem,
  Webhook,
  WebhookDelivery,
  WriteStdinInput,
} from '@holt/protocol'
export { errorCatalogue } from '@holt/protocol'
export type { Audit, AuditFilter } from './audit.ts'
export type { BuildFilter, Builds } from './builds.ts'
export type { Code, ReadCodeOptions, RunCodeOptions, StreamCodeOptions } from './code/code.ts'
export type { CodeContexts } from './code/code-contexts.ts'
export { type CollectCodeOptions, collectCode } from './code/collect-code.ts'
export type { CommandHandle, FollowOptions, WaitOptions } from './command-handle.ts'
export type { CommandOptions, Commands, RunOptions, SessionCommandOptions, StreamOptions } from './commands.ts'
export { type ByteStream, type FileContent, type FileSource, fileSource } from './content/file-source.ts'
export { outputBytes } from './content/output.ts'
export type { FileVersion, ReadOptions } from './content/read-content.ts'
export type { WriteOptions } from './content/write-content.ts'
export { writtenOut } from './content/written-out.ts'
export { type Credentials, credentialsPath, findCredentials, readCredentialsFile } from './credentials.ts'
export {
  type ConnectionFailure,
  errorOfAnswer,
  errorOfBody,
  HoltApiError,
  HoltConnectionError,
  HoltError,
  type HoltErrorCode,
} from './errors/errors.ts'
export type { DroppedEvents, EventFilter, EventListFilter, Events, FollowEventsOptions } from './events.ts'
export type { ArchiveContent, ExtractOptions, Files, SearchOptions, WatchOptions } from './files/files.ts'
export type { SyncOptions, SyncResult } from './files/sync.ts'
export type { Fork, ForkResult } from './fork.ts'
export type { Git } from './git/git.ts'
export type { GitDiff, GitHead } from './git/git-commands.ts'
export { GitFailed, type GitFailureReason } from './git/git-failed.ts'
export type {
  GitCloneOptions,
  GitCommitOptions,
  GitDiffOptions,
  GitOptions,
  GitProgressOptions,
  GitPushOptions,
} from './git/git-options.ts'
export type { GitChange, GitStatus, GitStatusEntry } from './git/parse-status.ts'
export { Holt, type HoltOptions } from './holt.ts'
export type { Hosts } from './hosts.ts'
export type { Keys } from './keys.ts'
export type { Network, NetworkLogOptions } from './network.ts'
export type { Policies } from './policies.ts'
export type { PortOptions, Ports } from './ports.ts'
export type { Projects } from './projects.ts'
export type { DiffOptions, MetricsOptions, NewFork, OnceOptions, Runtime, RuntimeEventsOptions } from './runtime.ts'
export type { CreateRuntimeOptions, ListMetricsOptions, NewRuntime, RuntimeFilter, Runtimes } from './runtimes.ts'
export { scopeOfRoute } from './scope-of-route.ts'
export type { Providers, Secrets } from './secrets.ts'
export type { ShellSession } from './session.ts'
export type { SnapshotFilter, Snapshots } from './snapshots.ts'
export type { ByteSource } from './stdin-writer.ts'
export { BuildFailed } from './template/build-failed.ts'
export type { BuildHandle, BuildLogOptions } from './template/build-handle.ts'
export type { ContextFile, UploadFilesOptions } from './template/context-files.ts'
export type { UploadContextOptions, UploadedContext } from './template/context-upload.ts'
export { isDockerfileText, readsContext } from './template/dockerfile-source.ts'
export type { WaitForBuildOptions } from './template/wait-for-build.ts'
export { type BuildOptions, Template, type TemplateBuilder } from './template-builder.ts'
export type { TemplateFilter, Templates } from './templates.ts'
export type { OutputChunk } from './terminal/output-queue.ts'
export type { AttachOptions, Terminal, TerminalEvent, TerminalExit } from './terminal/terminal.ts'
export type { OnAbort } from './transport/abort-command.ts'
export type { Paginated } from './transport/pages.ts'
export type { CallOptions, ChangeOptions, Retry } from './transport/transport.ts'
export type { WebSocketClass, WebSocketLike } from './transport/web-socket.ts'
export type { EntryFilter } from './tree/local-tree.ts'
export { shownPath } from './tree/shown-path.ts'
export type { TransferOptions, TransferProgress, TransferResult } from './tree/transfer.ts'
export type { Webhooks } from './webhooks.ts'

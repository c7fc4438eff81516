export type {
  Command,
  CommandResult,
  CopyFileInput,
  CreateKeyInput,
  CreateRuntimeInput,
  ErrorCode,
  ErrorDetails,
  FieldIssue,
  FileInfo,
  FileTransferred,
  Isolation,
  Key,
  NewKey,
  OutputItem,
  Page,
  Readiness,
  Runtime as RuntimeData,
  RuntimeState,
  Scope,
  SendSignalInput,
  StartCommandInput,
  Template,
  UpdateRuntimeInput,
  WriteStdinInput,
} from '@holt/protocol'
export { ErrorBody, errorCatalogue, HoltError } from '@holt/protocol'
export type { CommandHandle, FollowOptions, WaitOptions } from './command-handle.ts'
export type { CommandOptions, Commands, RunOptions } from './commands.ts'
export { type Credentials, credentialsPath, readCredentialsFile } from './credentials.ts'
export { type ConnectionFailure, HoltApiError, HoltConnectionError } from './errors.ts'
export type { FileContent, Files, WriteOptions } from './files.ts'
export { Holt, type HoltOptions } from './holt.ts'
export type { Keys } from './keys.ts'
export { outputBytes } from './output.ts'
export type { Paginated } from './pages.ts'
export type { Runtime } from './runtime.ts'
export type { RuntimeFilter, Runtimes } from './runtimes.ts'
export type { Templates } from './templates.ts'
export type { CallOptions } from './transport.ts'
export type { TransferOptions, TransferProgress, TransferResult } from './tree/transfer.ts'

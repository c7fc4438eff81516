export type { FileContent, FileFacts, FileKind, Files, FileWrite, Place } from './backend/files.ts'
export type {
  Changed,
  FoundProcess,
  ProcessEnd,
  Processes,
  ProcessInfo,
  ProcessItem,
  ProcessName,
  ProcessStart,
  StartedProcess,
  TerminalSize,
} from './backend/processes.ts'
export type { SandboxEntry, SandboxInside, SandboxUsage, VisitedSandbox } from './backend/sandbox.ts'
export type { FileChange, OpenWatch, Watches } from './backend/watches.ts'
export {
  isSignature,
  isSigned,
  requireSignature,
  type SignedAddress,
  signatureOf,
  signedAddress,
} from './files/signature.ts'
export { type EnvdRequest, rpcPaths, serveEnvd } from './serve-envd.ts'
export { type PollingLimits, PollingWatchers } from './watchers/polling-watchers.ts'

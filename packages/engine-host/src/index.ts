export { createHostEngine } from './create-host-engine.ts'
export type { GvisorPlatform, HostEngineOptions, Log } from './options.ts'

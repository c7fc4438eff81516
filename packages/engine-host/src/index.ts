export { createHostEngine } from './create-host-engine.ts'
export { listStored } from './list-stored.ts'
export type { GvisorPlatform, HostEngineOptions, Log } from './options.ts'
export { removeRunDir } from './runtimes/run-dir-owner.ts'

import { join } from 'node:path'
import type { Engine } from '@holt/engine'
import { createHostEngine } from '@holt/engine-host'
import type { ServerConfig } from '../../foundation/config/config.ts'
import type { Log } from '../../foundation/log.ts'
import { builtGuest, ownRunsc } from './installed-files.ts'
import { noEngine } from './no-engine.ts'

/**
 * Opens this machine's engine for an installation. Without a guest, the engine can only find and
 * remove runtimes. A front has none.
 */
export async function openEngine(
  config: ServerConfig,
  { installationId, log, guest }: { installationId: string; log: Log; guest: 'needed' | 'none' },
): Promise<Engine> {
  if (config.fleet?.role === 'front') return noEngine
  const runsc = config.runsc ?? ownRunsc
  return createHostEngine({
    stateDir: config.stateDir,
    runDir: runDirOf(config, installationId),
    installationId,
    guestBinary: guest === 'none' ? null : (config.guest ?? builtGuest),
    ...(runsc === null ? {} : { runscPath: runsc }),
    platform: config.gvisorPlatform,
    log,
  })
}

/** Returns the directory of the runtimes' sockets. */
export function runDirOf({ runDir }: Pick<ServerConfig, 'runDir'>, installationId: string): string {
  return runDir ?? join('/run/holt', installationId)
}

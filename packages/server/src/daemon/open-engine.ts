import { join } from 'node:path'
import type { Engine } from '@holt/engine'
import { createHostEngine } from '@holt/engine-host'
import type { ServerConfig } from '../config/config.ts'
import type { Log } from '../service.ts'
import { builtGuest } from './installed-files.ts'

/** Opens this machine's engine for an installation. */
export function openEngine(
  config: ServerConfig,
  { installationId, log }: { installationId: string; log: Log },
): Promise<Engine> {
  return createHostEngine({
    stateDir: config.stateDir,
    runDir: config.runDir ?? join('/run/holt', installationId),
    installationId,
    guestBinary: config.guest ?? builtGuest,
    ...(config.runsc === null ? {} : { runscPath: config.runsc }),
    log,
  })
}

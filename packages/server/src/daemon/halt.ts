import { haltRuntimes } from '@holt/engine-host'
import type { ServerConfig } from '../foundation/config/config.ts'
import { findDaemon, stopCommand } from '../foundation/config/daemon-lock.ts'
import { findInstallation } from '../foundation/config/installation.ts'
import { runDirOf } from './machine/open-engine.ts'

/**
 * Ends the processes of all runtimes before a shutdown. Otherwise a shutdown waits minutes: they do
 * not end when asked, and a frozen one not even when killed. The daemon must not run, because it
 * would make new ones. Returns the runtimes that could not be ended.
 */
export async function halt(config: ServerConfig): Promise<readonly string[]> {
  const daemon = await findDaemon(config.stateDir)
  if (daemon !== null) throw new Error(`holtd runs: stop it first (${stopCommand(daemon.unit)})`)
  const installationId = await findInstallation(config.stateDir)
  if (installationId === null) return []
  return haltRuntimes({ stateDir: config.stateDir, runDir: runDirOf(config, installationId), installationId })
}

import { sweepScratch } from '@holt/builder'
import { failpointsAreArmed } from '@holt/failpoints'
import type { WorkerIdentity } from '../fleet/trust/worker-identity.ts'
import type { ServerConfig } from '../foundation/config/config.ts'
import { fullDisk, releaseLock, takeLock } from '../foundation/config/daemon-lock.ts'
import { openHostId, openInstallation } from '../foundation/config/installation.ts'
import { noteSettings } from '../foundation/config/running-settings.ts'
import { ownUnit } from '../foundation/config/service-unit.ts'
import { settingWarnings } from '../foundation/config/unknown-settings.ts'
import { version } from '../foundation/config/version.ts'
import type { Log } from '../foundation/log.ts'
import { isDiskFull } from '../foundation/store/disk-full.ts'
import { openTracer } from '../foundation/tracing/open-tracer.ts'
import { readAgentTemplate, readAgentTemplates } from '../resources/agents/agent-template.ts'
import { imageSource, recipeSource } from '../resources/templates/recipe-source.ts'
import { createServer } from './create-server.ts'
import { requireGuest } from './doctor/check-guest.ts'
import { checkOwnMachine } from './doctor/machine-report.ts'
import { recentChecks } from './doctor/recent-checks.ts'
import { endAtSurprise } from './machine/end-at-surprise.ts'
import { freeMemoryMiB } from './machine/free-memory.ts'
import { agentTemplatesDir, baseRecipeDir, otherTemplateDirs, releasedNpm } from './machine/installed-files.ts'
import { makeLog } from './machine/make-log.ts'
import { openEngine } from './machine/open-engine.ts'
import { isPortTaken, portTaken } from './port-taken.ts'
import { findManager } from './tell-manager.ts'

/** The time limit of a stop, in milliseconds. The process then exits, and nothing is lost. */
const stopTimeoutMs = 5_000

/**
 * Runs the service until a signal stops it. An unexpected error ends the process, and the next
 * start repairs the state.
 */
export async function serve(given: ServerConfig): Promise<void> {
  const log = makeLog(given)
  const tellManager = findManager(process.env, log)
  endAtSurprise(log)

  for (const warning of settingWarnings(process.env)) log.warn({}, warning)
  if (failpointsAreArmed) log.warn({}, 'HOLT_FAILPOINTS is set: this process fails at the given points')
  if (given.fleet?.role !== 'front') await requireGuest(given)
  const installationId = await openInstallation(given.stateDir)
  const unit = await ownUnit()
  await takeLock(given.stateDir, unit)
  await noteSettings(given.stateDir, process.env, unit)
  const hostId = await openHostId(given.stateDir)
  const worker = await openIfWorker(given, hostId)
  const config = worker === null ? given : { ...given, databaseUrl: worker.databaseUrl }
  const engine = await openEngine(config, { installationId, log, guest: 'needed' })
  const baseSource =
    config.baseImage === null ? recipeSource(baseRecipeDir, releasedNpm) : imageSource(config.baseImage, baseRecipeDir)
  void sweep(log)
  const agentTemplates = [
    ...(await readAgentTemplates(agentTemplatesDir)),
    ...(await Promise.all(otherTemplateDirs.map(readAgentTemplate))),
  ]
  const tracer = await openTracer(config, { log, installationId })
  const host = { hostId, checks: recentChecks(() => checkOwnMachine(config)) }
  const parts = { config, engine, log, tracer, baseSource, agentTemplates, freeMemoryMiB, host }
  const server = await createServer({ ...parts, ...(worker === null ? {} : { worker }) }).catch(async (cause) => {
    throw await explainedStart(config, cause)
  })
  log.info({ url: server.url, version, installation: installationId, pid: process.pid }, 'holtd listens')
  await tellManager('READY=1')

  const stop = async (signal: NodeJS.Signals) => {
    log.info({ signal }, 'holtd stops')
    setTimeout(() => process.exit(0), stopTimeoutMs).unref()
    void tellManager('STOPPING=1')
    await server.close()
    await engine.close()
    await tracer.close()
    await releaseLock(config.stateDir)
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal))
}

/** Opens the identity of a worker, which joins its fleet at its first start. Null: it is none. */
async function openIfWorker(config: ServerConfig, hostId: string): Promise<WorkerIdentity | null> {
  const { fleet, peerAddress, stateDir } = config
  if (fleet?.role !== 'worker') return null
  if (peerAddress === null) throw new Error('a worker needs HOLT_PEER_ADDRESS')
  // Loaded here: a machine that is in no fleet loads nothing of one.
  const { openWorker } = await import('../fleet/trust/worker-identity.ts')
  const { joinAddress } = await import('../fleet/peers/peer-directory.ts')
  const address = joinAddress(peerAddress)
  const { joinTokenFile: tokenFile, joinAddress: entry } = fleet
  return openWorker({ stateDir, hostId, address, tokenFile, entry, now: Date.now() })
}

/** Returns the error of a failed start. For a known reason, the message says what to do. */
export async function explainedStart(
  config: Pick<ServerConfig, 'stateDir' | 'port'>,
  cause: unknown,
): Promise<unknown> {
  if (isDiskFull(cause)) return fullDisk(config.stateDir, cause)
  return isPortTaken(cause) ? portTaken(config, cause) : cause
}

/**
 * Removes the leftovers of killed builds in the background. The start neither waits for it nor
 * fails with it.
 */
async function sweep(log: Log): Promise<void> {
  try {
    const { removed, kept } = await sweepScratch()
    if (removed.length > 0) log.info({ removed }, 'removed the remains of killed builds')
    if (kept.length > 0) log.warn({ kept }, 'could not remove the remains of killed builds')
  } catch (error) {
    log.warn({ err: error }, 'could not search for the remains of killed builds')
  }
}

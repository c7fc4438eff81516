import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EngineFacts } from '@holt/engine'
import { Readiness, randomText } from '@holt/protocol'
import type { ServerConfig } from '../../foundation/config/config.ts'
import { readCredentials } from '../../foundation/config/credentials.ts'
import { findDaemon, type LockHolder, startCommand } from '../../foundation/config/daemon-lock.ts'
import { changedSettings, lastUnit } from '../../foundation/config/running-settings.ts'
import { urlOf } from '../../foundation/config/url-of.ts'
import { makeLog } from '../machine/make-log.ts'
import { openEngine } from '../machine/open-engine.ts'
import { type Check, mustFix, ok, warn } from './check.ts'
import { checkOwnFleet } from './fleet-facts.ts'
import { checkPort } from './machine-checks.ts'
import { checkMachine } from './machine-report.ts'
import { checkObjectStore } from './object-store-checks.ts'
import { checkStore } from './store-checks.ts'
import { checkWorker, joinOf } from './worker-checks.ts'

/** The time for a daemon to answer, in milliseconds. */
const answerTimeoutMs = 5_000

/** Checks everything that the service needs of this machine. */
export async function runDoctor(given: ServerConfig): Promise<readonly Check[]> {
  const join = await joinOf(given)
  // A worker has the address of its database from the front to which it has joined.
  const config = join === null ? given : { ...given, databaseUrl: join.databaseUrl }
  const { stateDir, fleet, databaseUrl } = config
  const hasStore = fleet?.role !== 'worker' || databaseUrl !== null
  const daemon = await findDaemon(stateDir)
  const { machine, state, tools, guest } = await checkMachine(config)
  const own = async () => (guest?.status === 'ok' ? ownChecks(await askEngine(config, 'needed')) : [])
  const isolation = daemon !== null ? await askDaemon(config, daemon) : await own()
  return [
    ...machine,
    ...(await checkWorker(config, { join, now: Date.now() })),
    ...(hasStore ? [await checkStore(config)] : []),
    ...(await checkObjectStore(config.objectStore, process.env)),
    ...(await checkOwnFleet(config)),
    ...state,
    ...(daemon === null ? [await checkPort(config), await notRunning(stateDir)] : []),
    ...tools,
    ...(guest === null ? [] : [guest]),
    ...isolation,
  ]
}

/**
 * Returns a warning that no service runs. A machine may be fit without one, so it prevents nothing.
 */
async function notRunning(stateDir: string): Promise<Check> {
  return warn('holtd', `no service runs over ${stateDir}`, startCommand(await lastUnit(stateDir)))
}

/**
 * Asks the running daemon, which knows its state best. The runners are asked directly, unless the
 * daemon was configured with others.
 */
async function askDaemon(config: ServerConfig, { pid, unit }: LockHolder): Promise<readonly Check[]> {
  const { stateDir, host, port } = config
  // A worker has no credentials.
  const url = (await readCredentials(stateDir))?.url ?? urlOf(host, port)
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(answerTimeoutMs) })
    const { isolation, reasons, version: runs, fallbacks = [], retakes } = Readiness.parse(await response.json())
    const state =
      reasons.length === 0 ? ok('holtd', `${runs}, ready at ${url}`) : warn('holtd', `${runs}: ${reasons.join(' ')}`)
    if (config.fleet?.role === 'front') return [state]
    return [state, ...isolationChecks(isolation, await runnersBeside(config)), checkCheckpoints(fallbacks, retakes)]
  } catch {
    const fix = unit == null ? 'holt down && holt up' : `systemctl restart ${unit}`
    return [mustFix('holtd', `process ${pid} runs but does not answer`, fix)]
  }
}

/**
 * Warns of runtimes that booted although their template has a checkpoint, and of checkpoints that
 * the service could not take again. Such runtimes start later, and run `start_cmd` again.
 */
function checkCheckpoints(
  fallbacks: NonNullable<Readiness['fallbacks']>,
  retakes: Readiness['retakes'] = { waiting: 0, taken: 0, failed: 0, unknown: 0 },
): Check {
  const { waiting, taken, failed, unknown } = retakes
  const lost = failed + unknown
  const counts = `${taken} taken again, ${waiting} waiting, ${failed} failed, ${unknown} to be built again`
  const again = taken + waiting + lost === 0 ? '' : ` (templates: ${counts})`
  if (fallbacks.length === 0 && lost === 0)
    return ok('checkpoints', `no runtime was booted cold in place of a restore${again}`)
  const each = fallbacks.map(({ isolation, reason, count }) => `${count} of ${isolation}: ${reason}`)
  const booted = each.length === 0 ? '' : `, so runtimes were booted cold (${each.join(', ')})`
  const next =
    waiting > 0
      ? 'the service takes them again'
      : lost === 0 && taken > 0
        ? 'the service took them again; if the number grows, build the templates that the log names'
        : 'restart the service, or build the templates that the log names'
  return warn('checkpoints', `checkpoints could not be restored${booted}${again}: ${next}`)
}

/**
 * Returns the runners of a daemon beside this process. Returns none if the daemon was configured
 * with others, or if they cannot be asked.
 */
async function runnersBeside(config: ServerConfig): Promise<Readonly<Record<string, string>>> {
  const changed = await changedSettings(config.stateDir, process.env)
  const own = changed.some(({ name }) => name === 'HOLT_RUNSC') ? null : await askEngine(config, 'none')
  return own === null || 'problem' in own ? {} : runnersOf(own.isolation)
}

/** The report of the doctor's own engine, or the reason why there is none. */
type OwnEngine = { readonly isolation: EngineFacts['isolation'] } | { readonly problem: string }

/**
 * Opens an engine in a temporary directory, asks it, and closes it. With a guest it also tests the
 * start of a container.
 */
async function askEngine(config: ServerConfig, guest: 'needed' | 'none'): Promise<OwnEngine> {
  const place = await mkdtemp(join(tmpdir(), 'holt-doctor-'))
  try {
    const own = { ...config, stateDir: join(place, 's'), runDir: join(place, 'r') }
    const log = makeLog({ logLevel: 'silent' })
    const engine = await openEngine(own, { installationId: `d${randomText(7)}`, log, guest })
    const { isolation } = await engine.describe()
    await engine.close()
    return { isolation }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : 'no reason is known' }
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

/** Returns the checks of the doctor's own engine, for use without a daemon. */
function ownChecks(own: OwnEngine): readonly Check[] {
  if ('problem' in own)
    return [mustFix('engine', `it cannot be opened: ${own.problem}. Repair that, and run the check again`, null)]
  const { gvisor, container } = own.isolation
  return isolationChecks({ gvisor: flat(gvisor), container: flat(container) }, runnersOf(own.isolation))
}

function flat(facts: EngineFacts['isolation']['gvisor']): Readiness['isolation'][string] {
  return facts.available
    ? { available: true, reason: null, fix: null }
    : { available: false, reason: facts.reason, fix: facts.fix }
}

/** Returns the runner of each available class. */
function runnersOf(isolation: EngineFacts['isolation']): Readonly<Record<string, string>> {
  const known = Object.entries(isolation).flatMap(([name, facts]) => (facts.available ? [[name, facts.runner]] : []))
  return Object.fromEntries(known)
}

/**
 * Returns the checks of the classes. `gvisor` is the default and necessary for untrusted code.
 * `container` is for trusted code, so it may be missing.
 */
function isolationChecks(
  isolation: Readiness['isolation'],
  runners: Readonly<Record<string, string>> = {},
): readonly Check[] {
  return Object.entries(isolation).map(([name, { available, reason, fix }]) => {
    if (available) return ok(name, runners[name] ?? 'available')
    if (name === 'gvisor') return mustFix(name, reason ?? 'not available', fix)
    return warn(name, reason ?? 'not available', fix)
  })
}

import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HostInFleet } from '@holt/protocol'
import { z } from 'zod'
import type { ServerConfig } from '../foundation/config/config.ts'
import { readCredentials } from '../foundation/config/credentials.ts'
import { findHostId } from '../foundation/config/installation.ts'
import { writeDurably } from '../foundation/config/write-durably.ts'

/** The time for runtimes that cannot move, in seconds. */
const deadlineSecs = 600

/**
 * The longest wait for an empty host, in milliseconds. After the deadline the last files are
 * stored. `TimeoutStopSec` of `deploy/systemd/holt-drain.service` is longer.
 */
const emptyMs = 660_000

/** The time in which the service has to answer, in milliseconds. It may be starting. */
const answerMs = 30_000

/** The time limit of one request, in milliseconds. */
const requestMs = 10_000

/** The pause between two requests, in milliseconds. */
const pollMs = 500

const hostsPath = '/v1/agents/host'

const Hosts = z.object({
  data: z.array(z.object({ host_id: z.string(), fleet: HostInFleet.pick({ state: true, wanted: true }).nullable() })),
})

type Place = Pick<ServerConfig, 'stateDir' | 'fleet'>

/**
 * Empties this host of a fleet before its machine goes down. The service must run. Returns a report
 * for people when the host is empty. Does nothing on a single machine. Throws if the service does
 * not answer, or if the host cannot be emptied.
 */
export async function leave({ stateDir, fleet }: Place): Promise<string> {
  if (fleet === null || fleet.role === 'front') return 'this machine has no runtimes of a fleet\n'
  const path = await ownPath(stateDir)
  const before = await findOwn(stateDir)
  // A host that an operator has cordoned stays so after the machine's next start.
  if (before.wanted === 'ready') await writeDurably(markOf(stateDir), '')
  await ask(stateDir, 'POST', `${path}/drain`, { force: true, deadline_secs: deadlineSecs })
  const end = Date.now() + emptyMs
  // The service lists the hosts as its last beat has read them.
  const knownFrom = Date.now() + 2 * fleet.beatMs
  for (;;) {
    const { state, wanted } = await findOwn(stateDir)
    const isKnown = Date.now() > knownFrom
    const isEmpty = state === 'cordoned' && wanted === 'cordoned'
    if (isEmpty && (isKnown || before.wanted === 'ready')) return 'this host is empty\n'
    if (wanted === 'ready' && isKnown) throw new Error('the drain was ended by an uncordon')
    if (Date.now() > end) throw new Error(`this host is not empty after ${emptyMs / 60_000} minutes`)
    await sleep(pollMs)
  }
}

/** Lets this host have runtimes again if `leave` has cordoned it. Returns a report for people. */
export async function comeBack({ stateDir, fleet }: Place): Promise<string> {
  if (fleet === null || !existsSync(markOf(stateDir))) return 'this host did not leave its fleet\n'
  await ask(stateDir, 'POST', `${await ownPath(stateDir)}/uncordon`)
  await rm(markOf(stateDir), { force: true })
  return 'this host gets new runtimes again\n'
}

/** Returns the path of the file that says that `leave` has cordoned the host. */
function markOf(stateDir: string): string {
  return join(stateDir, 'has-left-fleet')
}

async function ownPath(stateDir: string): Promise<string> {
  const hostId = await findHostId(stateDir)
  if (hostId === null) throw new Error(`${stateDir} has no host: the service has not started there`)
  return `${hostsPath}/${hostId}`
}

async function findOwn(stateDir: string): Promise<Pick<HostInFleet, 'state' | 'wanted'>> {
  const hostId = await findHostId(stateDir)
  const { data } = Hosts.parse(await ask(stateDir, 'GET', hostsPath))
  const fleet = data.find(({ host_id }) => host_id === hostId)?.fleet
  if (fleet == null) throw new Error('the service does not list this host of its fleet')
  return fleet
}

/** Asks the service of this machine, again and again if it cannot answer now. Returns the JSON. */
async function ask(stateDir: string, method: 'GET' | 'POST', path: string, body: object = {}): Promise<unknown> {
  const end = Date.now() + answerMs
  for (;;) {
    const credentials = await readCredentials(stateDir)
    if (credentials === null) throw new Error(`${stateDir} has no credentials.json: the service has not started there`)
    const hasBody = Object.keys(body).length > 0
    const response = await fetch(`${credentials.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${credentials.key}`,
        ...(hasBody ? { 'content-type': 'application/json' } : {}),
      },
      ...(hasBody ? { body: JSON.stringify(body) } : {}),
      redirect: 'error',
      signal: AbortSignal.timeout(requestMs),
    }).catch((error: Error) => error)
    if (response instanceof Response && response.status < 500) {
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path} was refused with ${response.status}: ${text}`)
      return text === '' ? null : JSON.parse(text)
    }
    const why = response instanceof Response ? `answers ${response.status}` : `cannot be reached: ${response.message}`
    if (Date.now() > end) throw new Error(`the service at ${credentials.url} ${why}`)
    await sleep(pollMs)
  }
}

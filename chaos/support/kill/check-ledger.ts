import { Build, finalBuildStatuses, Key, Policy, Runtime, Secret, Snapshot } from '@holt/protocol'
import { expect } from 'vitest'
import { call, runtimesPath } from '../../../e2e/support/api.ts'
import { passing } from '../../../e2e/support/lifecycle/states.ts'
import { buildsPath } from '../../../e2e/support/test-build.ts'
import { snapshotsPath } from '../../../e2e/support/test-snapshots.ts'
import { until } from '../../../e2e/support/until.ts'
import { type Ask, listAll } from './ask.ts'
import { checkInside } from './check-inside.ts'
import type { EventLog } from './event-log.ts'
import { eventKey, type Ledger } from './ledger.ts'
import { settingsPaths } from './settings-worker.ts'

/** The number of dead secrets that are tried after each crash. */
const deadSecretsMax = 20

/**
 * The timeout for the next daemon to finish an interrupted pause, resume or end, in milliseconds.
 */
const settleMs = 60_000

/** The inputs of a check. */
export interface Books {
  readonly ask: Ask
  readonly ledger: Ledger
  readonly log: EventLog
  /** True if paused runtimes are checked as well, which resumes them. */
  readonly wake: boolean
}

/**
 * Checks that every fact of the ledger holds, and that the service has nothing else. Its lists
 * contain all that was acknowledged, and at most also requests without an acknowledgement. Facts
 * that were open are known afterwards. Returns the number of facts.
 */
export async function checkLedger(books: Books): Promise<number> {
  const counts = [
    await checkRuntimes(books),
    await checkSnapshots(books),
    await checkSettings(books),
    await checkKeys(books),
    await checkBuilds(books),
    await checkEvents(books),
    await checkInside(books),
  ]
  return counts.reduce((sum, count) => sum + count, 0)
}

async function checkRuntimes({ ask, ledger }: Books): Promise<number> {
  const listed = await until(
    'no runtime is in a state that passes',
    async () => {
      const all = await listAll(ask, runtimesPath, Runtime)
      return all.some(({ state }) => passing.has(state)) ? null : all
    },
    settleMs,
  )
  const byId = new Map(listed.map((one) => [one.runtime_id as string, one]))
  expect(byId.size, 'each runtime is listed once').toBe(listed.length)
  for (const { id, worker, state } of ledger.runtimes.values()) {
    const one = byId.get(id)
    if (one === undefined) throw new Error(`${id} is not in the list`)
    expect(one.metadata).toEqual({ worker })
    state.is(one.state as 'running')
  }
  const unknown = listed.filter(({ runtime_id }) => !ledger.runtimes.has(runtime_id))
  for (const one of unknown) expect(one.state, `nobody knows of it: ${JSON.stringify(one)}`).toBe('failed')
  expect(unknown.length, 'runtimes that failed').toBeLessThanOrEqual(ledger.failures.runtimes)
  return listed.length
}

async function checkSnapshots({ ask, ledger }: Books): Promise<number> {
  const listed = new Map((await listAll(ask, snapshotsPath, Snapshot)).map((one) => [one.snapshot_id as string, one]))
  for (const { id, state } of ledger.snapshots.values()) {
    const one = listed.get(id)
    state.is(one === undefined ? 'deleted' : (one.state as 'ready'))
  }
  const unknown = [...listed.values()].filter(({ snapshot_id }) => !ledger.snapshots.has(snapshot_id))
  for (const one of unknown) expect(one.state, `nobody knows of it: ${JSON.stringify(one)}`).toBe('failed')
  expect(unknown.length, 'snapshots that failed').toBeLessThanOrEqual(ledger.failures.snapshots)
  return ledger.snapshots.size + unknown.length
}

async function checkSettings({ ask, ledger }: Books): Promise<number> {
  const policies = new Map((await listAll(ask, settingsPaths.policies, Policy)).map((one) => [one.name, one]))
  for (const [name, fact] of ledger.policies) {
    const one = policies.get(name)
    fact.is(one === undefined ? null : { revision: one.revision, host: hostOf(one) })
    if (one !== undefined) atLeastOnce(ledger, changeKey('policy', one.policy_id, one.revision))
  }
  const secrets = new Map((await listAll(ask, settingsPaths.secrets, Secret)).map((one) => [one.name, one]))
  for (const [name, fact] of ledger.secrets) {
    const one = secrets.get(name)
    fact.is(one?.version ?? null)
    if (one !== undefined) atLeastOnce(ledger, changeKey('secret', one.secret_id, one.version))
  }
  expect([...policies.keys()].filter((name) => !ledger.policies.has(name))).toEqual([])
  expect([...secrets.keys()].filter((name) => !ledger.secrets.has(name))).toEqual([])
  return ledger.policies.size + ledger.secrets.size
}

function hostOf({ allow }: Policy): string {
  return allow.map(({ host }) => host).join(' ')
}

/** Returns the key of a version's event. The event exists if the version does. */
function changeKey(kind: 'policy' | 'secret', id: string, version: number): string {
  return eventKey(`${kind}.${version === 1 ? 'created' : 'replaced'}`, id, version)
}

function atLeastOnce({ events }: Ledger, key: string): void {
  events.set(key, Math.max(1, events.get(key) ?? 0))
}

/**
 * Checks that valid keys give access, and that dead secrets do not. Only the newest dead secrets
 * are tried, because an address with more than a few wrong ones a second is told to wait.
 */
async function checkKeys({ ask, ledger }: Books): Promise<number> {
  const listed = new Set((await listAll(ask, settingsPaths.keys, Key)).map(({ key_id }) => key_id as string))
  for (const { id, state, secret } of ledger.keys.values()) {
    state.is(listed.has(id) ? 'valid' : 'revoked')
    if (state.isKnown('valid')) expect((await call('GET', runtimesPath, { key: secret })).status, id).toBe(200)
    else if (!ledger.deadSecrets.includes(secret)) ledger.deadSecrets.push(secret)
  }
  const known = new Set(ledger.keys.keys())
  // The only unknown key is the one that sends this request.
  expect([...listed].filter((id) => !known.has(id))).toHaveLength(1)
  const dead = ledger.deadSecrets.slice(-deadSecretsMax)
  for (const key of dead) expect((await call('GET', runtimesPath, { key })).status).toBe(401)
  return ledger.keys.size + dead.length
}

/** Checks that builds whose daemon was killed have failed, and that ended builds are unchanged. */
async function checkBuilds({ ask, ledger }: Books): Promise<number> {
  const workers = new Set([...ledger.runtimes.values()].map(({ worker }) => worker))
  const listed = (await listAll(ask, buildsPath, Build)).filter(({ name }) => workers.has(name))
  expect(listed.map(({ build_id }) => build_id).sort()).toEqual([...ledger.builds.keys()].sort())
  for (const { build_id, status, reason } of listed) {
    expect(finalBuildStatuses, build_id).toContain(status)
    if (status === 'failed') expect(reason?.message).toBe('The service stopped during this build.')
    const fact = ledger.builds.get(build_id)
    if (fact?.isKnown('under way')) fact.mayBecome(() => status as 'ready')
    fact?.is(status as 'ready')
    atLeastOnce(ledger, eventKey(`build.${status}`, build_id))
  }
  return listed.length
}

async function checkEvents({ ledger, log }: Books): Promise<number> {
  await log.read()
  for (const { id, state } of ledger.runtimes.values())
    if (state.isKnown('terminated')) expect(log.count(eventKey('runtime.terminated', id)), `the end of ${id}`).toBe(1)
  for (const { id, state } of ledger.snapshots.values())
    if (state.isKnown('deleted')) expect(log.count(eventKey('snapshot.deleted', id)), `the end of ${id}`).toBe(1)
  for (const { id, state } of ledger.keys.values())
    if (state.isKnown('revoked')) expect(log.count(eventKey('key.revoked', id)), `the end of ${id}`).toBe(1)
  for (const [key, count] of ledger.events) {
    expect(log.count(key), `events "${key}"`).toBeGreaterThanOrEqual(count)
    // A revision and a version occur once.
    if (key.split(' ').length === 3) expect(log.count(key), `events "${key}"`).toBe(1)
  }
  return ledger.events.size
}

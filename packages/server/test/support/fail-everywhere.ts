import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Observed } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { type FailpointName, failpoints as parts } from '@holt/failpoints'
import { shareOf } from '@holt/testkit'
import { expect } from 'vitest'
import { BuildPaths } from '../../src/builds/paths.ts'
import type { ServerOptions } from '../../src/index.ts'
import { type Arming, armingsOf, Failpoints } from './failpoints.ts'
import { catchKills, type MortalServer, startMortalServer } from './mortal-server.ts'
import { passingStates } from './passing-states.ts'
import type { TestServer } from './start-test-server.ts'
import { storedRows } from './test-store.ts'

type Answer = Awaited<ReturnType<TestServer['ask']>>

/** A task for the service, which fails once at each of its steps. */
export interface Scenario<Subject> {
  readonly name: string
  /** The parts of the service all of whose failpoints it reaches. */
  readonly parts: readonly (keyof typeof parts)[]
  readonly options?: Partial<ServerOptions>
  /**
   * Each change of the store that counts has a failpoint of the scenario's own behind it:
   * `store.committed` is left to others.
   */
  readonly marksChanges?: boolean
  /** The last step, beside its answer or after it. */
  readonly last?: FailpointName
  /** Makes what is needed beforehand, while nothing fails. */
  prepare(server: TestServer): Promise<Subject>
  /** Does it, once for each key: with the same key it is the same request again. */
  act(server: TestServer, subject: Subject, key: string): Promise<Answer>
  /** Waits for what goes on when the answer is there. */
  over?(server: TestServer, subject: Subject): Promise<unknown>
  /** Looks at what a failure has left, before anything is sent again. */
  afterFailure?(server: TestServer, subject: Subject): Promise<void>
  /**
   * Holds what is there after the same request was sent again against what each answer said;
   * `before` is null where it was lost.
   */
  check(
    server: TestServer,
    subject: Subject,
    answers: { readonly before: Answer | null; readonly again: Answer },
  ): Promise<void>
}

/** The share of the failures of a scenario that a short run draws. */
const shortShare = 1 / 5

const pollTimeout = { timeout: 25_000, interval: 20 }

/** Clocks that run faster, so that what is tried again after seconds is tried again soon. */
function fastClocks(): Pick<ServerOptions, 'now' | 'monotonic'> {
  const begun = Date.now()
  const now = () => begun + (Date.now() - begun) * 20
  return { now, monotonic: now }
}

/**
 * Runs a scenario once for each step that can fail, by an error and by `kill -9`. A short run draws
 * a fifth of these failures.
 */
export async function expectEverywhere<Subject>(scenario: Scenario<Subject>): Promise<void> {
  const failpoints = new Failpoints(process.env.HOLT_FAILPOINTS)
  using _ = catchKills()
  const engine = new FakeEngine()
  const options = { ...fastClocks(), ...scenario.options }
  let server = await startMortalServer(engine, options)
  const { answered, hits } = await trace(server, scenario, failpoints)
  for (const part of scenario.parts)
    expect(hits).toEqual(expect.arrayContaining(parts[part].map((step) => `${part}.${step}`)))
  const own = (name: string) => scenario.parts.some((part) => part === partOf(name))
  // Others change the store in the background too, and not each time as often.
  const certain = new Set(armingsOf(answered.filter((name) => partOf(name) !== 'store')).map(idOf))
  const all = armingsOf(hits).filter(({ name }) => concerns(scenario, name))
  const drawn = shareOf(all, shortShare, scenario.name)
  // Some background failures may not happen. If all are tried, one at each step must happen.
  const unfailed = new Set(drawn.length === all.length ? hits.filter(own) : [])
  for (const arming of drawn) {
    try {
      const { next, failed } = await failOnce(server, { scenario, failpoints, arming, engine, options })
      server = next
      if (failed) unfailed.delete(arming.name)
      // Background work may take fewer steps this time.
      else if (certain.has(idOf(arming))) throw new Error('it did not fail')
    } catch (cause) {
      const { name, hit, action } = arming
      const why = cause instanceof Error ? cause.message : cause
      throw new Error(`after ${action} at ${name}, hit ${hit}: ${why}`, { cause })
    }
  }
  expect([...unfailed]).toEqual([])
  await expectNothingLeft(await server.restart(), engine)
}

function idOf({ name, hit, action }: Arming): string {
  return `${name} ${hit} ${action}`
}

/** Returns true if a scenario fails there. Shared steps belong to other scenarios. */
function concerns<Subject>({ parts, marksChanges = false }: Scenario<Subject>, name: string): boolean {
  const part = partOf(name)
  return (part === 'store' && !(marksChanges && name === 'store.committed')) || parts.some((one) => one === part)
}

function partOf(name: string): string | undefined {
  return name.split('.', 1)[0]
}

/**
 * Runs a scenario and returns the steps that it reached, in order: before its answer, and in all.
 */
async function trace<Subject>(server: TestServer, scenario: Scenario<Subject>, failpoints: Failpoints) {
  const subject = await scenario.prepare(server)
  failpoints.arm(null)
  const answer = await scenario.act(server, subject, crypto.randomUUID())
  const answered = failpoints.hits()
  expect(answer.status, answer.text).toBeLessThan(300)
  await scenario.over?.(server, subject)
  if (scenario.last !== undefined) await expect.poll(() => failpoints.hits(), pollTimeout).toContain(scenario.last)
  const hits = failpoints.hits()
  await removeAll(server)
  return { answered, hits }
}

interface Failing<Subject> {
  readonly scenario: Scenario<Subject>
  readonly failpoints: Failpoints
  readonly arming: Arming
  readonly engine: FakeEngine
  readonly options: Partial<ServerOptions>
}

/**
 * One failure: the request, the next process where this one was killed, the request again, and what
 * has to be true then. Answers the server that goes on, and whether it failed at all.
 */
async function failOnce<Subject>(
  server: MortalServer,
  { scenario, failpoints, arming, engine, options }: Failing<Subject>,
): Promise<{ readonly next: MortalServer; readonly failed: boolean }> {
  const subject = await scenario.prepare(server)
  const key = crypto.randomUUID()
  failpoints.arm(arming)
  const acting = scenario.act(server, subject, key).catch(() => null) // The connection broke with the process.
  let killed = false
  const death = server.killed.then(() => {
    killed = true
    return null
  })
  const before = await Promise.race([acting, death])
  // Background work fails where it is armed, and still comes to its end.
  if (!killed) await Promise.race([scenario.over?.(server, subject), death])
  const reached = () => failpoints.hits().filter((name) => name === arming.name).length >= arming.hit
  const { last } = scenario
  const isLate = last !== undefined && partOf(arming.name) === partOf(last)
  const deadline = Date.now() + pollTimeout.timeout
  while (isLate && !reached() && !failpoints.hits().includes(last) && Date.now() < deadline)
    await sleep(pollTimeout.interval)
  const failed = reached()
  failpoints.arm(null)
  if (killed) server.abandon()
  const next = killed ? await startMortalServer(engine, options, server.stateDir) : server
  await settled(next)
  await scenario.afterFailure?.(next, subject)
  const again = await scenario.act(next, subject, key)
  await scenario.over?.(next, subject)
  expect(again.status < 500 || again.json.error?.code === 'unavailable', again.text).toBe(true)
  await settled(next)
  await expectTruth(next, engine)
  await scenario.check(next, subject, { before: before !== null && before.status < 300 ? before : null, again })
  await removeAll(next)
  return { next, failed }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
async function all(server: TestServer, path: string): Promise<any[]> {
  const { json, text } = await server.ask('GET', `${path}?limit=100`)
  if (json?.data === undefined) throw new Error(text)
  return json.data
}

/** Waits until nothing is under way. */
async function settled(server: TestServer): Promise<void> {
  const left = async () => {
    const things = [
      ...(await all(server, '/v1/agents/runtime')),
      ...(await all(server, '/v1/agents/snapshot')),
      ...(await all(server, '/v1/agents/template/build')),
    ]
    return things.map(({ state, status }) => state ?? status).filter((state) => passingStates.includes(state))
  }
  await expect.poll(left, pollTimeout).toEqual([])
}

/** Every row tells what the engine has, and the engine has nothing that no row tells of. */
async function expectTruth(server: TestServer, engine: FakeEngine): Promise<void> {
  const running = (await all(server, '/v1/agents/runtime')).filter(({ state }) => state === 'running')
  for (const { runtime_id } of running) {
    const ran = await server.ask('POST', `/v1/agents/runtime/${runtime_id}/commands`, {
      json: { command: 'echo here' },
    })
    expect(ran.json, ran.text).toMatchObject({ exit_code: 0, stdout: 'here\n' })
  }
  const strangers = async () => {
    const there = await present(engine)
    // Rows come before what they tell of, and go after it: those of this moment know all that was
    // there before it.
    const others = await ids(
      server,
      `SELECT runtime_id AS id FROM pool_members UNION SELECT resource_id FROM build_resources
      UNION SELECT seed_id FROM templates WHERE seed_id IS NOT NULL`,
    )
    const known = new Set([...running.map(({ runtime_id }) => runtime_id), ...others])
    return there.filter(({ id }) => !known.has(id)).map(({ id }) => id)
  }
  await expect.poll(strangers, pollTimeout).toEqual([])
  const sealedOfEnded = () =>
    ids(
      server,
      `SELECT owner_id AS id FROM sealed_values JOIN runtimes ON owner_id = runtime_id WHERE ended_at IS NOT NULL`,
    )
  await expect.poll(sealedOfEnded, pollTimeout).toEqual([])
}

/** Checkpoints and images that no row names are collected, and nothing of a runtime stays. */
async function expectNothingLeft(server: TestServer, engine: FakeEngine): Promise<void> {
  const named = `SELECT checkpoint_id AS id FROM templates UNION SELECT image_digest FROM templates
    UNION SELECT checkpoint_id FROM build_cache UNION SELECT image_digest FROM build_cache
    UNION SELECT image_digest FROM pulled_images`
  const left = async () => {
    const checkpoints = (await engine.ability('checkpoints')?.list()) ?? []
    const images = (await engine.ability('images')?.list()) ?? []
    const there = [...checkpoints.map(({ checkpointId }) => checkpointId), ...images.map(({ digest }) => digest)]
    const known = new Set(await ids(server, named))
    return there.filter((id) => !known.has(id))
  }
  await expect.poll(left, pollTimeout).toEqual([])
  expect(await ids(server, 'SELECT resource_id AS id FROM build_resources')).toEqual([])
  const files = await ids(
    server,
    `SELECT file AS id FROM build_mounts UNION SELECT context_id || '.tar' FROM build_contexts`,
  )
  const paths = new BuildPaths(server.stateDir)
  const strangers = async () => {
    const names = await Promise.all([paths.mounts, paths.contexts, paths.work].map(namesIn))
    return names.flat().filter((name) => !files.includes(name))
  }
  await expect.poll(strangers, pollTimeout).toEqual([])
}

/** Returns the names in a directory; none if it does not exist. */
async function namesIn(dir: string): Promise<readonly string[]> {
  return readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

async function ids({ stateDir }: TestServer, sql: string): Promise<string[]> {
  return (await storedRows(stateDir, sql)).map(({ id }) => String(id))
}

/** Returns the runtimes of the engine. */
async function present(engine: FakeEngine): Promise<readonly Observed[]> {
  const found: Observed[] = []
  const stop = new AbortController()
  for await (const seen of engine.observe(stop.signal)) {
    if (seen.type === 'listed') break
    if (seen.type === 'present') found.push(seen.observed)
  }
  stop.abort()
  return found
}

async function removeAll(server: TestServer): Promise<void> {
  for (const { runtime_id } of await all(server, '/v1/agents/runtime')) {
    const { status, text } = await server.ask('DELETE', `/v1/agents/runtime/${runtime_id}`)
    expect(status, text).toBe(204)
  }
  for (const { snapshot_id } of await all(server, '/v1/agents/snapshot'))
    expect((await server.ask('DELETE', `/v1/agents/snapshot/${snapshot_id}`)).status).toBe(204)
}

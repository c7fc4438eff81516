import { randomBytes } from 'node:crypto'
import { BuildStarted, type CreateRuntimeInput, ErrorBody, RuntimeNetwork, Secret, Template } from '@holt/protocol'
import { shareOf } from '@holt/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call, runtimesPath, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { forgetArrivals, pointName, readArrivals, rig } from './support/rig/arrivals.ts'
import { placesOf } from './support/rig/find-text.ts'
import { npmHost } from './support/rig/package-index.ts'
import { vendorKeyPrefix } from './support/rig/vendor-apis.ts'
import { getBuild, messagesOf, templatesPath } from './support/test-build.ts'
import { createRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// The vendors' own programs, installed from the registry of this machine, talk to vendors that the
// rig plays.

/**
 * A program of a few hundred MiB is fetched, exported and booted, four times, on a machine that may
 * be busy.
 */
const buildsTimeoutMs = 15 * 60_000

/** The programs start slowly on a busy machine. */
const promptTimeoutMs = 180_000

const vendors = {
  anthropic: { host: 'api.anthropic.com', header: 'x-api-key', value: newKey() },
  openai: { host: 'api.openai.com', header: 'authorization', value: newKey() },
  google: { host: 'generativelanguage.googleapis.com', header: 'x-goog-api-key', value: newKey() },
} as const

/** A short run has half of them: each is a program of a few hundred MiB. */
const agents = shareOf(
  [
    { name: 'claude-code', vendor: 'anthropic', version: 'claude --version', ask: 'claude -p' },
    { name: 'codex', vendor: 'openai', version: 'codex --version', ask: 'codex exec' },
    { name: 'gemini-cli', vendor: 'google', version: 'gemini --version', ask: 'gemini -p' },
    { name: 'opencode', vendor: 'anthropic', version: 'opencode --version', ask: 'opencode run' },
  ] as const,
  1 / 2,
  'agents',
)

function newKey(): string {
  return `${vendorKeyPrefix}${randomBytes(15).toString('hex')}`
}

const getTemplate = async (name: string) => success(await call('GET', `${templatesPath}/${name}`), 200, Template)
const remove = (name: string) => call('DELETE', `${templatesPath}/${name}`)

beforeAll(async () => {
  expect(rig.npmRegistry, `FIX: ${npmHost}:443 has to be reachable: the agents' programs come from there`).not.toEqual(
    [],
  )
  for (const [name, { value }] of Object.entries(vendors)) {
    await call('DELETE', `/v1/agents/secret/${name}`)
    success(await call('POST', '/v1/agents/secret', { json: { name, value } }), 201, Secret)
  }
  for (const { name } of agents) await remove(name)
  await pointName(npmHost, rig.npmRegistry)
  try {
    const builds = await Promise.all(agents.map(({ name }, index) => (index === 0 ? useOnce(name) : pull(name))))
    await Promise.all(builds.map(becomesReady))
  } finally {
    await pointName(npmHost, [rig.listedAddress])
  }
}, buildsTimeoutMs)

afterAll(async () => {
  for (const { name } of agents) await remove(name)
  for (const name of Object.keys(vendors)) await call('DELETE', `/v1/agents/secret/${name}`)
}, 120_000)

/** Builds a template by asking for a runtime of it. */
async function useOnce(name: string): Promise<string> {
  expect(await getTemplate(name)).toMatchObject({ kind: 'agent', state: 'unbuilt', build_id: null })
  const refused = await call('POST', runtimesPath, { json: { template: name } satisfies CreateRuntimeInput })
  expect(refused.status, refused.text).toBe(503)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  const { error } = ErrorBody.parse(JSON.parse(refused.text))
  expect(error).toMatchObject({ code: 'unavailable', details: { template_state: 'building' } })
  return String(error.details?.build_id)
}

/** Builds a template, and is told of the build that is under way when asked again. */
async function pull(name: string): Promise<string> {
  const started = async () =>
    success(await call('POST', `${templatesPath}/${name}/pull`, { json: {} }), 202, BuildStarted)
  const { build_id } = await started()
  expect(await started()).toMatchObject({ build_id, name })
  return build_id
}

async function becomesReady(buildId: string): Promise<void> {
  const ended = async () => {
    const build = await getBuild(buildId)
    return build.ended_at === null ? null : build
  }
  const { status, name } = await until('the build has ended', ended, buildsTimeoutMs)
  expect(status, `${name}\n${status === 'ready' ? '' : (await messagesOf(buildId)).join('\n')}`).toBe('ready')
}

it('are templates of the kind agent, with room for work', async () => {
  for (const { name } of agents) {
    const template = await getTemplate(name)
    expect(template).toMatchObject({ kind: 'agent', state: 'ready', user: 'user', workdir: '/workspace' })
    expect(template.disk_mib).toBeGreaterThanOrEqual(8192)
  }
})

describeClasses('agent templates', (isolation) => {
  it.each(agents)(
    '$name answers a prompt with only the secret of its vendor',
    async ({ name, vendor, version, ask }) => {
      const { host, header, value } = vendors[vendor]
      await using runtime = await createRuntime({ template: name, isolation, secrets: [vendor] })
      const { stdout } = await runtime.run(version, { timeout_secs: 120 })
      expect(stdout).toMatch(/\d+\.\d+\.\d+/)

      await forgetArrivals()
      const word = randomBytes(5).toString('hex')
      const answer = await runtime.run(`${ask} 'say-${word}'`, { timeout_secs: 120 })
      expect(answer.exit_code, `${answer.stdout}\n${answer.stderr}`).toBe(0)
      expect(answer.stdout).toContain(word.toUpperCase())
      const arrived = await readArrivals()
      expect(placesOf(value, arrived)).toEqual([`${host} header ${header}`])
      expect(placesOf('holt-placeholder-', arrived)).toEqual([])
      expect([...new Set(arrived.requests.map(({ sni }) => sni))]).toEqual([host])

      // The brackets keep these searches from finding themselves.
      const environments = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c"
      expect(Number(await runtime.sh(`${environments} 'holt-placeholde[r]-${vendor}'`))).toBeGreaterThan(0)
      expect(await runtime.sh(`${environments} '${vendorKeyPrefix.replace('key', 'ke[y]')}' || true`)).toBe('0')
      const places = '/home /tmp /var/tmp /root /etc /workspace'
      const files = `grep -rlsD skip '${vendorKeyPrefix.replace('key', 'ke[y]')}' ${places} || true`
      expect(await runtime.sh(files, { timeout_secs: 120 })).toBe('')
    },
    promptTimeoutMs,
  )

  it('reach only their vendor, and nothing without its secret', async () => {
    const [agent] = agents
    if (agent === undefined) throw new Error('no agent was drawn')
    const { name: template, vendor } = agent
    const own = vendors[vendor].host
    const others = Object.values(vendors).flatMap(({ host }) => (host === own ? [] : [host]))
    await using given = await createRuntime({ template, isolation, secrets: [vendor] })
    const network = success(await given.call('GET', '/network'), 200, RuntimeNetwork)
    expect(network.policy?.inspection.map(({ host }) => host)).toEqual([own])
    for (const host of [...others, npmHost, 'api.example.com'])
      expect(JSON.parse((await given.call('POST', '/network/test', { json: { host, port: 443 } })).text)).toMatchObject(
        {
          allowed: false,
        },
      )
    await using bare = await createRuntime({ template, isolation })
    expect(bare.data).toMatchObject({ network_policy: null, secrets: [] })
    await using narrowed = await createRuntime({ template, isolation, network_policy: null })
    expect(narrowed.data.network_policy).toBeNull()
  })
})

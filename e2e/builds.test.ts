import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Build, BuildContext, type CreateBuildInput, Template } from '@holt/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, failure, success } from './support/api.ts'
import { classes } from './support/classes.ts'
import { crash, restart } from './support/crash.ts'
import { service } from './support/facts.ts'
import { rawTar } from './support/tar.ts'
import {
  build,
  buildsPath,
  built,
  endOf,
  getBuild,
  logOf,
  messagesOf,
  startBuild,
  templatesPath,
} from './support/test-build.ts'
import { createRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const run = Date.now().toString(36)
const available = classes.filter((isolation) => service.unavailable[isolation] === null)
const onBase = (...lines: string[]) => ['FROM holt/base-small', 'USER root', ...lines].join('\n')
const remove = (name: string) => call('DELETE', `${templatesPath}/${name}`)

/** Builds boot runtimes and take checkpoints, on a machine that may be busy. */
const slow = 300_000

/** A build that runs a step until it is ended from outside. */
async function startSleeping(name: string): Promise<string> {
  const id = await startBuild({ name, dockerfile: onBase('RUN echo it sleeps now && sleep 600') })
  const sleeps = async () => (await messagesOf(id)).includes('it sleeps now')
  await until('the step runs', sleeps, 120_000)
  return id
}

describe('a build', () => {
  const name = `built-${run}`
  const secret = `hunter22-of-the-build-${run}`
  let body: CreateBuildInput
  let first: Build
  beforeAll(async () => {
    const tar = rawTar({ name: 'app/hello.txt', content: 'hello\n' })
    const context = success(await call('POST', `${templatesPath}/context`, { body: tar }), 201, BuildContext)
    const dockerfile = onBase(
      'ARG WHO=nobody',
      'ENV GREETING="hello $WHO"',
      'WORKDIR /srv',
      'COPY app/ ./',
      'RUN --mount=type=secret,id=token cat /run/secrets/token; echo; sha256sum /run/secrets/token',
      'RUN echo "said: $GREETING" | tee said',
      'CMD ["never"]',
    )
    const more = { build_args: { WHO: 'world' }, build_secrets: { token: secret }, disk: '6GiB' }
    body = { name, dockerfile, context_id: context.context_id, ...more }
    first = await built(body)
  }, slow)
  afterAll(() => remove(name))

  it('makes a template from a Dockerfile and a context', async () => {
    expect(first.ignored).toMatchObject([{ instruction: 'CMD', line: 9 }])
    expect(first.steps.every(({ state }) => state === 'done' || state === 'cached')).toBe(true)
    expect(await messagesOf(first.build_id)).toContain('said: hello world')
    const template = success(await call('GET', `${templatesPath}/${name}`), 200, Template)
    const settings = { kind: 'custom', state: 'ready', workdir: '/srv', user: 'root', disk_mib: 6144 }
    expect(template).toMatchObject({ ...settings, build_id: first.build_id, image_digest: first.image_digest })
  })

  it.each(available)('makes the image of runtimes of the class %s', async (isolation) => {
    await using runtime = await createRuntime({ template: name, isolation })
    const script = 'cat hello.txt said; echo $GREETING; ls -A /run/secrets 2>/dev/null | wc -l'
    expect(await runtime.sh(script, { cwd: '/srv' })).toBe('hello\nsaid: hello world\nhello world\n0')
    const small = await call('POST', '/v1/agents/runtime', { json: { template: name, disk: '4GiB' } })
    expect(failure(small, 'disk_too_small').details).toMatchObject({ required_mib: 6144 })
  })

  it('leaves no trace of its secret in the image, cache, database and log', async () => {
    const messages = await messagesOf(first.build_id)
    expect(messages.some((message) => /^\*+$/.test(message))).toBe(true)
    const places = ['images', 'checkpoints', 'builds', 'holt.db', 'holt.db-wal', 'holtd.log']
    const search = ['-rlaF', secret, ...places.map((place) => join(service.stateDir, place))]
    const found = () => {
      try {
        return execFileSync('grep', search, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      } catch (error) {
        return (error as { stdout: string }).stdout // Finding nothing is a failure of grep's.
      }
    }
    expect(found()).toBe('')
  })

  it(
    'takes unchanged steps from the cache, and replays its log from any line',
    async () => {
      const again = await built(body)
      expect(again.build_id).not.toBe(first.build_id)
      expect(again.image_digest).toBe(first.image_digest)
      expect(again.steps.filter(({ text }) => text.startsWith('RUN')).map(({ state }) => state)).toEqual([
        'cached',
        'cached',
      ])
      const all = await logOf(first.build_id)
      expect(all.at(-1)).toMatchObject({ type: 'end', status: 'ready' })
      expect(await logOf(first.build_id, { cursor: all[1]?.cursor ?? 0, follow: true })).toEqual(all.slice(2))
    },
    slow,
  )
})

describe('the network of a build', () => {
  // They fail in the end, since what they log is all that matters, and an image takes its time.
  const attempt = (host: string) => `curl -sS --max-time 20 http://${host}/ || echo "not reached: $?"`
  const hosts = ['plain', 'private', 'other'].map((name) => attempt(`${name}.example.com`))
  const dockerfile = onBase(`RUN ${hosts.join('; ')}; exit 1`)
  const policies = {
    public: {},
    nothing: { network_policy: null },
    one: { network_policy: { allow: [{ host: 'other.example.com', ports: [80] }] } },
  }
  const logs = new Map<string, readonly string[]>()
  beforeAll(async () => {
    const ids = await Promise.all(
      Object.entries(policies).map(async ([name, policy]) => {
        return [name, await startBuild({ name: `net-${name}-${run}`, dockerfile, ...policy })] as const
      }),
    )
    for (const [name, id] of ids) {
      expect((await endOf(id)).reason?.code).toBe('step_failed')
      logs.set(name, await messagesOf(id))
    }
  }, slow)
  afterAll(() => Promise.all(Object.keys(policies).map((name) => remove(`net-${name}-${run}`))))
  const log = (name: keyof typeof policies) => (logs.get(name) ?? []).join('\n')

  it('is the public Internet, and never a private address', () => {
    expect(log('public')).toContain('"host":"plain.example.com"')
    expect(log('public')).toContain('"host":"other.example.com"')
    expect(log('public')).toMatch(/denied by policy: private\.example\.com.*non_public/)
  })

  it('is empty with the policy null', () => {
    expect(log('nothing')).not.toContain('"host":')
    expect((logs.get('nothing') ?? []).filter((line) => /^not reached: \d+$/.test(line))).toHaveLength(3)
  })

  it('follows its own policy, and its log names denials', () => {
    expect(log('one')).toContain('"host":"other.example.com"')
    expect(log('one')).not.toContain('"host":"plain.example.com"')
    expect(log('one')).toMatch(/denied by policy: plain\.example\.com/)
  })
})

describe('a build that cannot succeed', () => {
  const failures: Readonly<Record<string, Partial<CreateBuildInput>>> = {
    step_failed: { dockerfile: onBase('RUN echo the last words && exit 7') },
    disk_too_small: { dockerfile: onBase('RUN true'), disk: '64MiB' },
    build_timeout: { dockerfile: onBase('RUN sleep 600'), timeout_secs: 10 },
    dockerfile_invalid: { dockerfile: 'FROM holt/base-small\nRUNN true' },
    unsupported_setting: { dockerfile: onBase('RUN --security=insecure true') },
    image_not_found: { dockerfile: 'FROM holt/nothing-of-this-name' },
  }
  const ended = new Map<string, Build>()
  const nameOf = (code: string) => `${code.replaceAll('_', '-')}-${run}`
  beforeAll(async () => {
    const builds = Object.entries(failures).map(async ([code, body]) => {
      ended.set(code, await build({ name: nameOf(code), ...body }))
    })
    await Promise.all(builds)
  }, slow)
  afterAll(() => Promise.all(Object.keys(failures).map((code) => remove(nameOf(code)))))

  it.each(Object.keys(failures))('fails with %s, and its template says so', async (code) => {
    const { status, reason } = ended.get(code) ?? {}
    expect({ status, code: reason?.code }, JSON.stringify(reason)).toEqual({ status: 'failed', code })
    const template = success(await call('GET', `${templatesPath}/${nameOf(code)}`), 200, Template)
    expect(template).toMatchObject({ state: 'failed', state_reason: { code, message: reason?.message } })
  })

  it('gives its author the reason', () => {
    expect(ended.get('step_failed')?.reason?.message).toContain('the last words')
    expect(ended.get('disk_too_small')?.reason?.details.required_mib).toBeGreaterThan(64)
    expect(ended.get('dockerfile_invalid')?.reason?.message).toContain('RUNN')
  })
})

describe('an interrupted build', () => {
  it(
    'is cancelled with its runtime and its template',
    async () => {
      const name = `cancelled-${run}`
      const id = await startSleeping(name)
      const runtimes = () => readdirSync(join(service.stateDir, 'runtimes'))
      const before = runtimes()
      expect(before.length).toBeGreaterThan(0)
      const cancelled = success(await call('DELETE', `${buildsPath}/${id}`), 200, Build)
      expect(cancelled).toMatchObject({ status: 'cancelled', reason: null })
      expect(runtimes().filter((one) => before.includes(one))).toEqual([])
      failure(await call('GET', `${templatesPath}/${name}`), 'template_not_found')
    },
    slow,
  )

  it(
    'has failed after a kill of the service, and deleted files are collected',
    async () => {
      const [name, gone] = [`killed-${run}`, `gone-${run}`]
      const tar = rawTar({ name: 'only-here', content: run })
      const { context_id } = success(await call('POST', `${templatesPath}/context`, { body: tar }), 201, BuildContext)
      const { image_digest } = await built({ name: gone, dockerfile: 'FROM scratch\nCOPY . /', context_id })
      const image = `${image_digest?.replace('sha256:', '')}.erofs`
      const images = () => readdirSync(join(service.stateDir, 'images'))
      const runtimes = () => readdirSync(join(service.stateDir, 'runtimes'))
      expect(images()).toContain(image)
      const id = await startSleeping(name)
      const left = runtimes()
      await crash()
      // The next one keeps nothing for later builds, so that what is left is what somebody needs.
      process.env.HOLT_BUILD_CACHE_SIZE = '0'
      try {
        await restart()
        const { status, reason } = await getBuild(id)
        expect({ status, reason }).toMatchObject({ status: 'failed', reason: { code: 'internal' } })
        await until(
          'the runtime of the step is gone',
          async () => !runtimes().some((one) => left.includes(one)),
          60_000,
        )
        const working = () => readdirSync(join(service.stateDir, 'builds'), { recursive: true })
        await until('its files are gone', async () => !working().some((path) => String(path).includes(id)), 60_000)
        expect(images()).toContain(image)
        expect((await remove(gone)).status).toBe(204)
        await until('the image is collected', async () => !images().includes(image), 60_000)
        const system = success(await call('GET', `${templatesPath}/base-small`), 200, Template)
        expect(images()).toContain(`${system.image_digest?.replace('sha256:', '')}.erofs`)
      } finally {
        delete process.env.HOLT_BUILD_CACHE_SIZE
        await crash()
        await restart()
        await remove(name)
      }
    },
    slow,
  )
})

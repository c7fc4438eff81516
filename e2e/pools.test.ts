import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command, CreateRuntime, type CreateRuntimeInput, NewKey, pageOf, Runtime } from '@holt/protocol'
import { oneIn } from '@holt/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call, failure, runtimesPath, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { crash, restart, restartWith } from './support/crash.ts'
import { service } from './support/facts.ts'
import { cpuTimeOf, initOf } from './support/host.ts'
import { listBelongings } from './support/leaks.ts'
import { LivingProcess } from './support/lifecycle/living-process.ts'
import { nothingLeft } from './support/lifecycle/states.ts'
import { Ticker } from './support/lifecycle/ticker.ts'
import { sumOf } from './support/metrics.ts'
import { forgetArrivals, readArrivals } from './support/rig/arrivals.ts'
import { placesOf } from './support/rig/find-text.ts'
import { built, templatesPath } from './support/test-build.ts'
import { createRuntime, TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'
import { visit } from './support/visit.ts'

// Runtimes that wait for who wants one. Nobody can tell such a runtime from one that was made for
// them, but by the metrics.

/** Making a member is a create. */
const fillTimeoutMs = 60_000

/**
 * The fields of a create that decide the parts of its runtime. The others apply to a runtime that
 * exists already.
 */
const madeOf = ['template', 'snapshot', 'isolation', 'cpu', 'memory']

/**
 * True if a mounted disk can grow on this machine. The kernel requires CAP_SYS_RESOURCE, number 24
 * (capabilities(7)).
 */
const growsDisks =
  (BigInt(`0x${/^CapEff:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]}`) >> 24n) % 2n === 1n

describeClasses('a pool', (isolation) => {
  /** A short run has half of the tests that take seconds. */
  const sometimes = oneIn(2, `pools in ${isolation}`, it)

  const floor = 2
  const settings = { HOLT_POOL_MIN: `${floor}`, HOLT_POOL_MAX: '6', HOLT_ISOLATION: isolation }
  const secret = { name: `of-pools-${isolation}`, value: `e2e-value-${crypto.randomUUID()}` }
  const custom = `of-pools-${isolation}`

  /** Members that wait, of a template. */
  const ready = (template = 'base-small') => sumOf('holt_pool_members', { template, isolation, state: 'ready' })
  const hits = () => sumOf('holt_pool_hits_total')
  /** Creates of a template that a pool had one for, and that it had none for. */
  const claims = async (template: string) => ({
    hits: await sumOf('holt_pool_hits_total', { template, isolation }),
    misses: await sumOf('holt_pool_misses_total', { template, isolation }),
  })
  const filled = (count: number, template?: string) =>
    until(`${count} members wait`, async () => (await ready(template)) >= count, fillTimeoutMs)
  /** The runtimes that exist on the machine, whoever has them. */
  const existing = () => readdirSync(join(service.stateDir, 'runtimes'))

  /**
   * The members, once none is being made or taken away. `owned` are the runtimes that are
   * somebody's.
   */
  const atRest = (...owned: readonly string[]) =>
    until(
      'what exists is what waits',
      async () => {
        const found = existing().filter((id) => !owned.includes(id))
        const [all, waiting] = [await sumOf('holt_pool_members'), await sumOf('holt_pool_members', { state: 'ready' })]
        return waiting >= floor && found.length === waiting && all === waiting ? found : null
      },
      fillTimeoutMs,
    )

  /** Creates a runtime and answers whether it came out of the pool. */
  async function create(json: CreateRuntimeInput = {}): Promise<{ runtime: TestRuntime; pooled: boolean }> {
    const before = await hits()
    const runtime = await createRuntime(json)
    return { runtime, pooled: (await hits()) > before }
  }

  let before: ReturnType<typeof listBelongings>
  beforeAll(async () => {
    before = listBelongings(service)
    const stored = { ...secret, hosts: ['api.example.com'], header: 'x-api-key', env_name: 'KEY' }
    expect((await call('POST', '/v1/agents/secret', { json: stored })).status).toBe(201)
    await restartWith(settings)
    await filled(floor)
  }, 180_000)
  afterAll(async () => {
    await call('DELETE', `/v1/agents/secret/${secret.name}`)
    await call('DELETE', `${templatesPath}/${custom}`)
    await restartWith({})
  })

  it('has runtimes that are not listed and use no processor time', async () => {
    const members = await atRest()
    const { data } = success(await call('GET', runtimesPath), 200, pageOf(Runtime))
    expect(data.filter(({ state }) => state !== 'terminated' && state !== 'failed')).toEqual([])
    const [id] = members
    failure(await call('GET', `${runtimesPath}/${id}`), 'runtime_not_found')
    failure(await call('DELETE', `${runtimesPath}/${id}`), 'runtime_not_found')
    await until('they stand still', async () => {
      const used = members.map(cpuTimeOf)
      await sleep(2000)
      return members.every((member, index) => cpuTimeOf(member) === used[index])
    })
  })

  const network_policy = { allow: [{ host: 'api.example.com', methods: ['GET' as const] }] }
  const asked = {
    name: `pooled-${isolation}`,
    env: { OF: 'create', PATH_OF: '/srv' },
    metadata: { of: 'pool' },
    timeout_secs: 900,
    on_timeout: 'terminate' as const,
    auto_resume: false,
    secrets: [secret.name],
  } satisfies CreateRuntimeInput
  /** All that a client can say of a runtime that is there already. */
  const sayable: CreateRuntimeInput = {
    ...asked,
    idle_timeout_secs: isolation === 'gvisor' ? 800 : null,
    disk: growsDisks ? '6GiB' : '4GiB',
    network_policy,
    cloud: 'aws',
    region: 'us-east-1',
    spread: 'web',
  }

  it('classifies every field of a create', () => {
    const fields = Object.keys(CreateRuntime.shape).filter((field) => !madeOf.includes(field))
    // A dry run makes nothing, so it takes no member either
    // (packages/server/test/runtimes/create/dry-run.test.ts).
    expect([...Object.keys(sayable), 'dry_run'].sort()).toEqual(fields.sort())
  })

  it.each(Object.entries(sayable))('has one for a create that sets its %s', async (field, value) => {
    const members = await atRest()
    // A secret is for hosts, which a policy has to allow.
    const { runtime, pooled } = await create({ [field]: value, ...(field === 'secrets' ? { network_policy } : {}) })
    await using _ = runtime
    expect({ pooled, isMember: members.includes(runtime.id) }).toEqual({ pooled: true, isMember: true })
    expect((await runtime.run('echo runs')).stdout).toBe('runs\n')
  })

  it('gives one to a create with any settings, and refills', async () => {
    const members = await atRest()
    const { runtime, pooled } = await create(sayable)
    expect(pooled).toBe(true)
    expect(members).toContain(runtime.id)
    expect(runtime.data).toMatchObject({ ...asked, isolation, state: 'running' })
    expect(runtime.data.idle_timeout_secs).toBe(sayable.idle_timeout_secs)
    expect(runtime.data.disk_mib).toBe(Number.parseInt(`${sayable.disk}`, 10) * 1024)
    const lived = Date.now() - Date.parse(runtime.data.created_at)
    expect(
      Math.abs(Date.parse(`${runtime.data.expires_at}`) - Date.parse(runtime.data.created_at) - 900_000),
    ).toBeLessThan(lived + 5000)
    expect(await runtime.sh('echo $OF $PATH_OF; id -u')).toBe('create /srv\n0')
    await forgetArrivals()
    await runtime.sh('curl -fsS -H "x-api-key: $KEY" https://api.example.com/pooled')
    expect(placesOf(secret.value, await readArrivals())).toEqual(['api.example.com header x-api-key'])
    expect(Math.abs(Number(await runtime.sh('date +%s')) - Date.now() / 1000)).toBeLessThan(10)
    await runtime.delete()
    await filled(floor)
  })

  const larger = growsDisks
    ? 'from the pool'
    : 'not from the pool: without CAP_SYS_RESOURCE no disk grows that is mounted'
  it(`gives a larger disk than its own, ${larger}`, async () => {
    const members = await atRest()
    const { runtime, pooled } = await create({ disk: '6GiB' })
    await using _ = runtime
    expect({ pooled, isMember: members.includes(runtime.id) }).toEqual({ pooled: growsDisks, isMember: growsDisks })
    expect(runtime.data.disk_mib).toBe(6 * 1024)
    expect(Number(await runtime.sh("df -m --output=size / | tail -1 | tr -d ' '"))).toBeGreaterThan(5.4 * 1024)
    await runtime.sh('head -c 64M /dev/urandom > /srv/random; test $(stat -c %s /srv/random) = 67108864')
  })

  it('gives runtimes with their own identities', async () => {
    const made: TestRuntime[] = []
    for (let index = 0; index < 3; index += 1) {
      await filled(1)
      const { runtime, pooled } = await create()
      expect(pooled).toBe(true)
      made.push(runtime)
    }
    const look = 'hostname; cat /etc/machine-id; head -c 16 /dev/urandom | sha256sum'
    const lines = (await Promise.all(made.map((runtime) => runtime.sh(look)))).flatMap((text) => text.split('\n'))
    expect(new Set(lines).size).toBe(9)
    for (const runtime of made) {
      expect((await runtime.run('echo runs')).stdout).toBe('runs\n')
      await runtime.delete()
    }
  })

  sometimes('does not serve another size or source, which is created directly', async () => {
    await filled(floor)
    const { runtime, pooled } = await create({ cpu: 2, memory: '1200MiB' })
    expect(pooled).toBe(false)
    expect(runtime.data).toMatchObject({ cpu: 2, memory_mib: 1200 })
    const { snapshot_id } = await runtime.snapshot({ kind: 'filesystem' })
    await runtime.delete()
    const restored = await create({ snapshot: snapshot_id })
    expect(restored.pooled).toBe(false)
    await restored.runtime.delete()
    expect((await call('DELETE', `/v1/agents/snapshot/${snapshot_id}`)).status).toBe(204)
  })

  sometimes('gives runtimes that can be paused, forked and deleted', async () => {
    if (isolation === 'container') return
    await filled(1)
    const { runtime, pooled } = await create()
    expect(pooled).toBe(true)
    const living = await LivingProcess.start(runtime)
    await living.add(1)
    const [child] = (await runtime.fork()) as [TestRuntime]
    await runtime.pause()
    expect((await living.add(1)).total).toBe(2)
    expect((await living.in(child).look()).total).toBe(1)
    await child.delete()
    await runtime.delete()
  })

  it('answers a repeated create with the same runtime', async () => {
    await filled(1)
    const before = await hits()
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const ask = () => call('POST', runtimesPath, { json: {}, headers })
    const [first, second] = [await ask(), await ask()]
    expect(second.text).toBe(first.text)
    expect(await hits()).toBe(before + 1)
    await new TestRuntime(success(first, 201, Runtime)).delete()
  })

  it('grows with demand, and serves a burst above its size', async () => {
    const before = await claims('base-small')
    const made = await Promise.all(Array.from({ length: 5 }, () => createRuntime()))
    expect(new Set(made.map(({ id }) => id)).size).toBe(5)
    for (const runtime of made) expect((await runtime.run('echo runs')).stdout).toBe('runs\n')
    const after = await claims('base-small')
    expect(after.hits + after.misses).toBe(before.hits + before.misses + 5)
    expect(after.hits).toBeGreaterThan(before.hits)
    await filled(floor + 1)
    expect(await ready()).toBeLessThanOrEqual(6)
    await Promise.all(made.map((runtime) => runtime.delete()))
  }, 120_000)

  it('does not give away a member that has died', async () => {
    const waiting = await atRest()
    for (const id of waiting) process.kill(initOf(id), 'SIGKILL')
    const made = await Promise.all([createRuntime(), createRuntime()])
    for (const runtime of made) {
      expect((await runtime.run('echo runs')).stdout).toBe('runs\n')
      await runtime.delete()
    }
    await until('the dead are gone', async () => existing().every((id) => !waiting.includes(id)), fillTimeoutMs)
  }, 120_000)

  sometimes(
    'and its runtimes, running and paused, survive a restart of the daemon',
    async () => {
      await atRest()
      const { runtime: running, pooled: ofPool } = await create()
      await using _running = running
      const ticker = await Ticker.start(running)
      await using asleep = isolation === 'gvisor' ? (await create()).runtime : null
      const living = asleep === null ? null : await LivingProcess.start(asleep)
      await living?.add(3)
      await asleep?.pause()
      expect(ofPool).toBe(true)
      const ids = [running, ...(asleep === null ? [] : [asleep])].map(({ id }) => id)
      for (const stop of [crash, () => restartWith(settings)]) {
        const members = await atRest(...ids)
        const inits = new Map(members.map((id) => [id, initOf(id)]))
        const init = initOf(running.id)
        const paused = await asleep?.refresh()
        await stop()
        await restart(settings)
        await filled(floor)
        expect(initOf(running.id)).toBe(init)
        await ticker.countsBeyond(await ticker.count())
        expect(await asleep?.refresh()).toEqual(paused)
        // It keeps as many as it needs: what was asked for is forgotten with the daemon.
        const kept = (await atRest(...ids)).filter((id) => members.includes(id))
        expect(kept.length).toBeGreaterThanOrEqual(floor)
        for (const id of kept) expect(initOf(id), id).toBe(inits.get(id))
        const { runtime, pooled } = await create()
        await using _ = runtime
        expect(pooled).toBe(true)
        expect(kept).toContain(runtime.id)
        expect((await runtime.run('echo runs')).stdout).toBe('runs\n')
      }
      if (living !== null) expect((await living.look()).total).toBe(3)
    },
    180_000,
  )

  sometimes(
    'leaves nothing unfinished when the daemon is killed in a claim or a refill',
    async () => {
      for (const afterMs of [0, 5, 15, 40, 100]) {
        const metadata = { cut: crypto.randomUUID() }
        const creating = call('POST', runtimesPath, { json: { metadata } }).catch(() => undefined) // The answer is lost.
        await sleep(afterMs)
        await crash()
        await creating
        await restart(settings)
        const query = { 'metadata.cut': metadata.cut }
        const found = await until('it is settled', async () => {
          const { data } = success(await call('GET', runtimesPath, { query }), 200, pageOf(Runtime))
          return data.every(({ state }) => ['running', 'failed', 'terminated'].includes(state)) ? data : null
        })
        expect(found.length).toBeLessThanOrEqual(1)
        for (const one of found.filter(({ state }) => state === 'running')) {
          const runtime = new TestRuntime(one)
          expect((await runtime.run('echo runs')).stdout).toBe('runs\n')
          await runtime.delete()
        }
      }
      await atRest()
    },
    180_000,
  )

  sometimes(
    'of a rebuilt template gives only new members, and is removed with its template',
    async () => {
      const release = (word: string) =>
        built({ name: custom, from_template: 'base-small', steps: [{ run: `echo ${word} > /workspace/release` }] })
      await release('first')
      const base = await atRest()
      await (await createRuntime({ template: custom })).delete()
      const members = async () => {
        await filled(2, custom)
        return (await atRest()).filter((id) => !base.includes(id))
      }
      const old = await members()
      expect(old).toHaveLength(2)
      await release('second')
      // Nobody asks for one: that the template is another one is enough.
      await until('the old ones are gone', async () => !existing().some((id) => old.includes(id)), fillTimeoutMs)
      const renewed = await members()
      for (let index = 0; index < 3; index += 1) {
        await filled(1, custom)
        const { runtime, pooled } = await create({ template: custom })
        expect(pooled).toBe(true)
        if (index === 0) expect(renewed).toContain(runtime.id)
        expect(await runtime.sh('cat /workspace/release')).toBe('second')
        await runtime.delete()
      }
      expect((await call('DELETE', `${templatesPath}/${custom}`)).status).toBe(204)
      await until(
        'its members are gone',
        async () => (await sumOf('holt_pool_members', { template: custom })) === 0,
        fillTimeoutMs,
      )
    },
    240_000,
  )

  sometimes(
    'has correct metrics: hits, misses, size and age',
    async () => {
      const template = 'base-medium'
      const pool = { template, isolation }
      expect(await claims(template)).toEqual({ hits: 0, misses: 0 })
      expect(await sumOf('holt_pool_size_wanted', pool)).toBe(0)
      const startedAt = performance.now()
      const first = await create({ template })
      expect(first.pooled).toBe(false)
      expect(await claims(template)).toEqual({ hits: 0, misses: 1 })
      await first.runtime.delete()
      await filled(2, template)
      expect(await sumOf('holt_pool_size_wanted', pool)).toBe(2)
      const age = await sumOf('holt_pool_age_seconds', pool)
      await sleep(1100)
      const older = await sumOf('holt_pool_age_seconds', pool)
      expect(older).toBeGreaterThanOrEqual(age + 1)
      expect(older * 1000).toBeLessThan(performance.now() - startedAt)
      const claimedAt = performance.now()
      for (let hits = 1; hits <= 2; hits += 1) {
        const { runtime, pooled } = await create({ template })
        expect(pooled).toBe(true)
        expect(await claims(template)).toEqual({ hits, misses: 1 })
        await runtime.delete()
      }
      await filled(2, template)
      expect((await sumOf('holt_pool_age_seconds', pool)) * 1000).toBeLessThan(performance.now() - claimedAt)
      expect(await sumOf('holt_pool_size_wanted')).toBeLessThanOrEqual(6)
    },
    120_000,
  )

  it('gives runtimes whose application has been running since before their create', async () => {
    // The pools that earlier tests made large leave this one no room. A start forgets their size.
    await restartWith(settings)
    await filled(floor)
    const base = await atRest()
    const program = [
      'import http.server, json, os, time',
      'facts = {"started": time.time(), "pid": os.getpid(), "env": [os.environ.get(name) for name in ("OF_TEMPLATE", "OF_CREATE")], "seen": 0}',
      'class Handler(http.server.BaseHTTPRequestHandler):',
      '    def do_GET(self):',
      '        facts["seen"] += 1',
      '        self.send_response(200)',
      '        self.end_headers()',
      '        self.wfile.write(json.dumps(facts).encode())',
      'print("up", flush=True)',
      'http.server.HTTPServer(("", 8000), Handler).serve_forever()',
    ]
    await built({
      name: custom,
      dockerfile: `FROM holt/base-small\nENV OF_TEMPLATE=yes\nCOPY <<'EOF' /srv/app.py\n${program.join('\n')}\nEOF\n`,
      start_cmd: 'exec python /srv/app.py',
      ready_cmd: 'curl -fsS localhost:8000',
    })
    await (await createRuntime({ template: custom })).delete()
    await filled(2, custom)
    const waiting = (await atRest()).filter((id) => !base.includes(id))
    interface Facts {
      readonly pid: number
      readonly started: number
      readonly env: readonly (string | null)[]
      readonly seen: number
    }
    const seen: (Facts & { readonly id: string })[] = []
    for (let index = 0; index < 2; index += 1) {
      const askedAt = Date.now() / 1000
      const { runtime, pooled } = await create({ template: custom })
      await using _ = runtime
      expect(pooled).toBe(true)
      const facts = await visit<Facts>(runtime, 8000, '/')
      expect(facts.env).toEqual(['yes', null])
      expect(facts.started).toBeLessThan(askedAt)
      expect(facts.seen).toBeGreaterThanOrEqual(2)
      expect(await runtime.sh(`tr '\\0' ' ' < /proc/${facts.pid}/cmdline`)).toBe('python /srv/app.py ')
      const { data } = success(await runtime.call('GET', '/commands'), 200, pageOf(Command))
      expect(data.filter(({ command_id }) => command_id === 'cmstartcommand00000000')).toMatchObject([
        { state: 'running' },
      ])
      seen.push({ id: runtime.id, ...facts })
    }
    expect(waiting).toContain(seen[0]?.id)
    // Members of a class without memory checkpoints start the application themselves, each once.
    expect(seen[0]?.started === seen[1]?.started).toBe(isolation === 'gvisor')
    await filled(1, custom)
    const { runtime: other, pooled } = await create({ template: custom, env: { OF_CREATE: 'yes' } })
    await using _ = other
    // There, an application that has started cannot have the environment of the create.
    expect(pooled).toBe(isolation === 'gvisor')
    const { env } = await visit<Facts>(other, 8000, '/')
    expect(env).toEqual(['yes', isolation === 'gvisor' ? null : 'yes'])
    expect((await call('DELETE', `${templatesPath}/${custom}`)).status).toBe(204)
    await until(
      'its members are gone',
      async () => (await sumOf('holt_pool_members', { template: custom })) === 0,
      fillTimeoutMs,
    )
  }, 240_000)

  it('has metrics only for keys that may read them', async () => {
    const { text } = await call('GET', '/metrics')
    for (const name of ['holt_pool_hits_total', 'holt_pool_misses_total', 'holt_pool_members', 'holt_pool_age_seconds'])
      expect(text).toContain(`\n# TYPE ${name} `)
    failure(await call('GET', '/metrics', { key: null }), 'unauthenticated')
    const json = { name: 'no-admin', scopes: ['runtime:read'] }
    const { key, key_id } = success(await call('POST', '/v1/agents/key', { json }), 201, NewKey)
    failure(await call('GET', '/metrics', { key }), 'forbidden')
    expect((await call('DELETE', `/v1/agents/key/${key_id}`)).status).toBe(204)
  })

  it('is emptied by a daemon with pools disabled', async () => {
    await restartWith({ HOLT_ISOLATION: isolation })
    await nothingLeft(before)
    await (await createRuntime()).delete()
  }, 120_000)
})

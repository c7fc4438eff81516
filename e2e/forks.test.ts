import { totalmem } from 'node:os'
import { Fork } from '@holt/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, failure, success } from './support/api.ts'
import { restartWith } from './support/crash.ts'
import { service } from './support/facts.ts'
import { checkpoints } from './support/host-disk.ts'
import { type Identity, LivingProcess } from './support/lifecycle/living-process.ts'
import { Ticker } from './support/lifecycle/ticker.ts'
import { forgetArrivals, readArrivals } from './support/rig/arrivals.ts'
import { placesOf } from './support/rig/find-text.ts'
import { built, templatesPath } from './support/test-build.ts'
import { createRuntime, TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// A fork is a runtime that begins where another stands, and is nobody but itself.

const withoutGvisor = service.unavailable.gvisor !== null && !process.env.CI

/** The kinds of SSH host key that the source has; RSA's would take eight forks at once too long. */
const hostKeys = ['ecdsa', 'ed25519'] as const

/**
 * The public part of each private host key of a runtime, which its `.pub` file has to be as well.
 */
async function hostKeysOf(runtime: TestRuntime): Promise<readonly string[]> {
  const said = await runtime.sh('for key in /etc/ssh/ssh_host_*_key; do ssh-keygen -y -f $key; cat $key.pub; done')
  const keys = said.split('\n').map((line) => line.split(' ').slice(0, 2).join(' '))
  expect(keys.filter((_, index) => index % 2 === 1)).toEqual(keys.filter((_, index) => index % 2 === 0))
  return keys.filter((_, index) => index % 2 === 0)
}

const deleteAll = (runtimes: readonly TestRuntime[]) => Promise.all(runtimes.map((runtime) => runtime.delete()))

describe.skipIf(withoutGvisor)('eight forks', () => {
  const count = 8
  const secret = { name: 'of-forks', value: `e2e-value-${crypto.randomUUID()}` }
  const attached = { ...secret, hosts: ['api.example.com'], header: 'x-api-key', env_name: 'KEY' }
  const allow = [
    { host: 'api.example.com', methods: ['GET'] },
    { host: 'db.example.com', ports: [5432], protocol: 'tcp' as const },
  ]
  let source: TestRuntime
  let living: LivingProcess
  let ticker: Ticker
  let children: TestRuntime[] = []
  let kept: string[]
  let keysBefore: readonly string[]
  const everywhere = () => [source, ...children]
  beforeAll(async () => {
    expect((await call('POST', '/v1/agents/secret', { json: attached })).status).toBe(201)
    source = await createRuntime({
      memory: '512MiB',
      name: 'forked',
      env: { OF: 'source' },
      metadata: { of: 'source' },
      network_policy: { allow },
      secrets: [secret.name],
      timeout_secs: 1800,
    })
    // Host keys as an image has them that runs sshd.
    for (const kind of hostKeys) await source.sh(`ssh-keygen -q -t ${kind} -N '' -f /etc/ssh/ssh_host_${kind}_key`)
    keysBefore = await hostKeysOf(source)
    living = await LivingProcess.start(source, 8)
    await living.add(5)
    expect(await living.connect('db.example.com', 5432)).toBe('connected')
    ticker = await Ticker.start(source)
    await source.sh('head -c 4M /dev/urandom > /srv/random; sha256sum /srv/random > /srv/sum')
    kept = checkpoints()
    const followed = ticker.follow()
    await followed.reaches(3)
    children = await source.fork({ count, metadata: { of: 'fork' } })
    await followed.reaches((await ticker.countsBeyond(followed.count)) + 1)
    await followed.stop()
  }, 180_000)
  afterAll(async () => {
    await deleteAll(everywhere().filter((runtime) => runtime !== undefined))
    await call('DELETE', `/v1/agents/secret/${secret.name}`)
  })

  it('are separate runtimes with the settings of the source', () => {
    expect(new Set(everywhere().map(({ id }) => id)).size).toBe(count + 1)
    const { env, secrets, cpu, memory_mib, disk_mib, template, timeout_secs, on_timeout } = source.data
    for (const { data } of children) {
      expect(data).toMatchObject({ env, secrets, cpu, memory_mib, disk_mib, template, timeout_secs, on_timeout })
      expect(data).toMatchObject({ state: 'running', parent_id: source.id, name: null, metadata: { of: 'fork' } })
      expect(Date.parse(`${data.expires_at}`)).toBeGreaterThan(Date.parse(`${source.data.expires_at}`))
    }
  })

  it('are pairwise distinct: machine id, hostname, entropy, and that of an earlier process', async () => {
    const identities = await Promise.all(everywhere().map((runtime) => living.in(runtime).identity()))
    for (const field of Object.keys(identities[0] as Identity) as (keyof Identity)[])
      expect(new Set(identities.map((one) => one[field])).size, field).toBe(count + 1)
    const look = 'hostname; cat /etc/machine-id; head -c 16 /dev/urandom | sha256sum'
    const said = await Promise.all(everywhere().map((runtime) => runtime.sh(look)))
    const lines = said.flatMap((text) => text.split('\n').filter((line) => line !== ''))
    expect(lines).toHaveLength(3 * (count + 1))
    expect(new Set(lines).size).toBe(lines.length)
    for (const [index, { hostname }] of identities.entries())
      expect(await everywhere()[index]?.sh('cat /etc/hosts')).toContain(hostname)
  })

  it('have their own SSH host keys of each kind of the source, which keeps its own', async () => {
    const keys = await Promise.all(everywhere().map(hostKeysOf))
    for (const each of keys) expect(each).toHaveLength(hostKeys.length)
    expect(keys[0]).toEqual(keysBefore)
    expect(new Set(keys.flat()).size).toBe((count + 1) * hostKeys.length)
  })

  it('begin with its processes, memory and files, and diverge', async () => {
    const { pid, digest } = await living.look()
    await Promise.all(
      children.map(async (child, index) => {
        const process = living.in(child)
        expect(await process.look()).toMatchObject({ pid, digest, total: 5 })
        expect((await process.add(index)).total).toBe(5 + index)
        const copied = ticker.in(child)
        await copied.countsBeyond(await copied.count())
        await child.sh(`sha256sum --quiet -c /srv/sum; test ! -e /srv/own; echo ${index} > /srv/own`)
      }),
    )
    expect(await Promise.all(children.map((child) => child.sh('cat /srv/own')))).toEqual(
      children.map((_, index) => `${index}`),
    )
    await source.sh('test ! -e /srv/own')
    expect((await living.look()).total).toBe(5)
  })

  it('have a correct clock', async () => {
    const walls = await Promise.all(children.map(async (child) => (await living.in(child).look()).wall))
    for (const wall of walls) expect(Math.abs(wall - Date.now() / 1000)).toBeLessThan(10)
  })

  it('share no outbound connection, and make their own', async () => {
    for (const [index, runtime] of everywhere().entries()) {
      const process = living.in(runtime)
      const shared = await process.exchange('shared')
      expect(shared.received ?? '').not.toBe('shared')
      expect(await process.connect('db.example.com', 5432), `runtime ${index}`).toBe('connected')
      expect(await process.exchange(runtime.id)).toEqual({ end: 'end', received: runtime.id })
    }
  })

  it('have its secrets under the same placeholder', async () => {
    const placeholder = await source.sh('echo $KEY')
    expect(placeholder).toMatch(/^holt-placeholder-/)
    await forgetArrivals()
    for (const child of children.slice(0, 2)) {
      expect(await child.sh('echo $KEY')).toBe(placeholder)
      await child.sh('curl -fsS -H "x-api-key: $KEY" https://api.example.com/forked')
    }
    expect(placesOf(secret.value, await readArrivals())).toEqual(['api.example.com header x-api-key'])
  })

  it('keep no checkpoint, and survive their source', async () => {
    const others = () => checkpoints().filter((one) => !kept.includes(one))
    await until('the checkpoint of the fork is gone', async () => others().length === 0).catch(() => undefined)
    expect(others()).toEqual([])
    await source.delete()
    const [first] = children as [TestRuntime]
    await first.pause()
    const process = living.in(first)
    const { total } = await process.look()
    expect((await process.add(1)).total).toBe(total + 1)
  })
})

describe.skipIf(withoutGvisor)('a fork', () => {
  it('of a child has that child as its parent', async () => {
    await using source = await createRuntime({ memory: '256MiB' })
    const process = await LivingProcess.start(source)
    await process.add(1)
    const [child] = (await source.fork()) as [TestRuntime]
    await process.in(child).add(2)
    const [grandchild] = (await child.fork({ timeout_secs: 60, on_timeout: 'terminate' })) as [TestRuntime]
    expect(grandchild.data).toMatchObject({ parent_id: child.id, timeout_secs: 60, on_timeout: 'terminate' })
    await child.delete()
    expect((await process.in(grandchild).look()).total).toBe(3)
    await grandchild.delete()
  })

  it('is made once for one Idempotency-Key', async () => {
    await using source = await createRuntime({ memory: '256MiB' })
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const fork = () => source.call('POST', '/fork', { json: { count: 2 }, headers })
    const [first, second] = [await fork(), await fork()]
    expect(second.text).toBe(first.text)
    const { data } = success(first, 201, Fork)
    await deleteAll(data.flatMap(({ runtime }) => (runtime === null ? [] : [new TestRuntime(runtime)])))
  })

  it('answers an error for each child without room, and the others run', async () => {
    await restartWith({ HOLT_MEMORY_OVERCOMMIT: '1' })
    try {
      const memoryMiB = Math.floor((totalmem() / 2 ** 20) * 0.4)
      await using source = await createRuntime({ memory: `${memoryMiB}MiB` })
      const { data } = success(await source.call('POST', '/fork', { json: { count: 3 } }), 201, Fork)
      const codes = data.map(({ error }) => error?.code ?? 'runs')
      expect(codes.toSorted()).toEqual(['capacity_exhausted', 'capacity_exhausted', 'runs'])
      const started = data.flatMap(({ runtime }) => (runtime === null ? [] : [new TestRuntime(runtime)]))
      for (const runtime of [source, ...started]) expect((await runtime.run('echo runs')).stdout).toBe('runs\n')
      await deleteAll(started)
    } finally {
      await restartWith({})
    }
  }, 120_000)

  it('of too many, or of none, is refused', async () => {
    await using source = await createRuntime({ memory: '256MiB' })
    for (const count of [0, 101, 1.5, '2'])
      failure(await source.call('POST', '/fork', { json: { count } }), 'invalid_request')
  })

  it.skipIf(service.unavailable.container !== null && !process.env.CI)(
    'is refused in the class container',
    async () => {
      await using source = await createRuntime({ isolation: 'container' })
      failure(await source.call('POST', '/fork', { json: {} }), 'not_supported_here')
      expect((await source.run('echo on')).stdout).toBe('on\n')
    },
  )
})

describe.skipIf(withoutGvisor)('on_restore', () => {
  const template = 'forks-on-restore'
  beforeAll(async () => {
    await built({
      name: template,
      from_template: 'base-small',
      start_cmd: 'exec sleep infinity',
      ready_cmd: 'true',
      on_restore: 'test ! -e /tmp/refuse && hostname >> /tmp/restored',
    })
  }, 180_000)
  afterAll(async () => {
    const { status, text } = await call('DELETE', `${templatesPath}/${template}`)
    expect([204, 404], text).toContain(status)
  })
  const restored = async (runtime: TestRuntime) => (await runtime.sh('cat /tmp/restored')).split('\n')

  it('runs before a resumed runtime, a fork and a runtime of a snapshot is answered', async () => {
    await using source = await createRuntime({ template })
    const own = await source.sh('hostname')
    expect(await restored(source)).toEqual([own])
    await source.pause()
    await source.resume()
    expect(await restored(source)).toEqual([own, own])
    const children = await source.fork({ count: 2 })
    for (const child of children) expect(await restored(child)).toEqual([own, own, await child.sh('hostname')])
    await deleteAll(children)
    const { snapshot_id } = await source.snapshot()
    await using made = await createRuntime({ snapshot: snapshot_id })
    expect(await restored(made)).toEqual([own, own, await made.sh('hostname')])
    expect(await restored(source)).toEqual([own, own])
    expect((await call('DELETE', `/v1/agents/snapshot/${snapshot_id}`)).status).toBe(204)
  })

  it('that fails makes no child, and a resumed runtime still works', async () => {
    await using source = await createRuntime({ template })
    const process = await LivingProcess.start(source)
    await process.add(3)
    await source.sh('touch /tmp/refuse')
    const { data } = success(await source.call('POST', '/fork', { json: { count: 2 } }), 201, Fork)
    expect(data.map(({ error }) => error?.code)).toEqual(['on_restore_failed', 'on_restore_failed'])
    expect((await process.look()).total).toBe(3)
    await source.pause()
    expect(await source.resume()).toMatchObject({ state_reason: { code: 'on_restore_failed' } })
    expect((await process.add(1)).total).toBe(4)
    await source.sh('rm /tmp/refuse')
    await source.pause()
    expect((await source.resume()).state_reason).toBeNull()
  })
})

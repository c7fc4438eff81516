import { readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pageOf, Runtime, Snapshot } from '@holt/protocol'
import { oneIn } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, failure, pointersOf, runtimesPath, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { filesWith } from './support/files-with.ts'
import { checkpointFiles, checkpoints, checkpointsDir, flipBit } from './support/host-disk.ts'
import { LivingProcess } from './support/lifecycle/living-process.ts'
import { Ticker } from './support/lifecycle/ticker.ts'
import { forgetArrivals, readArrivals } from './support/rig/arrivals.ts'
import { placesOf } from './support/rig/find-text.ts'
import { built } from './support/test-build.ts'
import { createRuntime, TestRuntime } from './support/test-runtime.ts'
import { callSnapshot, deleteSnapshots, snapshotsPath } from './support/test-snapshots.ts'

const withoutGvisor = service.unavailable.gvisor !== null && !process.env.CI

/** A whole root goes through the guest, file by file, on a machine that may be busy. */
const exportTimeoutMs = 240_000

const refused = (json: object) => call('POST', runtimesPath, { json })

describe.skipIf(withoutGvisor)('a memory snapshot', () => {
  let source: TestRuntime
  let living: LivingProcess
  let ticker: Ticker
  let snapshot: Snapshot
  const made: TestRuntime[] = []
  const make = async (more: object = {}) => {
    const runtime = await createRuntime({ snapshot: snapshot.snapshot_id, ...more })
    made.push(runtime)
    return runtime
  }
  beforeAll(async () => {
    source = await createRuntime({ env: { OF: 'source' }, metadata: { of: 'source' }, name: 'snapshot-source' })
    living = await LivingProcess.start(source, 8)
    await living.add(5)
    ticker = await Ticker.start(source)
    await source.sh('head -c 8M /dev/urandom > /srv/random; sha256sum /srv/random > /srv/sum')
    const followed = ticker.follow()
    await followed.reaches(3)
    snapshot = await source.snapshot({ name: 'whole' })
    await followed.reaches((await ticker.countsBeyond(followed.count)) + 1)
    await followed.stop()
  }, 120_000)
  afterAll(async () => {
    for (const runtime of [source, ...made]) await runtime?.delete()
    if (snapshot !== undefined) await callSnapshot('DELETE', snapshot.snapshot_id)
  })

  it('has the facts of its source', async () => {
    const { cpu, memory_mib, template } = source.data
    expect(snapshot).toMatchObject({ name: 'whole', kind: 'memory', isolation: 'gvisor', cpu, memory_mib, template })
    expect(snapshot.size_bytes).toBeGreaterThan(2 ** 20)
    expect(success(await callSnapshot('GET', 'whole'), 200, Snapshot)).toEqual(snapshot)
    expect(success(await callSnapshot('GET', snapshot.snapshot_id), 200, Snapshot)).toEqual(snapshot)
  })

  it('leaves its source unchanged and running', async () => {
    expect(await source.refresh()).toMatchObject({
      state: 'running',
      snapshot_id: null,
      started_at: source.data.started_at,
    })
    expect(await living.look()).toMatchObject({ total: 5 })
  })

  it('starts other runtimes, each independent', async () => {
    const before = await living.look()
    const [one, two] = [await make(), await make({ env: { OF: 'create' }, metadata: { of: 'create' } })] as const
    expect(one.data).toMatchObject({ snapshot_id: snapshot.snapshot_id, parent_id: null, state: 'running', name: null })
    expect(one.data.template).toEqual(source.data.template)
    const [first, second] = [living.in(one), living.in(two)]
    expect(await first.look()).toMatchObject({ pid: before.pid, digest: before.digest, total: 5 })
    expect((await first.add(1)).total).toBe(6)
    expect((await second.add(2)).total).toBe(7)
    expect((await living.look()).total).toBe(5)
    for (const runtime of [one, two]) {
      await runtime.sh('sha256sum --quiet -c /srv/sum')
      const copied = ticker.in(runtime)
      await copied.countsBeyond(await copied.count())
    }
    expect(await one.sh('echo $OF')).toBe('source')
    expect(await two.sh('echo $OF')).toBe('create')
    await one.sh('echo one > /srv/own')
    await two.sh('test ! -e /srv/own; echo two > /srv/own')
    expect(await one.sh('cat /srv/own')).toBe('one')
  })

  it('has a correct clock in runtimes of it', async () => {
    const runtime = await make()
    const { wall } = await living.in(runtime).look()
    expect(Math.abs(wall - Date.now() / 1000)).toBeLessThan(5)
  })

  it('restores into a larger disk, and into no other size', async () => {
    const runtime = await make({ disk: `${snapshot.disk_mib + 1024}MiB` })
    expect(runtime.data.disk_mib).toBe(snapshot.disk_mib + 1024)
    const kib = Number(await runtime.sh("df -k --output=size / | tail -1 | tr -d ' '"))
    expect(kib / 1024).toBeGreaterThan(snapshot.disk_mib + 700)
    await runtime.sh('sha256sum --quiet -c /srv/sum')
    const of = { snapshot: 'whole' }
    failure(await refused({ ...of, disk: `${snapshot.disk_mib - 512}MiB` }), 'disk_too_small')
    const wrong = [{ cpu: snapshot.cpu + 1 }, { memory: `${snapshot.memory_mib + 256}MiB` }, { isolation: 'container' }]
    for (const setting of wrong) {
      const error = failure(await refused({ ...of, ...setting }), 'unsupported_setting')
      expect(pointersOf(error)).toEqual([`/${Object.keys(setting)[0]}`])
      expect(error.hint).toMatch(/filesystem/)
    }
  })

  it('survives its source, and its runtimes survive it', async () => {
    const gone = await createRuntime()
    const kept = await LivingProcess.start(gone)
    const { digest } = await kept.look()
    const { snapshot_id } = await gone.snapshot()
    await gone.delete()
    await using runtime = await createRuntime({ snapshot: snapshot_id })
    expect((await kept.in(runtime).look()).digest).toBe(digest)
    await deleteSnapshots(snapshot_id)
    failure(await callSnapshot('GET', snapshot_id), 'snapshot_not_found')
    failure(await refused({ snapshot: snapshot_id }), 'snapshot_not_found')
    expect((await kept.in(runtime).look()).digest).toBe(digest)
    await runtime.pause()
    expect((await kept.in(runtime).add(1)).total).toBe(1)
  })

  it('can be taken of a runtime of a snapshot', async () => {
    const runtime = await make()
    await living.in(runtime).add(10)
    const { snapshot_id } = await runtime.snapshot()
    try {
      await using again = await createRuntime({ snapshot: snapshot_id })
      expect((await living.in(again).look()).total).toBe(15)
    } finally {
      await deleteSnapshots(snapshot_id)
    }
  })

  it('is not taken of a paused runtime, which stays paused', async () => {
    await using runtime = await createRuntime()
    await runtime.pause()
    const { hint } = failure(await runtime.call('POST', '/snapshot', { json: {} }), 'runtime_paused')
    expect(hint).toMatch(/resume/i)
    failure(await runtime.call('POST', '/fork', { json: {} }), 'runtime_paused')
    expect((await runtime.refresh()).state).toBe('paused')
  })

  it('is made once for one Idempotency-Key', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const take = () => source.call('POST', '/snapshot', { json: { name: 'once' }, headers })
    const [first, second] = [await take(), await take()]
    expect(second.text).toBe(first.text)
    const { snapshot_id } = success(first, 201, Snapshot)
    failure(await source.call('POST', '/snapshot', { json: { name: 'once' } }), 'name_taken')
    await deleteSnapshots(snapshot_id)
  })

  it('is listed, newest first, and filtered', async () => {
    const more = [await source.snapshot({ name: 'listed' }), await source.snapshot()]
    const list = async (query: Record<string, string | number>) =>
      success(await call('GET', snapshotsPath, { query }), 200, pageOf(Snapshot))
    const ids = (page: { data: Snapshot[] }) => page.data.map(({ snapshot_id }) => snapshot_id)
    const [listed, last] = more.map(({ snapshot_id }) => snapshot_id)
    expect(ids(await list({}))).toEqual([last, listed, snapshot.snapshot_id])
    expect(ids(await list({ kind: 'filesystem' }))).toEqual([])
    expect(ids(await list({ name: 'listed', kind: 'memory' }))).toEqual([listed])
    expect(ids(await list({ name: 'whole', state: 'ready', runtime_id: source.id }))).toEqual([snapshot.snapshot_id])
    const page = await list({ limit: 2 })
    expect(ids(await list({ limit: 2, cursor: `${page.next_cursor}` }))).toEqual([snapshot.snapshot_id])
    await deleteSnapshots(`${listed}`, `${last}`)
  })
})

describe.skipIf(withoutGvisor)('the files of a memory snapshot', () => {
  let snapshot: Snapshot
  let directory: string
  beforeAll(async () => {
    await using source = await createRuntime()
    await source.sh('head -c 4M /dev/urandom > /srv/random')
    const before = checkpoints()
    snapshot = await source.snapshot()
    const [name, ...others] = checkpoints().filter((one) => !before.includes(one))
    expect(others).toEqual([])
    directory = `${name}`
  }, 60_000)
  afterAll(async () => {
    if (snapshot !== undefined) await deleteSnapshots(snapshot.snapshot_id)
  })
  const restore = () => refused({ snapshot: snapshot.snapshot_id })
  const restores = async () => new TestRuntime(success(await restore(), 201, Runtime)).delete()

  it('are refused if damaged in any place, and used again when repaired', async () => {
    await restores()
    for (const { path } of checkpointFiles(directory)) {
      flipBit(path)
      expect((await restore()).status, path).toBe(422)
      flipBit(path)
    }
    for (const { path, size } of checkpointFiles(directory)) {
      const kept = readFileSync(path)
      truncateSync(path, Math.floor(size / 2))
      expect((await restore()).status, path).toBe(422)
      writeFileSync(path, kept)
    }
    await restores()
  }, 120_000)

  it('are reported as missing', async () => {
    const [largest] = checkpointFiles(directory)
    const path = `${largest?.path}`
    renameSync(path, `${path}.away`)
    expect((await restore()).status).toBe(422)
    renameSync(`${path}.away`, path)
    await restores()
  })

  it('are not those of another checkpoint', async () => {
    await using source = await createRuntime()
    const before = checkpoints()
    const other = await source.snapshot()
    const foreign = checkpoints().find((name) => !before.includes(name))
    const [theirs] = checkpointFiles(`${foreign}`)
    const [ours] = checkpointFiles(directory)
    const kept = readFileSync(`${ours?.path}`)
    writeFileSync(`${ours?.path}`, readFileSync(`${theirs?.path}`))
    failure(await restore(), 'snapshot_damaged')
    writeFileSync(`${ours?.path}`, kept)
    await deleteSnapshots(other.snapshot_id)
    await restores()
  }, 60_000)

  it('can have other files beside them, which are ignored', async () => {
    const stranger = join(checkpointsDir, directory, 'stranger')
    writeFileSync(stranger, 'not of it')
    await restores()
    rmSync(stranger)
  })
})

describeClasses('a filesystem snapshot', (isolation) => {
  /** A short run has one of the two tests that build or export twice. */
  const sometimes = oneIn(2, `snapshots in ${isolation}`, it)

  let source: TestRuntime
  let snapshot: Snapshot
  const named = (what: string) => `${what}-${isolation}`
  let ticks: { readonly before: number; readonly after: number; readonly count: number }
  beforeAll(async () => {
    source = await createRuntime({ isolation, env: { OF: 'source' } })
    await source.sh(
      'cd /srv; mkdir d; head -c 8M /dev/urandom > d/random; ln d/random hard; ln -s d/random soft; truncate -s 1G hole; mkfifo fifo; chown -R user d; chmod 4711 d/random; rm -rf /usr/share/doc; find . -type f -size -100M | xargs sha256sum > /sums; stat -c "%n %A %U %F %h" * > /stats',
    )
    await source.sh('mkdir -p /etc/ssh; cd /etc/ssh; echo old | tee ssh_host_ed25519_key > ssh_host_ed25519_key.pub')
    const [ticker, living] = [await Ticker.start(source), await LivingProcess.start(source)]
    const { ticks: before } = await living.look()
    snapshot = await source.snapshot({ kind: 'filesystem', name: named('files') })
    ticks = { before, after: (await living.look()).ticks, count: await ticker.countsBeyond(await ticker.count()) }
  }, exportTimeoutMs)
  afterAll(async () => {
    await source?.delete()
    if (snapshot !== undefined) await callSnapshot('DELETE', snapshot.snapshot_id)
  })

  it('does not stop its source', async () => {
    expect(ticks.after).toBeGreaterThan(ticks.before)
    expect(ticks.count).toBeGreaterThan(0)
    expect((await source.refresh()).state).toBe('running')
  })

  it('has every file, and no process', async () => {
    await using runtime = await createRuntime({ snapshot: named('files'), isolation })
    expect(runtime.data).toMatchObject({ snapshot_id: snapshot.snapshot_id, isolation })
    await runtime.sh(
      'cd /srv; sha256sum --quiet -c /sums; stat -c "%n %A %U %F %h" * > /now; diff /stats /now; test ! -e /usr/share/doc',
    )
    expect(await runtime.sh('hostname')).not.toBe(await source.sh('hostname'))
    expect(await runtime.sh('echo $OF')).toBe('source')
    expect(await runtime.sh('cat /etc/machine-id')).not.toBe(await source.sh('cat /etc/machine-id'))
  })

  it('has no SSH host keys, and each runtime of it makes its own', async () => {
    await using first = await createRuntime({ snapshot: named('files'), isolation })
    await using second = await createRuntime({ snapshot: named('files'), isolation })
    const [one, other] = await Promise.all(
      [first, second].map((runtime) => runtime.sh('cut -d" " -f1,2 /etc/ssh/ssh_host_ed25519_key.pub')),
    )
    expect(one).toMatch(/^ssh-ed25519 AAAA/)
    expect(other).toMatch(/^ssh-ed25519 AAAA/)
    expect(other).not.toBe(one)
    for (const runtime of [first, second]) await runtime.sh('! grep -rqx old /etc/ssh')
  })

  it('boots in each class, and in another size', async () => {
    for (const other of ['gvisor', 'container'] as const) {
      if (service.unavailable[other] !== null && !process.env.CI) continue
      const size = { cpu: 2, memory: '1200MiB', disk: `${snapshot.disk_mib + 512}MiB` }
      await using runtime = await createRuntime({ snapshot: snapshot.snapshot_id, isolation: other, ...size })
      expect(runtime.data).toMatchObject({
        isolation: other,
        cpu: 2,
        memory_mib: 1200,
        disk_mib: snapshot.disk_mib + 512,
      })
      await runtime.sh('cd /srv; sha256sum --quiet -c /sums')
    }
    failure(await refused({ snapshot: named('files'), isolation, disk: '512MiB' }), 'disk_too_small')
  })

  sometimes(
    'can be the source of a template',
    async () => {
      const name = named('of-snapshot')
      await built({ name, from_snapshot: named('files'), steps: [{ run: 'cp /srv/d/random /tmp/of-build' }] })
      try {
        await using runtime = await createRuntime({ template: name, isolation })
        await runtime.sh('cmp /srv/d/random /tmp/of-build')
      } finally {
        expect((await call('DELETE', `/v1/agents/template/${name}`)).status).toBe(204)
      }
    },
    exportTimeoutMs,
  )

  it('is the default if memory cannot be saved', async () => {
    const { kind, snapshot_id } = await source.snapshot()
    expect(kind).toBe(isolation === 'gvisor' ? 'memory' : 'filesystem')
    await deleteSnapshots(snapshot_id)
    if (isolation === 'container')
      failure(await source.call('POST', '/snapshot', { json: { kind: 'memory' } }), 'not_supported_here')
  })

  sometimes(
    'can be taken of a runtime of a snapshot, and survives that snapshot',
    async () => {
      const runtime = await createRuntime({ snapshot: snapshot.snapshot_id, isolation })
      await runtime.sh('echo more > /srv/more; rm /srv/hard')
      const { snapshot_id } = await runtime.snapshot({ kind: 'filesystem', name: named('again') })
      await runtime.delete()
      await deleteSnapshots(snapshot.snapshot_id)
      await using last = await createRuntime({ snapshot: snapshot_id, isolation })
      await last.sh(
        'test -e /srv/more; test ! -e /srv/hard; grep d/random /sums > /of-d; cd /srv; sha256sum --quiet -c /of-d',
      )
      await deleteSnapshots(snapshot_id)
    },
    exportTimeoutMs,
  )
})

describe.skipIf(withoutGvisor)('secrets and snapshots', () => {
  const value = `e2e-value-${crypto.randomUUID()}`
  const secret = { name: 'of-snapshots', value, hosts: ['api.example.com'], header: 'x-api-key', env_name: 'KEY' }
  const network_policy = { allow: [{ host: 'api.example.com', methods: ['GET'] }] }
  const given = { secrets: [secret.name], network_policy }
  const snapshots: Snapshot[] = []
  let source: TestRuntime
  beforeAll(async () => {
    expect((await call('POST', '/v1/agents/secret', { json: secret })).status).toBe(201)
    source = await createRuntime(given)
    await source.sh('echo $KEY > /srv/placeholder; curl -fsS -H "x-api-key: $KEY" https://api.example.com/used')
    snapshots.push(await source.snapshot(), await source.snapshot({ kind: 'filesystem' }))
  }, exportTimeoutMs)
  afterAll(async () => {
    await source?.delete()
    await deleteSnapshots(...snapshots.map(({ snapshot_id }) => snapshot_id))
    await call('DELETE', `/v1/agents/secret/${secret.name}`)
  })

  it('no file of the service has a value, even after a pause', async () => {
    await source.pause()
    const texts = [value, Buffer.from(value).toString('base64').replace(/=+$/, '')]
    const placeholder = 'holt-placeholder-'
    // The placeholder is found in what was written down, so that the value would be.
    expect((await filesWith(checkpointsDir, [placeholder])).length).toBeGreaterThan(0)
    for (const folder of ['', 'checkpoints', 'images'])
      expect(await filesWith(join(service.stateDir, folder), texts)).toEqual([])
    await source.resume()
  }, 120_000)

  it('runtimes of a snapshot have only the secrets of their create, under the same placeholder', async () => {
    for (const { snapshot_id } of snapshots) {
      await using bare = await createRuntime({ snapshot: snapshot_id })
      expect(bare.data).toMatchObject({ secrets: [], network_policy: null })
      expect(await bare.sh('printenv KEY || true')).toBe('')
      await using named = await createRuntime({ snapshot: snapshot_id, ...given })
      await forgetArrivals()
      await named.sh(
        'test "$KEY" = "$(cat /srv/placeholder)"; curl -fsS -H "x-api-key: $KEY" https://api.example.com/made',
      )
      expect(placesOf(value, await readArrivals())).toEqual(['api.example.com header x-api-key'])
    }
  })
})

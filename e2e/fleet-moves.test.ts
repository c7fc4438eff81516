import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasGateway } from '../packages/object-store/test/support/versitygw.ts'
import { hasPostgres } from '../packages/server/test/support/postgres-cluster.ts'
import { holt } from './support/cli.ts'
import { service } from './support/facts.ts'
import { CountReader, countsBeyond, startCounting } from './support/fleet/counting.ts'
import type { FleetHost } from './support/fleet/fleet-host.ts'
import type { ObjectsKind } from './support/fleet/shared-objects.ts'
import { type Fleet, startFleet } from './support/fleet/start-fleet.ts'
import { clientOf, ownerOf, patiently, placedAt, seenAs, stateAt, storedAway } from './support/fleet/use-fleet.ts'
import { until } from './support/until.ts'

// Real daemons, each in a network of its own, over one PostgreSQL and one object store. Each host
// uses the templates, snapshots and paused runtimes of the other, also while the other is down.

/** An application that counts in its memory, and shows its count in a file. */
const app = `
import itertools, os, time
word = os.urandom(8).hex()
for count in itertools.count():
    with open('/tmp/new', 'w') as file: file.write(f'{word} {count}\\n')
    os.rename('/tmp/new', '/tmp/count')
    time.sleep(0.05)
`

const stores: readonly ObjectsKind[] = hasGateway() ? ['a directory', 'S3'] : ['a directory']

const canRun = hasPostgres() && service.unavailable.gvisor === null

describe.skipIf(!canRun).each(stores)('a fleet of two hosts that share %s', (store) => {
  let fleet: Fleet
  let one: FleetHost
  let two: FleetHost
  beforeAll(async () => {
    fleet = await startFleet(2, store)
    ;[one, two] = fleet.hosts as [FleetHost, FleetHost]
    for (const host of fleet.hosts) await seenAs(fleet, host, 'ready')
  }, 300_000)
  afterAll(() => fleet?.[Symbol.asyncDispose](), 300_000)

  const createAt = async (host: FleetHost, source: { readonly template?: string; readonly snapshot?: string } = {}) => {
    const runtime = await placedAt(fleet, host, () =>
      patiently('the runtime is created', () =>
        clientOf(host).runtimes.create({ isolation: 'gvisor', timeout_secs: null, ...source }),
      ),
    )
    expect((await ownerOf(fleet, runtime.runtime_id))?.place).toBe(host.place)
    return runtime
  }

  it('restores the template of one host at the other', async () => {
    const build = await clientOf(one).builds.create({
      name: 'of-one',
      from_template: 'base-small',
      steps: [{ run: 'echo of-one >/workspace/note' }],
      env: { APP: app },
      start_cmd: 'python3 -c "$APP"',
      ready_cmd: 'test -s /tmp/count',
    })
    await build.wait()
    const words: (string | undefined)[] = []
    for (const host of fleet.hosts) {
      const runtime = await createAt(host, { template: 'of-one' })
      const { stdout } = await runtime.commands.run('cat /workspace/note /tmp/count; sleep 1; cat /tmp/count')
      const [, word, first, second] = /^of-one\n([0-9a-f]{16}) (\d+)\n\1 (\d+)\n$/.exec(stdout) ?? []
      expect(Number(second), stdout).toBeGreaterThan(Number(first))
      words.push(word)
      await runtime.delete()
    }
    // A process that was started again would have another word.
    expect(words[1]).toBe(words[0])
  }, 300_000)

  it('restores a snapshot of one host at the other, with its bytes and its memory', async () => {
    const runtime = await createAt(one)
    await runtime.commands.run(
      'head -c 8M /dev/urandom >/workspace/random; sha256sum /workspace/random >/workspace/sum',
    )
    const command = await startCounting(runtime)
    const snapshot = await runtime.snapshot({ kind: 'memory' })
    const { word, count } = await countsBeyond(runtime, command, 0)
    await runtime.delete()
    const copy = await createAt(two, { snapshot: snapshot.snapshot_id })
    expect((await copy.commands.run('sha256sum -c /workspace/sum')).exit_code).toBe(0)
    expect((await countsBeyond(copy, command, count)).word).toBe(word)
    await copy.delete()
    await clientOf(two).snapshots.delete(snapshot.snapshot_id)
  }, 300_000)

  it('resumes a paused runtime at the other host after its own has lost power', async () => {
    const paused = await createAt(one)
    const running = await createAt(one)
    const command = await startCounting(paused)
    const { word } = await countsBeyond(paused, command, 0)
    await paused.pause()
    await storedAway(fleet, paused.runtime_id)
    await one.powerOff()
    const id = paused.runtime_id
    await patiently('the runtime is resumed', async () => (await clientOf(two).runtimes.get(id)).resume())
    expect((await ownerOf(fleet, id))?.place).toBe(two.place)
    const resumed = await clientOf(two).runtimes.get(id)
    const { count } = await countsBeyond(resumed, command, 0)
    expect(await countsBeyond(resumed, command, count)).toMatchObject({ word })
    // A running runtime is lost with its host.
    const lost = await stateAt(two, running.runtime_id, 'failed')
    expect(lost.state_reason?.code).toBe('host_lost')
    await one.start()
    await seenAs(fleet, one, 'ready')
    expect(await countsBeyond(await clientOf(one).runtimes.get(id), command, count)).toMatchObject({ word })
    await resumed.delete()
  }, 300_000)

  it('moves a running runtime away from a host that is drained', async () => {
    const runtime = await createAt(one)
    const id = runtime.runtime_id
    const command = await startCounting(runtime)
    const views = [runtime, await clientOf(two).runtimes.get(id)]
    const readers = await Promise.all(views.map((each) => CountReader.of(each, command)))
    const { word } = await countsBeyond(runtime, command, 0)
    const env = { HOLT_URL: two.url, HOLT_API_KEY: two.key }
    const drain = await holt(['host', 'drain', one.hostId], { env })
    expect([drain.code, drain.stderr + drain.stdout]).toEqual([0, expect.stringContaining('1 to move')])
    await seenAs(fleet, one, 'cordoned')
    const moved = await stateAt(two, id, 'running')
    expect((await ownerOf(fleet, id))?.place).toBe(two.place)
    const { count } = await countsBeyond(moved, command, 0)
    // Both readers go on with their cursors, also through the host that is empty.
    for (const reader of readers) {
      expect((await reader.reaches(count)).word).toBe(word)
      await reader.stop()
    }
    await clientOf(two).hosts.uncordon(one.hostId)
    await seenAs(fleet, one, 'ready')
    await moved.delete()
  }, 300_000)

  it('needs the object store only for snapshots: pauses wait for it on their host', async () => {
    const runtime = await createAt(one)
    const id = runtime.runtime_id
    const command = await startCounting(runtime)
    await fleet.objects.leave()
    try {
      const other = await clientOf(two).runtimes.create({ isolation: 'gvisor' })
      expect((await other.commands.run('echo here')).stdout).toBe('here\n')
      await other.delete()
      const impatient = await clientOf(one, { maxRetries: 0 }).runtimes.get(id)
      await expect(impatient.snapshot({ kind: 'memory' })).rejects.toMatchObject({ httpStatus: 503 })
      const before = await countsBeyond(runtime, command, 0)
      await runtime.pause()
      await until('a pause could not be stored', async () => one.log(200).includes('could not be stored'), 120_000)
      expect((await ownerOf(fleet, id))?.place).toBe(one.place)
      await runtime.resume()
      expect((await countsBeyond(runtime, command, before.count)).word).toBe(before.word)
      await runtime.pause()
    } finally {
      await fleet.objects.comeBack()
    }
    await storedAway(fleet, id)
    const resumed = await clientOf(two).runtimes.get(id)
    const { count } = await countsBeyond(resumed, command, 0)
    await countsBeyond(resumed, command, count)
    await resumed.delete()
  }, 300_000)
})

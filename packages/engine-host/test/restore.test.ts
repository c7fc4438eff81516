import { randomBytes } from 'node:crypto'
import { chmod, copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Checkpoints, type Engine, EngineError, type RuntimeId, type RuntimeSpec } from '@holt/engine'
import { GuestClient, type GuestItem, type StartProcess } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { oneIn } from '@holt/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { copyPrograms } from './support/copy-programs.ts'
import { cpuMs } from './support/cpu-time.ts'
import {
  type EngineUnderTest,
  importImage,
  prepareEngine,
  processOf,
  runCommand,
  smallSpec,
  startGuest,
  textOf,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { missing } from './support/test-machine.ts'

const FORKS = 8

/**
 * Lines of `seq` up to here are some times what a process's ring holds and what is on its way to
 * the host.
 */
const LAST_LINE = 4_000_000

const reason = await missing('root', 'go', 'runsc')
/** A short run has one of the three tests that wait for more than nine seconds. */
const sometimes = oneIn(3, 'restores', test)

describe.skipIf(reason !== null)(`restored runtimes (${reason ?? 'ready'})`, () => {
  let under: EngineUnderTest
  let engine: Engine
  let checkpoints: Checkpoints
  let small: RuntimeSpec
  const made: RuntimeId[] = []
  beforeAll(async () => {
    under = await prepareEngine()
    await copyPrograms(under.tree, 'sh', 'sleep', 'seq', 'touch', 'id')
    await copyFile(join(under.tree, 'bin/sh'), join(under.tree, 'bin/root-sh'))
    await chmod(join(under.tree, 'bin/root-sh'), 0o4755)
    engine = await under.open()
    checkpoints = engine.ability('checkpoints') as Checkpoints
    small = smallSpec('gvisor', await importImage(engine, under), { pidsMax: 64, memoryMiB: 512 })
  }, VERB_TIMEOUT_MS * 2)
  afterEach(async () => {
    for (const id of made.splice(0)) await engine.remove(id, timeout())
    for (const { checkpointId } of await checkpoints.list()) await checkpoints.remove(checkpointId)
  }, VERB_TIMEOUT_MS)
  afterAll(async () => {
    await engine.close()
    await under[Symbol.asyncDispose]()
  }, VERB_TIMEOUT_MS)

  async function start(): Promise<{ spec: RuntimeSpec; guest: GuestClient }> {
    const spec = { ...small, id: makeId('runtime') }
    made.push(spec.id)
    return { spec, guest: await startGuest(engine, spec) }
  }

  async function write(
    guest: GuestClient,
    id: RuntimeId,
    { leaveRunning }: { leaveRunning: boolean },
  ): Promise<string> {
    const checkpointId = makeId('runtime')
    await guest.quiesce(timeout(), { force: true })
    await checkpoints.take(id, checkpointId, timeout(), { leaveRunning })
    return checkpointId
  }

  async function restore(spec: RuntimeSpec, checkpointId: string, id: RuntimeId = makeId('runtime')) {
    const restored: RuntimeSpec = { ...spec, id, checkpointId, restoreOnly: true }
    made.push(id)
    await engine.ensure(restored, timeout())
    const guest = await connected(id)
    const bound = await guest.bind(
      {
        runtime_id: id,
        renew: true,
        hostname: `box-${id}`,
        machine_id: randomBytes(16).toString('hex'),
        env: { PATH: '/bin', OF: id },
        user: 'root',
        workdir: '/',
        time_unix_ms: Date.now(),
        entropy: randomBytes(64).toString('base64'),
        pids_max: spec.pidsMax,
        set_clock: false,
        set_hostname: true,
      },
      timeout(),
    )
    expect(bound).toMatchObject({ limits: { pids: true }, problems: [] })
    return { spec: restored, guest }
  }

  async function sizeOf(checkpointId: string): Promise<number> {
    const found = (await checkpoints.list()).find((checkpoint) => checkpoint.checkpointId === checkpointId)
    if (found === undefined) throw new Error(`there is no checkpoint ${checkpointId}`)
    return found.sizeBytes
  }

  async function connected(id: RuntimeId): Promise<GuestClient> {
    return new GuestClient(await engine.dial(id, timeout()))
  }

  test('forks are separate runtimes, and their processes continue', {
    timeout: VERB_TIMEOUT_MS,
  }, async () => {
    const { spec, guest } = await start()
    const drawing = { ...processOf(['/bin/probe', 'draw']), stdin: 'pipe' } as const
    await guest.processes.start(drawing, timeout())
    await runCommandIn(guest, 'work', 'cd /tmp; export mine=kept')
    const checkpointId = await write(guest, spec.id, { leaveRunning: true })
    const children = await Promise.all(Array.from({ length: FORKS }, () => restore(spec, checkpointId)))
    children.push({ spec, guest: await connected(spec.id) })
    const seen = await Promise.all(
      children.map(async (child) => {
        await child.guest.processes.writeStdin(
          drawing.id,
          { data: Buffer.from('draw\n'), eof: false, offset: 0 },
          timeout(),
        )
        await expect.poll(async () => (await child.guest.processes.get(drawing.id, timeout())).stdout_bytes).toBe(33)
        expect(await runCommandIn(child.guest, 'work', 'echo $PWD $mine')).toBe('/tmp kept\n')
        return {
          drawn: await outputOf(child.guest, drawing.id),
          machineId: await show(child.guest, '/etc/machine-id'),
          hostname: await show(child.guest, '/proc/sys/kernel/hostname'),
          hosts: await show(child.guest, '/etc/hosts'),
          env: (await runCommand(child.guest, '/bin/sh', '-c', 'echo $OF')).output,
        }
      }),
    )
    for (const each of ['drawn', 'machineId', 'hostname', 'hosts', 'env'] as const) {
      expect(new Set(seen.map((child) => child[each])).size, each).toBe(FORKS + 1)
    }
    for (const [index, child] of children.slice(0, FORKS).entries()) {
      expect(seen[index]).toMatchObject({ hostname: `box-${child.spec.id}\n`, env: `${child.spec.id}\n` })
      expect((await child.guest.info(timeout())).runtime_id).toBe(child.spec.id)
    }
    // The limit that the guest keeps came with the checkpoint, too.
    expect(Number((await runCommand(children[0]?.guest ?? guest, '/bin/probe', 'forks')).output)).toBeLessThan(96)
  })

  test('a checkpoint leaves out pages of zeros, and the restore has them', {
    timeout: VERB_TIMEOUT_MS,
  }, async () => {
    const { spec, guest } = await start()
    const holding = { ...processOf(['/bin/probe', 'zeros']), stdin: 'pipe' } as const
    await guest.processes.start(holding, timeout())
    const says = async (of: GuestClient, text: string): Promise<void> => {
      await expect.poll(() => outputOf(of, holding.id), { timeout: VERB_TIMEOUT_MS / 4 }).toBe(text)
    }
    const ask = (of: GuestClient, offset: number) =>
      of.processes.writeStdin(holding.id, { data: Buffer.from('check\n'), eof: false, offset }, timeout())
    await says(guest, 'full\n')
    // By default gVisor does not look for zeros in pages that an earlier checkpoint wrote.
    const full = await write(guest, spec.id, { leaveRunning: true })
    const going = await connected(spec.id)
    await ask(going, 0)
    await says(going, 'full\nwrong pages: 0\n')
    const cleared = await write(going, spec.id, { leaveRunning: true })
    // The process has cleared 60 of its 64 MiB.
    expect((await sizeOf(full)) - (await sizeOf(cleared))).toBeGreaterThan(40 * 2 ** 20)
    for (const client of [await connected(spec.id), (await restore(spec, cleared)).guest]) {
      await ask(client, 'check\n'.length)
      await says(client, 'full\nwrong pages: 0\nwrong pages: 0\n')
    }
  })

  test('a process loses no data to a reader that a checkpoint disconnects', { timeout: VERB_TIMEOUT_MS }, async () => {
    const { spec, guest } = await start()
    const counting = processOf(['/bin/seq', '1', String(LAST_LINE)])
    const reader = new SlowReader(guest, counting)
    await reader.readSome(200_000)
    let going = guest
    for (let round = 0; round < 3; round += 1) {
      const checkpointId = await write(going, spec.id, { leaveRunning: true })
      await reader.untilCut()
      await checkpoints.remove(checkpointId)
      going = await connected(spec.id)
      await reader.comeBack(going)
      await reader.readSome(200_000)
    }
    const checkpointId = await write(going, spec.id, { leaveRunning: false })
    await reader.untilCut()
    const again = await restore(spec, checkpointId, spec.id)
    await reader.comeBack(again.guest)
    await reader.readAll()
    expect(reader.text === Array.from({ length: LAST_LINE }, (_, index) => `${index + 1}\n`).join('')).toBe(true)
  })

  sometimes(
    'the time of a pause does not count in the runtime',
    async () => {
      const { spec, guest } = await start()
      const ownMs = 4_000
      const pausedMs = 6_000
      const bounded = { ...processOf(['/bin/sleep', '600']), timeout_ms: ownMs }
      const { started_at_ms: startedAt } = await guest.processes.start(bounded, timeout())
      const checkpointId = await write(guest, spec.id, { leaveRunning: false })
      await sleep(pausedMs)
      const { guest: restored } = await restore(spec, checkpointId, spec.id)
      expect(await restored.processes.get(bounded.id, timeout())).toMatchObject({ state: 'running', timed_out: false })
      await expect
        .poll(() => restored.processes.get(bounded.id, timeout()), { timeout: VERB_TIMEOUT_MS / 2 })
        .toMatchObject({ state: 'exited', timed_out: true })
      const { ended_at_ms: endedAt } = await restored.processes.get(bounded.id, timeout())
      // The clock on the wall is the host's, and has gone on.
      expect((endedAt ?? 0) - startedAt).toBeGreaterThan(ownMs + pausedMs - 1_000)
    },
    VERB_TIMEOUT_MS,
  )

  sometimes(
    'a timer of a program is never lost: it fires at the restore at the latest',
    async () => {
      const { spec, guest } = await start()
      const programs = [processOf(['/bin/sleep', '2']), processOf(['/bin/sleep', '12'])]
      for (const program of programs) await guest.processes.start(program, timeout())
      const checkpointId = await write(guest, spec.id, { leaveRunning: false })
      await sleep(3_000)
      const { guest: restored } = await restore(spec, checkpointId, spec.id)
      for (const { id } of programs) {
        await expect
          .poll(() => restored.processes.get(id, timeout()), { timeout: VERB_TIMEOUT_MS / 2 })
          .toMatchObject({ state: 'exited', exit_code: 0 })
      }
    },
    VERB_TIMEOUT_MS,
  )

  test('a set-user-ID program of the image runs as its owner, before and after a checkpoint', {
    timeout: VERB_TIMEOUT_MS,
  }, async () => {
    const { spec, guest } = await start()
    expect(await asNobody(guest, '/bin/root-sh -pc "id -u"')).toBe('0\n')
    const running = {
      ...processOf(['/bin/root-sh', '-pc', 'read x; id -u; /bin/root-sh -pc "id -u"']),
      user: 'nobody',
      stdin: 'pipe',
    } as const
    await guest.processes.start(running, timeout())
    const { guest: restored } = await restore(spec, await write(guest, spec.id, { leaveRunning: false }), spec.id)
    expect(await asNobody(restored, '/bin/root-sh -pc "id -u"')).toBe('0\n')
    await restored.processes.writeStdin(running.id, { data: Buffer.from('go on\n'), eof: true, offset: 0 }, timeout())
    await expect.poll(() => outputOf(restored, running.id), { timeout: VERB_TIMEOUT_MS / 2 }).toBe('0\n0\n')
  })

  test('watches, uploads in parts and terminals continue', { timeout: VERB_TIMEOUT_MS }, async () => {
    const { spec, guest } = await start()
    const watched = { path: '/tmp', recursive: true, cursor: null }
    const changes = await guest.files.watch(watched, timeout())
    const { cursor } = (await changes.next()).value ?? { cursor: -1 }
    const upload = { path: '/tmp/whole', uploadId: 'upload-in-parts', createOnly: true } as const
    await guest.content.writePart({ ...upload, offset: 0, partial: true, body: Buffer.from('one ') }, timeout())
    const terminal = { ...processOf(['/bin/sh']), pty: { cols: 80, rows: 24 } }
    await guest.processes.start(terminal, timeout())
    const checkpointId = await write(guest, spec.id, { leaveRunning: false })
    const { guest: restored } = await restore(spec, checkpointId, spec.id)
    await runCommand(restored, '/bin/touch', '/tmp/seen')
    const later = await restored.files.watch({ ...watched, cursor }, timeout())
    const seen: string[] = []
    for await (const change of later) {
      if ('path' in change) seen.push(change.path)
      if (seen.includes('/tmp/seen')) break
    }
    const offset = (await restored.content.uploadStatus({ path: upload.path, upload_id: upload.uploadId }, timeout()))
      .offset_bytes
    expect(offset).toBe(4)
    await restored.content.writePart({ ...upload, offset, partial: false, body: Buffer.from('two') }, timeout())
    expect(await show(restored, upload.path)).toBe('one two')
    const line = Buffer.from('echo still $((20 + 22))\nexit\n')
    await restored.processes.writeStdin(terminal.id, { data: line, eof: false, offset: 0 }, timeout())
    await expect.poll(() => outputOf(restored, terminal.id)).toContain('still 42')
  })

  sometimes(
    'an idle runtime uses almost no processor time, restored or not',
    async () => {
      const { spec, guest } = await start()
      const booted = await busyShare(spec.id)
      const checkpointId = await write(guest, spec.id, { leaveRunning: false })
      const { spec: anew } = await restore(spec, checkpointId, spec.id)
      const restored = await busyShare(anew.id)
      process.stdout.write(`of a CPU, at rest: booted ${booted.toFixed(4)}, restored ${restored.toFixed(4)}\n`)
      // A loop that never rests has all of one.
      expect(Math.max(booted, restored)).toBeLessThan(0.5)
    },
    VERB_TIMEOUT_MS,
  )

  test('leaves nothing behind', async () => {
    expect(await under.leaks()).toEqual([])
  })

  /** How much of one CPU a runtime that is left alone uses. */
  async function busyShare(id: RuntimeId): Promise<number> {
    await sleep(1_000)
    const spanMs = 3_000
    const before = await cpuMs(under, id)
    await sleep(spanMs)
    return ((await cpuMs(under, id)) - before) / spanMs
  }
})

/**
 * A client that reads a process's output as slowly as it likes, and comes back where it has read
 * to.
 */
class SlowReader {
  readonly #id: string
  #items: AsyncGenerator<GuestItem> | null = null
  readonly #first: Promise<AsyncGenerator<GuestItem>>
  readonly #parts: string[] = []
  #cursor = 0

  constructor(guest: GuestClient, request: StartProcess) {
    this.#id = request.id
    this.#first = guest.processes.run(request, timeout())
  }

  get text(): string {
    return this.#parts.join('')
  }

  async comeBack(guest: GuestClient): Promise<void> {
    const from = { cursor: this.#cursor, follow: true, hold: true }
    this.#items = await guest.processes.readOutput(this.#id, from, timeout())
  }

  async readSome(bytes: number): Promise<void> {
    for (const end = this.#cursor + bytes; this.#cursor < end && (await this.#next()); );
  }

  async readAll(): Promise<void> {
    while (await this.#next());
  }

  /** Reads what the guest has sent until the stream breaks. */
  async untilCut(): Promise<void> {
    try {
      await this.readAll()
    } catch (error) {
      if (error instanceof EngineError && error.kind === 'unavailable') return
      throw error
    }
    throw new Error('the stream was not cut off')
  }

  async #next(): Promise<boolean> {
    this.#items ??= await this.#first
    const { value, done } = await this.#items.next()
    if (done === true || value === undefined) return false
    if (value.type === 'dropped') throw new Error(`${value.dropped_bytes} bytes after ${this.#cursor} were dropped`)
    if (value.type === 'stdout') this.#parts.push(Buffer.from(value.data, 'base64').toString())
    this.#cursor = value.cursor
    return true
  }
}

async function runCommandIn(guest: GuestClient, session: string, command: string): Promise<string> {
  const request = { ...processOf([]), argv: null, command, cwd: null, session }
  const items = await Array.fromAsync(await guest.processes.run(request, timeout()))
  return textOf(items)
}

async function asNobody(guest: GuestClient, command: string): Promise<string> {
  const request = { ...processOf([]), argv: null, command, user: 'nobody' }
  return textOf(await Array.fromAsync(await guest.processes.run(request, timeout())))
}

async function outputOf(guest: GuestClient, id: string): Promise<string> {
  return textOf(await Array.fromAsync(await guest.processes.readOutput(id, { cursor: 0, follow: false }, timeout())))
}

async function show(guest: GuestClient, path: string): Promise<string> {
  return (await runCommand(guest, '/bin/cat', path)).output
}

import { appendFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { ArtifactRef, Engine, ImageDigest, ReadFile, Transfer } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { expect, onTestFinished, test } from 'vitest'
import {
  type EngineUnderTest,
  importDelta,
  importImage,
  prepareEngine,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from '../support/engine-under-test.ts'
import { recordDurability } from '../support/record-durability.ts'
import { missing } from '../support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc')
const options = { timeout: VERB_TIMEOUT_MS * 2 }
const on = test.skipIf(reason !== null)
const ready = reason ?? 'ready'

interface Pair {
  readonly from: Engine
  readonly to: Engine
  readonly source: EngineUnderTest
  readonly target: EngineUnderTest
}

/** Opens two engines over state directories of their own. `change` prepares the second one. */
async function startPair(change: (target: EngineUnderTest) => Promise<unknown> = async () => {}): Promise<Pair> {
  const [source, target] = await Promise.all([prepareEngine(), prepareEngine()])
  await change(target)
  const [from, to] = await Promise.all([source.open(), target.open()])
  onTestFinished(async () => {
    await Promise.all([from.close(), to.close()])
    expect([...(await source.leaks()), ...(await target.leaks())]).toEqual([])
    await source[Symbol.asyncDispose]()
    await target[Symbol.asyncDispose]()
  })
  return { from, to, source, target }
}

function of(engine: Engine): Transfer {
  const transfer = engine.ability('transfer')
  if (transfer === null) throw new Error('no transfers')
  return transfer
}

/** Sends an artifact, and returns the names of the files that were read. */
async function send({ from, to }: Pick<Pair, 'from' | 'to'>, ref: ArtifactRef): Promise<readonly string[]> {
  const names: string[] = []
  const read: ReadFile = async function* ({ name, sizeBytes }, signal) {
    names.push(name)
    yield* await of(from).read(ref, name, { offset: 0, length: sizeBytes }, signal)
  }
  await of(to).receive(await of(from).describe(ref), read, timeout())
  return names
}

const image = (id: ImageDigest): ArtifactRef => ({ kind: 'image', id })

/** Takes a checkpoint of a new runtime of an image. */
async function takeCheckpoint(engine: Engine, digest: ImageDigest, checkpointId: string): Promise<ArtifactRef> {
  const spec = smallSpec('gvisor', digest)
  const guest = await startGuest(engine, spec)
  await guest.quiesce(timeout(), { force: true })
  await engine.ability('checkpoints')?.take(spec.id, checkpointId, timeout())
  return { kind: 'checkpoint', id: checkpointId }
}

async function named({ options: { stateDir } }: EngineUnderTest, dir: string): Promise<readonly string[]> {
  return (await readdir(join(stateDir, dir))).filter((name) => name !== '.mnt').sort()
}

on(`a delta brings its base, unless the host has it (${ready})`, options, async () => {
  const pair = await startPair()
  const base = await importImage(pair.from, pair.source)
  const first = await importDelta(pair.from, pair.source, base)
  await writeFile(join(pair.source.tree, 'etc/more'), 'more')
  const second = await importDelta(pair.from, pair.source, base)
  expect(await send(pair, image(first))).toEqual(['image', 'base'])
  expect(await pair.to.ability('images')?.has(base)).toBe(false)
  expect(await send(pair, image(second))).toEqual(['image'])
  const baseOf = (digest: ImageDigest) => join(pair.target.options.stateDir, 'images', `${digest.slice(7)}.base`)
  expect((await stat(baseOf(first))).ino).toBe((await stat(baseOf(second))).ino)
  const spec = smallSpec('gvisor', second)
  const guest = await startGuest(pair.to, spec)
  expect((await runCommand(guest, 'cat', '/etc/more')).output).toBe('more')
  await pair.to.remove(spec.id, timeout())
  for (const digest of [first, second]) await pair.to.ability('images')?.remove(digest)
  expect(await send(pair, image(base))).toEqual(['image'])
  expect(await send(pair, image(first))).toEqual(['image'])
})

on(`a base that is not that of the delta is refused (${ready})`, options, async () => {
  const { from, to, source, target } = await startPair()
  const base = await importImage(from, source)
  await writeFile(join(source.tree, 'etc/other'), 'another image of the same size, perhaps')
  const other = await importImage(from, source)
  const delta = await importDelta(from, source, base)
  const right = await of(from).describe(image(delta))
  const [file, ...rest] = right.files
  const [wrong] = (await of(from).describe(image(other))).files
  if (file === undefined || wrong === undefined) throw new Error('an image has a file')
  const read: ReadFile = async function* ({ name, sizeBytes }, signal) {
    const ref = image(name === 'image' ? delta : other)
    yield* await of(from).read(ref, 'image', { offset: 0, length: sizeBytes }, signal)
  }
  const receive = (files: typeof right.files) => of(to).receive({ ...right, files }, read, timeout())
  await expect(receive([file, { ...wrong, name: 'base' }])).rejects.toMatchObject({ kind: 'damaged' })
  await expect(receive([file])).rejects.toMatchObject({ kind: 'damaged' })
  for (const files of [rest, [wrong, ...rest], [file, ...rest, wrong]])
    await expect(receive(files)).rejects.toMatchObject({ kind: 'invalid' })
  expect(await named(target, 'images')).toEqual([])
})

on(`a checkpoint brings its guest to a host with a newer one (${ready})`, options, async () => {
  const pair = await startPair(({ options: { guestBinary } }) => appendFile(guestBinary ?? '', '0'))
  const { from, to, target } = pair
  const digest = await importDelta(from, pair.source, await importImage(from, pair.source))
  const [one, two] = [await takeCheckpoint(from, digest, 'one'), await takeCheckpoint(from, digest, 'two')]
  expect(await send(pair, one)).toContain('guest')
  expect(await send(pair, two)).not.toContain('guest')
  const checkpoints = to.ability('checkpoints')
  const usable = await checkpoints?.usable('one', { restoreOnly: true })
  expect(usable).toMatchObject({ problem: 'incompatible', why: expect.stringContaining(digest) })
  await send(pair, image(digest))
  expect(await checkpoints?.usable('one')).toMatchObject({ why: expect.stringContaining('another guest') })
  await to.close()
  const next = await target.open()
  onTestFinished(() => next.close())
  expect(await next.ability('checkpoints')?.usable('one', { restoreOnly: true })).toEqual({ usable: true })
  const spec = smallSpec('gvisor', digest, { checkpointId: 'one', restoreOnly: true })
  try {
    await next.ensure(spec, timeout())
    expect((await next.inspect(spec.id))?.restored).toBe(true)
    const guest = new GuestClient(await next.dial(spec.id, timeout()))
    expect((await guest.info(timeout())).runtime_id).not.toBeNull()
  } finally {
    await next.remove(spec.id, timeout())
  }
})

on(`what a crash leaves of a transfer is removed by the next start (${ready})`, options, async () => {
  const pair = await startPair(({ options: { guestBinary } }) => appendFile(guestBinary ?? '', '0'))
  const { from, to, target } = pair
  const digest = await importDelta(from, pair.source, await importImage(from, pair.source))
  const checkpoint = await takeCheckpoint(from, digest, 'cp')
  const before = await named(target, 'guests')
  const stalled = new AbortController()
  const hanging = (ref: ArtifactRef) => {
    const begun = Promise.withResolvers<void>()
    const read: ReadFile = async function* (file) {
      yield await buffer(await of(from).read(ref, file.name, { offset: 0, length: 1 }, timeout()))
      begun.resolve()
      await new Promise((_, reject) => stalled.signal.addEventListener('abort', () => reject(stalled.signal.reason)))
    }
    const end = of(from)
      .describe(ref)
      .then((description) => of(to).receive(description, read, stalled.signal))
    return { begun: begun.promise, end }
  }
  const [first, second] = [hanging(image(digest)), hanging(checkpoint)]
  await Promise.all([first.begun, second.begun])
  for (const dir of ['images', 'checkpoints']) {
    const names = await named(target, dir)
    expect(names).toHaveLength(1)
    expect(names[0]).toMatch(/^\.tmp-/)
  }
  // The engine of a killed process would not see the end of these.
  for (const dir of ['images', 'checkpoints', 'guests'])
    await writeFile(join(target.options.stateDir, dir, '.tmp-0123456789abcdef'), 'half a file')
  stalled.abort(new Error('killed'))
  for (const { end } of [first, second]) await expect(end).rejects.toThrow('killed')
  await to.close()
  const next = await target.open()
  onTestFinished(() => next.close())
  expect(await named(target, 'images')).toEqual([])
  expect(await named(target, 'checkpoints')).toEqual([])
  expect(await named(target, 'guests')).toEqual(before)
})

on(`files are durable before their names, and names before the answer (${ready})`, options, async () => {
  const pair = await startPair(({ options: { guestBinary } }) => appendFile(guestBinary ?? '', '0'))
  const { target } = pair
  const digest = await importDelta(pair.from, pair.source, await importImage(pair.from, pair.source))
  const checkpoint = await takeCheckpoint(pair.from, digest, 'cp')
  const hex = digest.slice(7)
  // The first delta of an engine makes it try whether the host mounts one.
  await writeFile(join(target.tree, 'etc/more'), 'more')
  await importDelta(pair.to, target, await importImage(pair.to, target))
  {
    using record = await recordDurability(target.options.stateDir)
    await send(pair, image(digest))
    record.expectStages([
      ['sync images/.tmp'],
      ['sync images/.tmp.base'],
      [`rename images/.tmp.base images/${hex}.base`],
      ['sync images'],
      [`rename images/.tmp images/${hex}.erofs`],
      ['sync images'],
    ])
  }
  const { files } = await of(pair.from).describe(checkpoint)
  const guest = `guests/${files.at(-1)?.digest.slice(7)}`
  using record = await recordDurability(target.options.stateDir)
  const names = await send(pair, checkpoint)
  record.expectStages([
    ...names.filter((name) => name !== 'guest').map((name) => [`sync checkpoints/.tmp/${name}`]),
    ['sync guests/.tmp'],
    [`rename guests/.tmp ${guest}/holt-guest`],
    [`sync ${guest}`],
    ['sync guests'],
    ['sync checkpoints/.tmp/manifest.json.tmp'],
    ['rename checkpoints/.tmp/manifest.json.tmp checkpoints/.tmp/manifest.json'],
    ['sync checkpoints/.tmp'],
    ['rename checkpoints/.tmp checkpoints/cp'],
    ['sync checkpoints'],
  ])
})

on(`a disk without room refuses an artifact before it reads a byte (${ready})`, options, async () => {
  const { from, to, source, target } = await startPair()
  const digest = await importImage(from, source)
  const right = await of(from).describe(image(digest))
  const huge = right.files.map((file) => ({ ...file, sizeBytes: 200 * 2 ** 30 }))
  const read: ReadFile = () => {
    throw new Error('a byte was read')
  }
  await expect(of(to).receive({ ...right, files: huge }, read, timeout())).rejects.toMatchObject({ kind: 'no_space' })
  expect(await named(target, 'images')).toEqual([])
})

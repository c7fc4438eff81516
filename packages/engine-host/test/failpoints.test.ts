import './support/failpoint-file.ts'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { ArtifactRef, Engine, ReadFile } from '@holt/engine'
import { failpointNames } from '@holt/failpoints'
import { expect, onTestFinished, test } from 'vitest'
import {
  type EngineUnderTest,
  importDelta,
  importImage,
  prepareEngine,
  smallSpec,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { failpointFile as file } from './support/failpoint-file.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc', 'runc')
const options = { timeout: VERB_TIMEOUT_MS * 2 }

/** Arms a failpoint, and counts hits from here on. Null: none. */
function arm(name: string | null): void {
  writeFileSync(file, name === null ? '' : `# ${crypto.randomUUID()}\n${name}=error\n`)
  writeFileSync(`${file}.hits`, '')
  onTestFinished(() => {
    for (const path of [file, `${file}.hits`]) rmSync(path, { force: true })
  })
}

function hits(): readonly string[] {
  return readFileSync(`${file}.hits`, 'utf8').trimEnd().split('\n')
}

async function named({ options: { stateDir } }: EngineUnderTest, dir: string): Promise<readonly string[]> {
  const names = await readdir(join(stateDir, dir))
  return names.filter((name) => name !== '.mnt')
}

/** Removes an artifact, and returns what receives it again. */
async function takeAway(engine: Engine, ref: ArtifactRef): Promise<() => Promise<void>> {
  const transfer = engine.ability('transfer')
  if (transfer === null) throw new Error('no transfers')
  const description = await transfer.describe(ref)
  const contents = new Map<string, Buffer>()
  for (const { name, sizeBytes } of description.files)
    contents.set(name, await buffer(await transfer.read(ref, name, { offset: 0, length: sizeBytes }, timeout())))
  if (ref.kind === 'image') await engine.ability('images')?.remove(ref.id)
  else await engine.ability('checkpoints')?.remove(ref.id)
  const read: ReadFile = async function* ({ name }) {
    yield contents.get(name) ?? Buffer.alloc(0)
  }
  return () => transfer.receive(description, read, timeout())
}

test.skipIf(reason !== null)(`every failpoint of the engine is reached (${reason ?? 'ready'})`, options, async () => {
  await using under = await prepareEngine()
  arm(null)
  const engine = await under.open()
  const image = await importImage(engine, under)
  const spec = smallSpec('gvisor', await importDelta(engine, under, image))
  await engine.ensure(spec, timeout())
  const guest = await engine.dial(spec.id, timeout())
  const body = Buffer.from('{}')
  const quiesced = await guest.request({ method: 'POST', path: '/v1/quiesce', body, signal: timeout() })
  quiesced.body.resume()
  const checkpoints = engine.ability('checkpoints')
  await checkpoints?.take(spec.id, 'cp', timeout())
  await (await takeAway(engine, { kind: 'checkpoint', id: 'cp' }))()
  await checkpoints?.remove('cp')
  await engine.remove(spec.id, timeout())
  await engine.close()
  const reached = new Set(hits())
  expect(failpointNames.filter((name) => name.startsWith('host.') && !reached.has(name))).toEqual([])
})

test.skipIf(reason !== null).each(['host.image-written', 'host.image-named'])(
  `an image whose import fails at %s is there whole or not at all, and can be imported again (${reason ?? 'ready'})`,
  options,
  async (name) => {
    await using under = await prepareEngine()
    arm(name)
    const engine = await under.open()
    await expect(importImage(engine, under)).rejects.toThrow(name)
    expect(hits()).toContain(name)
    const whole = name === 'host.image-named' ? 1 : 0
    expect(await named(under, 'images')).toHaveLength(whole)
    expect(await engine.ability('images')?.list()).toHaveLength(whole)
    arm(null)
    const digest = await importImage(engine, under)
    expect((await engine.ability('images')?.list())?.map((image) => image.digest)).toEqual([digest])
    await engine.close()
  },
)

test.skipIf(reason !== null).each(['host.image-written', 'host.image-based', 'host.image-named'])(
  `a delta whose import fails at %s is there whole or not at all, and can be imported again (${reason ?? 'ready'})`,
  options,
  async (name) => {
    await using under = await prepareEngine()
    arm(null)
    const engine = await under.open()
    const base = await importImage(engine, under)
    arm(name)
    await expect(importDelta(engine, under, base)).rejects.toThrow(name)
    expect(hits()).toContain(name)
    const whole = name === 'host.image-named'
    expect(await named(under, 'images')).toHaveLength(whole ? 3 : 1)
    expect(await engine.ability('images')?.list()).toHaveLength(whole ? 2 : 1)
    arm(null)
    const digest = await importDelta(engine, under, base)
    await engine.ability('images')?.remove(base)
    expect((await engine.ability('images')?.list())?.map((image) => image.digest)).toEqual([digest])
    const spec = smallSpec('gvisor', digest)
    await engine.ensure(spec, timeout())
    await engine.remove(spec.id, timeout())
    await engine.close()
    expect(await under.leaks()).toEqual([])
  },
)

test.skipIf(reason !== null).each(['host.disk-formatted', 'host.disk-named'])(
  `a spare disk that fails at %s keeps nobody from his own, and the next start has no half-made one (${reason ?? 'ready'})`,
  options,
  async (name) => {
    await using under = await prepareEngine()
    arm(name)
    const engine = await under.open()
    const spec = smallSpec('container', await importImage(engine, under))
    await engine.ensure(spec, timeout())
    await expect.poll(hits).toContain(name)
    await engine.remove(spec.id, timeout())
    await engine.close()
    arm(null)
    const next = await under.open()
    expect((await named(under, 'disks')).filter((disk) => disk.startsWith('.'))).toEqual([])
    const again = smallSpec('container', spec.imageDigest)
    await next.ensure(again, timeout())
    expect(hits()).toContain('host.running')
    await next.remove(again.id, timeout())
    await next.close()
    expect(await under.leaks()).toEqual([])
  },
)

test.skipIf(reason !== null)(
  `an artifact whose transfer fails before it has its name is not there, and can be received again (${reason ?? 'ready'})`,
  options,
  async () => {
    await using under = await prepareEngine()
    arm(null)
    const engine = await under.open()
    const spec = smallSpec('gvisor', await importDelta(engine, under, await importImage(engine, under)))
    await engine.ensure(spec, timeout())
    const guest = await engine.dial(spec.id, timeout())
    const body = Buffer.from('{}')
    ;(await guest.request({ method: 'POST', path: '/v1/quiesce', body, signal: timeout() })).body.resume()
    await engine.ability('checkpoints')?.take(spec.id, 'cp', timeout())
    const refs = [
      { kind: 'checkpoint', id: 'cp' },
      { kind: 'image', id: spec.imageDigest },
    ] as const
    for (const ref of refs) {
      const receive = await takeAway(engine, ref)
      const before = { images: await named(under, 'images'), checkpoints: await named(under, 'checkpoints') }
      arm('host.files-received')
      await expect(receive()).rejects.toThrow('host.files-received')
      expect({ images: await named(under, 'images'), checkpoints: await named(under, 'checkpoints') }).toEqual(before)
      arm(null)
      await receive()
    }
    expect(await engine.ability('checkpoints')?.usable('cp')).toEqual({ usable: true })
    await engine.close()
  },
)

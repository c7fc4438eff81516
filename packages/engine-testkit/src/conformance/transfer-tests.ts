import { buffer } from 'node:stream/consumers'
import {
  type ArtifactDescription,
  type ArtifactRef,
  type Checkpoints,
  descriptionDigest,
  type Engine,
  type ImageDigest,
  type ImageStore,
  type ReadFile,
  type Transfer,
} from '@holt/engine'
import type { GuestClient } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { expect } from 'vitest'
import { bindRequest, bound, connect, kindOf, type Steps } from './steps.ts'

/** The conformance tests of transfers: an engine receives and uses the artifacts of another. */
export const transferTests = {
  'sends an image to another engine, which makes runtimes of it': async (steps) => {
    const { engine, spec, signal } = steps
    const other = await steps.other()
    const ref = await exported(steps)
    expect(await kindOf(of(other).describe(ref))).toBe('not_found')
    const description = await of(engine).describe(ref)
    await of(other).receive(description, reader(engine, ref), signal())
    expect(await images(other).has(ref.id)).toBe(true)
    expect(await of(other).describe(ref)).toEqual(description)
    const guest = await bound(other, { ...spec(), imageDigest: ref.id }, signal)
    expect(await read(guest, '/opt/made', signal)).toBe('made by a step')
    const again = () => Promise.reject(new Error('what is there is not read'))
    await of(other).receive(description, () => failing(again), signal())
  },
  'sends a checkpoint to another engine, which restores it': async (steps) => {
    const { engine, spec, signal } = steps
    const other = await steps.other()
    const taken = await checkpoint(steps)
    if (taken === null) return
    const { ref, imageDigest } = taken
    expect(await of(engine).classOf(ref.id)).toBe(of(engine).classId)
    expect(of(other).classId).toBe(of(engine).classId)
    const description = await of(engine).describe(ref)
    expect(description).toMatchObject({ classId: of(engine).classId, imageDigest })
    await send(engine, other, { kind: 'image', id: imageDigest }, signal)
    await of(other).receive(description, reader(engine, ref), signal())
    expect(descriptionDigest(await of(other).describe(ref))).toBe(descriptionDigest(description))
    expect(await checkpoints(other).usable(ref.id, { restoreOnly: true })).toEqual({ usable: true })
    expect((await checkpoints(other).list()).map(({ checkpointId }) => checkpointId)).toContain(ref.id)
    const wanted = { ...spec(), imageDigest, checkpointId: ref.id, restoreOnly: true }
    await other.ensure(wanted, signal())
    expect((await other.inspect(wanted.id))?.restored).toBe(true)
    const guest = await connect(other, wanted.id, signal())
    await guest.bind({ ...bindRequest(wanted.id), renew: true }, signal())
    expect(await read(guest, '/opt/made', signal)).toBe('made before the checkpoint')
    await other.remove(wanted.id, signal())
    await Promise.all([engine, other].map((each) => checkpoints(each).remove(ref.id)))
  },
  'reads parts of files, and nothing outside of them': async (steps) => {
    const { engine, signal } = steps
    const ref = await exported(steps)
    const [file] = (await of(engine).describe(ref)).files
    if (file === undefined) throw new Error('an image has a file')
    const part = async (offset: number, length: number) =>
      buffer(await of(engine).read(ref, file.name, { offset, length }, signal()))
    const whole = await part(0, file.sizeBytes)
    expect(whole.length).toBe(file.sizeBytes)
    const middle = Math.floor(file.sizeBytes / 2)
    expect(Buffer.concat([await part(0, middle), await part(middle, file.sizeBytes - middle)]).equals(whole)).toBe(true)
    expect((await part(file.sizeBytes, 0)).length).toBe(0)
    for (const [offset, length] of [
      [0, file.sizeBytes + 1],
      [-1, 1],
      [0, -1],
      [0.5, 1],
    ] as const)
      expect(await kindOf(part(offset, length)), `${offset} ${length}`).toBe('invalid')
    const named = (name: string) => of(engine).read(ref, name, { offset: 0, length: 0 }, signal())
    for (const name of ['none', '..', '../image', 'image/']) expect(await kindOf(named(name)), name).toBe('not_found')
    await images(engine).remove(ref.id)
    expect(await kindOf(named(file.name))).toBe('not_found')
  },
  'publishes nothing of an artifact whose bytes are wrong, or whose source fails': async (steps) => {
    const { engine, signal } = steps
    const other = await steps.other()
    const ref = await exported(steps)
    const description = await of(engine).describe(ref)
    const receive = (change: (bytes: Buffer) => Buffer) =>
      of(other).receive(description, changed(reader(engine, ref), change), signal())
    const flipped = (bytes: Buffer) => {
      const copy = Buffer.from(bytes)
      copy[copy.length >> 1] = (copy[copy.length >> 1] ?? 0) ^ 1
      return copy
    }
    for (const change of [
      flipped,
      (bytes: Buffer) => bytes.subarray(1),
      (bytes: Buffer) => Buffer.concat([bytes, bytes]),
    ])
      expect(await kindOf(receive(change))).toBe('damaged')
    const broken = new Error('the source is gone')
    const failed = of(other).receive(description, () => failing(() => Promise.reject(broken)), signal())
    await expect(failed).rejects.toBe(broken)
    const left = new AbortController()
    const leaving: ReadFile = (file, stop) => {
      left.abort(new Error('given up'))
      return reader(engine, ref)(file, stop)
    }
    await expect(of(other).receive(description, leaving, left.signal)).rejects.toThrow('given up')
    expect(await images(other).has(ref.id)).toBe(false)
    expect(await kindOf(of(other).describe(ref))).toBe('not_found')
    await send(engine, other, ref, signal)
    expect(await images(other).has(ref.id)).toBe(true)
  },
  'receives the same artifact once when it comes twice at the same time': async (steps) => {
    const { engine, signal } = steps
    const other = await steps.other()
    const ref = await exported(steps)
    await Promise.all([send(engine, other, ref, signal), send(engine, other, ref, signal)])
    expect(await of(other).describe(ref)).toEqual(await of(engine).describe(ref))
  },
  'refuses a description that is not one, before it reads a byte': async (steps) => {
    const { engine, signal } = steps
    const other = await steps.other()
    const ref = await exported(steps)
    const right = await of(engine).describe(ref)
    const [file] = right.files
    if (file === undefined) throw new Error('an image has a file')
    const unread: ReadFile = () => failing(() => Promise.reject(new Error('a byte was read')))
    const wrong: readonly Partial<ArtifactDescription>[] = [
      { files: [] },
      { files: [file, file] },
      { files: Array.from({ length: 33 }, (_, at) => ({ ...file, name: `file-${at}` })) },
      { files: [{ ...file, name: '../image' }] },
      { files: [{ ...file, name: '.tmp' }] },
      { files: [{ ...file, sizeBytes: -1 }] },
      { files: [{ ...file, sizeBytes: 2 ** 40 }] },
      { files: [{ ...file, digest: 'sha256:abc' }] },
      { classId: 'a class' },
      { imageDigest: ref.id },
      { details: 'x'.repeat(2 ** 16 + 1) },
    ]
    for (const change of wrong) {
      const kind = await kindOf(of(other).receive({ ...right, ...change }, unread, signal()))
      expect(kind, JSON.stringify(change).slice(0, 100)).toBe('invalid')
    }
    const checkpointId = makeId('runtime')
    const foreign: ArtifactDescription = {
      ...right,
      ref: { kind: 'checkpoint', id: checkpointId },
      classId: 'f'.repeat(64),
      imageDigest: ref.id,
    }
    expect(await kindOf(of(other).receive(foreign, unread, signal()))).toBe('incompatible')
    expect(await kindOf(of(other).classOf(checkpointId))).toBe('not_found')
  },
} satisfies Record<string, (steps: Steps) => Promise<void>>

/** Makes an image that no other test has. */
async function exported({ engine, spec, signal }: Steps): Promise<ArtifactRef & { readonly kind: 'image' }> {
  const wanted = spec()
  const guest = await bound(engine, wanted, signal)
  await write(guest, '/opt/made', 'made by a step', signal)
  await write(guest, '/opt/own', wanted.id, signal)
  const { body } = await guest.trees.export({ onlyChanged: true, exclude: ['/tmp'] }, signal())
  const { digest } = await images(engine).import(body, signal(), { base: wanted.imageDigest })
  return { kind: 'image', id: digest }
}

/** Takes a checkpoint; null if the class has none. */
async function checkpoint({ engine, subject, spec, signal }: Steps): Promise<{
  readonly ref: ArtifactRef & { readonly kind: 'checkpoint' }
  readonly imageDigest: ImageDigest
} | null> {
  const facts = (await engine.describe()).isolation[subject.isolation]
  if (!facts.available || !facts.canCheckpoint) return null
  const wanted = spec()
  const guest = await bound(engine, wanted, signal)
  await write(guest, '/opt/made', 'made before the checkpoint', signal)
  await guest.quiesce(signal(), { force: true })
  const { checkpointId, imageDigest } = await checkpoints(engine).take(wanted.id, `cp${wanted.id}`, signal())
  return { ref: { kind: 'checkpoint', id: checkpointId }, imageDigest }
}

async function send(from: Engine, to: Engine, ref: ArtifactRef, signal: () => AbortSignal): Promise<void> {
  await of(to).receive(await of(from).describe(ref), reader(from, ref), signal())
}

/** Reads files at another engine, in two ranges each. */
function reader(engine: Engine, ref: ArtifactRef): ReadFile {
  return async function* (file, signal) {
    const half = Math.floor(file.sizeBytes / 2)
    yield* await of(engine).read(ref, file.name, { offset: 0, length: half }, signal)
    yield* await of(engine).read(ref, file.name, { offset: half, length: file.sizeBytes - half }, signal)
  }
}

/** Changes the content of files on the way. */
function changed(read: ReadFile, change: (bytes: Buffer) => Buffer): ReadFile {
  return async function* (file, signal) {
    yield change(await buffer(read(file, signal)))
  }
}

async function* failing(fail: () => Promise<never>): AsyncGenerator<Uint8Array> {
  yield await fail()
}

function of(engine: Engine): Transfer {
  const transfer = engine.ability('transfer')
  if (transfer === null) throw new Error('the engine has no transfers')
  return transfer
}

function images(engine: Engine): ImageStore {
  const store = engine.ability('images')
  if (store === null) throw new Error('no images')
  return store
}

function checkpoints(engine: Engine): Checkpoints {
  const store = engine.ability('checkpoints')
  if (store === null) throw new Error('no checkpoints')
  return store
}

async function write(guest: GuestClient, path: string, text: string, signal: () => AbortSignal): Promise<void> {
  await guest.content.write({ path, createOnly: false, body: Buffer.from(text) }, signal())
}

async function read(guest: GuestClient, path: string, signal: () => AbortSignal): Promise<string> {
  return (await buffer((await guest.content.read({ path, range: null }, signal())).body)).toString()
}

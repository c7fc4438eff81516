import { createHash, randomBytes } from 'node:crypto'
import {
  type ArtifactDescription,
  type ArtifactFile,
  type ArtifactRef,
  EngineError,
  type ImageDigest,
  verified,
} from '@holt/engine'
import { type ObjectStore, ObjectStoreError, openObjectStore } from '@holt/object-store'
import { SmallS3 } from '@holt/testkit/small-s3'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ArtifactKeys } from '../../../src/fleet/stored-artifacts/artifact-keys.ts'
import { StoredArtifacts } from '../../../src/fleet/stored-artifacts/stored-artifacts.ts'

const MiB = 2 ** 20
const signal = AbortSignal.timeout(300_000)
const canary = Buffer.from('a secret in the memory of a tenant')
const key = randomBytes(32)

let s3: SmallS3
let objects: ObjectStore

beforeAll(async () => {
  s3 = await SmallS3.start()
  objects = openObjectStore(s3.url, { env: s3.env, retries: { attempts: 2, firstPauseMs: 1 } })
})
beforeEach(() => {
  s3.heal()
  s3.bucket.objects.clear()
})
afterAll(() => s3[Symbol.asyncDispose]())

/** Memory of which a part compresses, longer than two frames. */
const memory = Buffer.concat([randomBytes(3 * MiB), canary, Buffer.alloc(4 * MiB + 17), randomBytes(2 * MiB + 5)])
const small = Buffer.from('state')
const empty = Buffer.alloc(0)

describe.each([
  ['sealed', new ArtifactKeys([key])],
  ['not sealed', null],
])('artifacts that are %s', (_, keys) => {
  const stored = () => new StoredArtifacts(objects, keys)

  test.each(['checkpoint', 'image'] as const)('come back as they were: %s', async (kind) => {
    const artifact = artifactOf(kind, { memory, small, empty })
    await stored().put(artifact.description, artifact.read, signal)
    const found = await stored().open(artifact.description.ref, signal)
    expect(found?.description).toEqual(artifact.description)
    for (const file of artifact.description.files)
      expect(hexOf(await wholeFile(stored(), artifact.description.ref, file))).toBe(hexOf(artifact.contentOf(file)))
  })

  test.each(['checkpoint', 'image'] as const)('are read in ranges: %s', async (kind) => {
    const artifact = artifactOf(kind, { memory })
    await stored().put(artifact.description, artifact.read, signal)
    const found = await stored().open(artifact.description.ref, signal)
    const [file] = artifact.description.files
    if (file === undefined || found === null) throw new Error('the artifact has a file')
    const ranges = [
      [0, 1],
      [MiB - 1, 2],
      [4 * MiB - 3, 2 * MiB],
      [8 * MiB, 10],
      [memory.length - 1, 1],
      [5, 0],
      [0, memory.length],
    ] as const
    for (const [offset, length] of ranges)
      expect(hexOf(await bytesOf(found.read(file, { offset, length }, signal)))).toBe(
        hexOf(memory.subarray(offset, offset + length)),
      )
    const outside = found.read(file, { offset: memory.length, length: 1 }, signal)
    await expect(bytesOf(outside)).rejects.toMatchObject({ kind: 'invalid' })
  })

  test('are found only when everything is there', async () => {
    const artifact = artifactOf('checkpoint', { memory, small })
    await stored().put(artifact.description, artifact.read, signal)
    const manifest = [...s3.bucket.objects.keys()].at(-1)
    expect(manifest).toMatch(/manifest\.(?:json|sealed)$/)
    s3.bucket.objects.clear()
    const broken = (file: ArtifactFile) => (file.name === 'small' ? throwing() : artifact.read(file))
    await expect(stored().put(artifact.description, broken, signal)).rejects.toThrow('the disk broke')
    expect(await stored().open(artifact.description.ref, signal)).toBeNull()
    await stored().put(artifact.description, artifact.read, signal)
    expect(await stored().open(artifact.description.ref, signal)).not.toBeNull()
  })

  test('are not stored under the digest of other content', async () => {
    const { description, read } = artifactOf('checkpoint', { memory })
    const other = async function* () {
      const changed = Buffer.from(memory)
      changed[MiB] = (changed[MiB] ?? 0) ^ 1
      yield changed
    }
    await expect(stored().put(description, other, signal)).rejects.toMatchObject({ kind: 'damaged' })
    expect(s3.bucket.objects.size).toBe(0)
    await stored().put(description, read, signal)
  })

  test('are removed, the manifest first', async () => {
    const artifact = artifactOf('checkpoint', { memory, small })
    const other = artifactOf('checkpoint', { small }, 'cpother')
    await stored().put(artifact.description, artifact.read, signal)
    await stored().put(other.description, other.read, signal)
    s3.requests.length = 0
    await stored().remove(artifact.description.ref, signal)
    expect(s3.requests.find((request) => request.startsWith('DELETE'))).toContain('manifest')
    expect(await stored().open(artifact.description.ref, signal)).toBeNull()
    expect(await stored().open(other.description.ref, signal)).not.toBeNull()
    await stored().remove(artifact.description.ref, signal)
    const left = await Array.fromAsync(stored().list(signal))
    expect(left.filter(({ isManifest }) => isManifest).map(({ ref }) => ref)).toEqual([other.description.ref])
  })

  test.each(['checkpoint', 'image'] as const)('lose one bit anywhere, and that is found: %s', async (kind) => {
    const artifact = artifactOf(kind, { memory: memory.subarray(2 * MiB, 4 * MiB), small, empty })
    await stored().put(artifact.description, artifact.read, signal)
    // The object of the empty file has no bytes that anybody reads.
    const objectsRead = [...s3.bucket.objects].filter(([name]) => !name.includes(hexOf(empty)))
    for (const [name, object] of objectsRead) {
      const places = [
        0,
        1,
        object.bytes.length - 1,
        object.bytes.length >> 1,
        Math.floor(Math.random() * object.bytes.length),
      ]
      for (const place of places.filter((at) => at >= 0 && at < object.bytes.length)) {
        const bytes = Buffer.from(object.bytes)
        bytes[place] = (bytes[place] ?? 0) ^ (1 << Math.floor(Math.random() * 8))
        s3.bucket.put(name, bytes, object.metadata)
        const outcome = await readAll(stored(), artifact.description)
        // A header of zstd has bits without effect (RFC 8878, 3.1.1.1). `whole` compares digests.
        const allowed = name.endsWith('.zst') && place < 16 ? ['damaged', 'whole'] : ['damaged']
        expect(allowed, `bit of byte ${place} of ${name}`).toContain(outcome)
      }
      s3.bucket.objects.set(name, object)
    }
    expect(await readAll(stored(), artifact.description)).toBe('whole')
  })

  test('are damaged when an object is cut, longer, or that of another artifact', async () => {
    const artifact = artifactOf('checkpoint', { memory: randomBytes(3 * MiB) })
    const other = artifactOf('checkpoint', { memory: randomBytes(3 * MiB) }, 'cpother')
    for (const { description, read } of [artifact, other]) await stored().put(description, read, signal)
    const [[name, object] = never(), ...others] = [...s3.bucket.objects]
    const stranger = others.find(([key]) => key.startsWith('checkpoints/cpother/'))?.[1].bytes
    for (const bytes of [
      object.bytes.subarray(0, MiB),
      object.bytes.subarray(0, -1),
      Buffer.concat([object.bytes, Buffer.alloc(1)]),
      Buffer.alloc(0),
      stranger ?? never(),
    ]) {
      s3.bucket.put(name, bytes, {})
      expect(await readAll(stored(), artifact.description)).toBe('damaged')
    }
  })
})

test('sealed artifacts show nothing of their content, and open with the key that sealed them', async () => {
  const { description, read } = artifactOf('image', { memory })
  const [first, second] = [randomBytes(32), randomBytes(32)]
  await new StoredArtifacts(objects, new ArtifactKeys([first])).put(description, read, signal)
  for (const { bytes } of s3.bucket.objects.values()) {
    expect(bytes.includes(canary)).toBe(false)
    expect(bytes.includes(description.ref.id)).toBe(false)
  }
  expect(await readAll(new StoredArtifacts(objects, new ArtifactKeys([second, first])), description)).toBe('whole')
  const stranger = new StoredArtifacts(objects, new ArtifactKeys([second]))
  await expect(stranger.open(description.ref, signal)).rejects.toMatchObject({ kind: 'refused' })
  expect(await new StoredArtifacts(objects, null).open(description.ref, signal)).toBeNull()
})

test('a sealed range needs one request', async () => {
  const { description, read } = artifactOf('image', { memory })
  const stored = new StoredArtifacts(objects, new ArtifactKeys([key]))
  await stored.put(description, read, signal)
  const found = await stored.open(description.ref, signal)
  const [file = never()] = description.files
  await bytesOf(found?.read(file, { offset: 0, length: 10 }, signal) ?? never())
  s3.requests.length = 0
  const range = await bytesOf(found?.read(file, { offset: 3 * MiB, length: MiB }, signal) ?? never())
  expect(hexOf(range)).toBe(hexOf(memory.subarray(3 * MiB, 4 * MiB)))
  expect(s3.requests).toHaveLength(1)
})

test('a host with a key takes no artifact that anybody could have written', async () => {
  const { description, read } = artifactOf('checkpoint', { small })
  await new StoredArtifacts(objects, null).put(description, read, signal)
  expect(await new StoredArtifacts(objects, new ArtifactKeys([key])).open(description.ref, signal)).toBeNull()
})

/** Reads all files as an engine does, and returns whether they were whole. Wrong bytes throw. */
async function readAll(stored: StoredArtifacts, description: ArtifactDescription): Promise<'whole' | 'damaged'> {
  try {
    const found = await stored.open(description.ref, signal)
    if (found === null) throw new Error('the manifest is missing')
    expect(found.description).toEqual(description)
    for (const file of found.description.files) await wholeFile(stored, description.ref, file)
    return 'whole'
  } catch (error) {
    const isKnown = error instanceof ObjectStoreError || error instanceof EngineError
    if (isKnown && (error.kind === 'damaged' || error.kind === 'refused' || error.kind === 'invalid')) return 'damaged'
    throw error
  }
}

test('an object store belongs to the first database that claims it', async () => {
  const stored = new StoredArtifacts(objects, null)
  const claims = await Promise.all(['one', 'two', 'three'].map((id) => stored.claim(id, signal)))
  expect(new Set(claims).size).toBe(1)
  expect(await stored.claim('four', signal)).toBe(claims[0])
  expect(await Array.fromAsync(stored.list(signal))).toEqual([])
})

test('an artifact is there with its manifest', async () => {
  const stored = new StoredArtifacts(objects, null)
  const { description, read } = artifactOf('checkpoint', { small })
  expect(await stored.has(description.ref, signal)).toBe(false)
  await stored.put(description, read, signal)
  expect(await stored.has(description.ref, signal)).toBe(true)
})

async function wholeFile(stored: StoredArtifacts, ref: ArtifactRef, file: ArtifactFile): Promise<Buffer> {
  const found = await stored.open(ref, signal)
  if (found === null) throw new Error('the artifact is missing')
  return bytesOf(verified(file, found.read(file, { offset: 0, length: file.sizeBytes }, signal)))
}

function artifactOf(kind: 'image' | 'checkpoint', contents: Readonly<Record<string, Buffer>>, id = 'cp0123') {
  const files = Object.entries(contents).map(
    ([name, content]): ArtifactFile => ({
      name,
      sizeBytes: content.length,
      digest: `sha256:${hexOf(content)}`,
    }),
  )
  const digest = (files[0]?.digest ?? '') as ImageDigest
  const ref: ArtifactRef = kind === 'image' ? { kind, id: digest } : { kind, id }
  const description: ArtifactDescription = {
    ref,
    files,
    classId: kind === 'image' ? null : 'class',
    imageDigest: kind === 'image' ? null : digest,
    details: kind === 'image' ? '' : '{"runner":"runsc"}',
  }
  const contentOf = ({ name }: ArtifactFile) => contents[name] ?? never()
  const read = async function* (file: ArtifactFile) {
    const content = contentOf(file)
    for (let at = 0; at < content.length; at += 300_007) yield content.subarray(at, at + 300_007)
  }
  return { description, contentOf, read }
}

async function* throwing(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('sta')
  throw new Error('the disk broke')
}

function never(): never {
  throw new Error('it is missing')
}

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(pieces))
}

function hexOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

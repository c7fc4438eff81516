import { createHash } from 'node:crypto'
import {
  type ArtifactDescription,
  type ArtifactFile,
  type ArtifactRef,
  type ByteRange,
  type CheckpointInfo,
  checkDescription,
  EngineError,
  isInside,
  type ReadFile,
  type Transfer,
  verified,
} from '@holt/engine'
import type { FakeCheckpoints } from './fake-checkpoints.ts'
import type { BeforeVerb } from './fake-engine-options.ts'
import type { FakeImages } from './fake-images.ts'
import type { FakeGuest } from './guest/fake-guest.ts'

/** The parts of a fake engine that transfers need. */
interface EngineParts {
  readonly images: FakeImages
  readonly checkpoints: FakeCheckpoints
  readonly classId: string
  readonly before: BeforeVerb
}

/** The size of the parts in which files are read, in bytes. */
const PART_BYTES = 64 * 1024

/** The content of the guest binary that each checkpoint brings. */
const GUEST_BINARY = Buffer.from('the binary of a fake guest')

/**
 * The guests in the checkpoints of all fake engines of this process. The files of a checkpoint
 * name one of them, because a guest in memory has no other form.
 */
const memories = new Map<string, FakeGuest>()

/** Moves images and checkpoints between the fake engines of one process. */
export class FakeTransfer implements Transfer {
  readonly classId: string
  readonly #engine: EngineParts

  constructor(engine: EngineParts) {
    this.classId = engine.classId
    this.#engine = engine
  }

  async classOf(checkpointId: string): Promise<string> {
    this.#engine.checkpoints.find(checkpointId)
    return this.classId
  }

  async describe(ref: ArtifactRef): Promise<ArtifactDescription> {
    const files = this.#filesOf(ref)
    const described = { ref, files: Object.entries(files).map(([name, content]) => describeFile(name, content)) }
    if (ref.kind === 'image') {
      const { isTree } = this.#engine.images.find(ref.id)
      return { ...described, classId: null, imageDigest: null, details: JSON.stringify({ isTree }) }
    }
    const { info } = this.#engine.checkpoints.find(ref.id)
    return { ...described, classId: this.classId, imageDigest: info.imageDigest, details: JSON.stringify(info) }
  }

  async read(
    ref: ArtifactRef,
    file: string,
    range: ByteRange,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    signal.throwIfAborted()
    const content = this.#filesOf(ref)[file]
    if (content === undefined) throw new EngineError('not_found', `${ref.id} has no file ${file}`)
    if (!isInside(range, content.length)) throw new EngineError('invalid', `the range is outside of ${file}`)
    return partsOf(content.subarray(range.offset, range.offset + range.length), signal)
  }

  async receive(description: ArtifactDescription, read: ReadFile, signal: AbortSignal): Promise<void> {
    const { ref, classId, details } = description
    await this.#engine.before('receive', ref.id)
    signal.throwIfAborted()
    checkDescription(description)
    if (classId !== null && classId !== this.classId)
      throw new EngineError('incompatible', `the checkpoint is of class ${classId}, this host of ${this.classId}`)
    if (await this.#has(ref)) return
    const contents: Buffer[] = []
    for (const file of description.files) contents.push(await contentOf(file, read, signal))
    const [content = Buffer.alloc(0)] = contents
    if (ref.kind === 'image') {
      if (ref.id !== `sha256:${createHash('sha256').update(content).digest('hex')}`)
        throw new EngineError('damaged', `the file is not that of ${ref.id}`)
      const { isTree } = JSON.parse(details) as { readonly isTree: boolean }
      this.#engine.images.put({ info: { digest: ref.id, sizeBytes: content.length }, content, isTree })
      return
    }
    const guest = memories.get(content.toString())
    if (guest === undefined) throw new EngineError('damaged', 'the files are not those of a fake checkpoint')
    this.#engine.checkpoints.put({ info: JSON.parse(details) as CheckpointInfo, guest: guest.copy(), problem: null })
  }

  async #has(ref: ArtifactRef): Promise<boolean> {
    const { images, checkpoints } = this.#engine
    return ref.kind === 'image' ? images.store.has(ref.id) : checkpoints.has(ref.id)
  }

  #filesOf(ref: ArtifactRef): Readonly<Record<string, Buffer>> {
    const { images, checkpoints } = this.#engine
    if (ref.kind === 'image') return { image: images.find(ref.id).content }
    const { guest } = checkpoints.find(ref.id)
    const name = `the memory of checkpoint ${ref.id}`
    memories.set(name, guest)
    return { 'memory.img': Buffer.from(name), guest: GUEST_BINARY }
  }
}

function describeFile(name: string, content: Buffer): ArtifactFile {
  return { name, sizeBytes: content.length, digest: `sha256:${createHash('sha256').update(content).digest('hex')}` }
}

async function* partsOf(content: Buffer, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += PART_BYTES) {
    signal.throwIfAborted()
    yield content.subarray(at, at + PART_BYTES)
  }
}

async function contentOf(file: ArtifactFile, read: ReadFile, signal: AbortSignal): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of verified(file, read(file, signal))) {
    signal.throwIfAborted()
    parts.push(part)
  }
  return Buffer.concat(parts)
}

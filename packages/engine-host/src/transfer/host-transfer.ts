import {
  type ArtifactDescription,
  type ArtifactRef,
  type ByteRange,
  checkDescription,
  EngineError,
  type ReadFile,
  type Transfer,
} from '@holt/engine'
import { readRange } from '../files/read-range.ts'
import type { Host } from '../host/host.ts'
import { checkpointFilePath, classOfCheckpoint, describeCheckpoint, receiveCheckpoint } from './checkpoint-transfer.ts'
import { describeImage, imageFilePath, receiveImage } from './image-transfer.ts'

/** The parts of the engine that transfers need. */
type TransferHost = Pick<Host, 'images' | 'checkpoints' | 'layout'>

/** Moves the images and checkpoints of an engine. */
export class HostTransfer implements Transfer {
  readonly classId: string | null
  readonly #host: TransferHost

  constructor(host: TransferHost) {
    this.classId = host.checkpoints.classId
    this.#host = host
  }

  classOf(checkpointId: string): Promise<string> {
    return classOfCheckpoint(this.#host, checkpointId)
  }

  describe({ kind, id }: ArtifactRef): Promise<ArtifactDescription> {
    return kind === 'image' ? describeImage(this.#host, id) : describeCheckpoint(this.#host, id)
  }

  async read(
    ref: ArtifactRef,
    file: string,
    range: ByteRange,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    const path =
      ref.kind === 'image'
        ? imageFilePath(this.#host, ref.id, file)
        : await checkpointFilePath(this.#host, ref.id, file)
    if (path === null) throw new EngineError('not_found', `${ref.id} has no file ${JSON.stringify(file)}`)
    return readRange(path, range, signal)
  }

  async receive(description: ArtifactDescription, read: ReadFile, signal: AbortSignal): Promise<void> {
    checkDescription(description)
    const { ref, files, classId } = description
    try {
      if (ref.kind === 'image') await receiveImage(this.#host, { digest: ref.id, files }, read, signal)
      else {
        if (classId !== this.classId)
          throw new EngineError(
            'incompatible',
            `checkpoint ${ref.id} is of class ${classId}, this host of ${this.classId}`,
          )
        await receiveCheckpoint(this.#host, description, read, signal)
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    }
  }
}

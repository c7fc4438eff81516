import type { ArtifactDescription, ArtifactFile, ArtifactRef, ByteRange } from '@holt/engine'
import type { PeerAnswer, PeerLinks } from '../peers/peer-links.ts'
import { Absent, type ArtifactSource } from './artifact-source.ts'
import { artifactPath, maxDescriptionBytes, parseDescription, rangeHeader } from './artifact-wire.ts'
import { readAhead } from './read-ahead.ts'

/** Another host of the fleet as a source of artifacts. */
export class PeerSource implements ArtifactSource {
  readonly name: string
  readonly type = 'peer'
  readonly #links: PeerLinks

  constructor(links: PeerLinks, hostId: string) {
    this.name = hostId
    this.#links = links
  }

  async describe(ref: ArtifactRef, signal: AbortSignal): Promise<ArtifactDescription | null> {
    const { status, body } = await this.#links.get(this.name, 'small', { path: artifactPath(ref), signal })
    if (status === 404) return null
    if (status !== 200) throw new Error(`the host answered with status ${status}`)
    const parts: Uint8Array[] = []
    let bytes = 0
    for await (const part of body) {
      bytes += part.length
      if (bytes > maxDescriptionBytes) throw new Error('the description is too long')
      parts.push(part)
    }
    const description = parseDescription(Buffer.concat(parts).toString())
    if (description === null) throw new Error('the description has another form')
    return description
  }

  read(
    ref: ArtifactRef,
    { name, sizeBytes }: ArtifactFile,
    offset: number,
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array> {
    const path = artifactPath(ref, name)
    return readAhead({ offset, length: sizeBytes - offset }, (range, stop) => this.#open(path, range, stop), signal)
  }

  async #open(path: string, range: ByteRange, signal: AbortSignal): Promise<PeerAnswer['body']> {
    const headers = { range: rangeHeader(range) }
    const { status, body } = await this.#links.get(this.name, 'bytes', { path, headers, signal })
    if (status === 206) return body
    const message = `the host answered with status ${status}`
    throw status === 404 ? new Absent(message) : new Error(message)
  }
}

import { createHash, randomUUID } from 'node:crypto'

/** An object in memory. */
export interface StoredObject {
  readonly bytes: Buffer
  readonly etag: string
  /** SHA-256 in base64, or the one of the parts' with their number. */
  readonly checksum: string
  readonly metadata: Readonly<Record<string, string>>
  readonly modifiedMs: number
}

interface Upload {
  readonly key: string
  readonly metadata: Readonly<Record<string, string>>
  readonly begunMs: number
  readonly parts: Map<number, Buffer>
}

/** The objects and unfinished uploads of a bucket. */
export class S3Bucket {
  readonly objects = new Map<string, StoredObject>()
  readonly uploads = new Map<string, Upload>()

  put(key: string, bytes: Buffer, metadata: Readonly<Record<string, string>>): StoredObject {
    const etag = `"${createHash('md5').update(bytes).digest('hex')}"`
    const stored = { bytes, etag, checksum: sha256(bytes), metadata, modifiedMs: Date.now() }
    this.objects.set(key, stored)
    return stored
  }

  begin(key: string, metadata: Readonly<Record<string, string>>): string {
    const id = randomUUID()
    this.uploads.set(id, { key, metadata, begunMs: Date.now(), parts: new Map() })
    return id
  }

  complete(id: string, upload: Upload): StoredObject {
    const parts = [...upload.parts].toSorted(([one], [other]) => one - other).map(([, bytes]) => bytes)
    const checksum = `${sha256(Buffer.concat(parts.map((part) => createHash('sha256').update(part).digest())))}-${parts.length}`
    const stored = { ...this.put(upload.key, Buffer.concat(parts), upload.metadata), checksum }
    this.objects.set(upload.key, stored)
    this.uploads.delete(id)
    return stored
  }
}

/** Returns the SHA-256 of bytes in base64. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64')
}

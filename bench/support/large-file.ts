import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** A directory with one file, which is removed at the end. */
export interface LargeFile extends AsyncDisposable {
  readonly dir: string
  readonly path: string
}

/** Writes a file into a new directory below `.holt`, on the file system of the runtimes' disks. */
export async function makeLargeFile(content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<LargeFile> {
  const parent = new URL('../../.holt/', import.meta.url).pathname
  await mkdir(parent, { recursive: true })
  const dir = await mkdtemp(join(parent, 'bench-file-'))
  const path = join(dir, 'large')
  await pipeline(content, createWriteStream(path))
  return { dir, path, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

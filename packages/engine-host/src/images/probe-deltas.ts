import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileEntry, ImageReader, WHOLE_NAME, writeImage } from '@holt/erofs'
import { unmountTree } from '../mounts/mount.ts'
import { mountDelta } from './mount-images.ts'

const PLAIN = { mode: 0o600, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0 } as const
const CONTENT = Buffer.alloc(1 << 18, 'x')

/**
 * Tests whether this host can mount a delta and its base as one file. The test runs in a directory
 * that this call creates and removes. Returns the reason for a failure, or null.
 */
export async function probeDeltas(dir: string): Promise<string | null> {
  const [base, delta, point] = [join(dir, 'base'), join(dir, 'delta'), join(dir, 'whole')]
  await mkdir(dir, { mode: 0o700 })
  try {
    await writeImage(one(), base)
    await using image = await ImageReader.open(base)
    const { fileBytes } = await writeImage(one(), delta, { base: { image, sha256: '0'.repeat(64) } })
    await mountDelta({ delta, base }, point)
    const { size } = await stat(join(point, WHOLE_NAME))
    return size > image.baseBytes && fileBytes > 0 ? null : 'the file has another size'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await unmountTree(point)
    await rm(dir, { recursive: true, force: true })
  }
}

async function* one(): AsyncGenerator<FileEntry> {
  const body = (async function* () {
    yield CONTENT
  })()
  yield { ...PLAIN, type: 'file', path: 'f', size: CONTENT.length, body }
}

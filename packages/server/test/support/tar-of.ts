import { buffer } from 'node:stream/consumers'
import { writeTar } from '@holt/tar'

/** A tar of some files. */
export async function tarOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  async function* entries() {
    for (const [path, text] of Object.entries(files)) {
      const body = Buffer.from(text)
      yield {
        type: 'file' as const,
        path,
        mode: 0o644,
        uid: 0,
        gid: 0,
        mtimeSecs: 1,
        mtimeNanos: 0,
        size: body.length,
        body: (async function* () {
          yield body
        })(),
      }
    }
  }
  return buffer(writeTar(entries()))
}

import type { ImageDigest } from '@holt/engine'
import { writeTar } from '@holt/tar'
import type { BuildHost } from '../contract/build-contract.ts'

/** Returns the image of `FROM scratch`: an empty root directory. */
export async function scratchImage(
  host: BuildHost,
  signal: AbortSignal,
): Promise<{ readonly imageDigest: ImageDigest; readonly sizeBytes: number }> {
  const images = host.engine.ability('images')
  if (images === null) throw new Error('this engine has no images')
  const { digest, sizeBytes } = await images.import(writeTar(rootOnly()), signal)
  return { imageDigest: digest, sizeBytes }
}

async function* rootOnly() {
  yield { type: 'directory', path: '/', mode: 0o755, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0 } as const
}

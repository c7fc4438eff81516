import { EngineError, type ImageDigest } from '@holt/engine'
import { ErofsInputError } from '@holt/erofs'

/** Returns the error of a read of an image: of kind `damaged` if the image is malformed. */
export function readFailure(digest: ImageDigest, error: unknown): unknown {
  if (!(error instanceof ErofsInputError)) return error
  return new EngineError('damaged', `the image ${digest} is damaged: ${error.message}`, { cause: error })
}

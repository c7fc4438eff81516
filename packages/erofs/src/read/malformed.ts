import { ErofsInputError } from '../errors.ts'

/** An image that is not what `writeImage` writes. */
export function malformed(detail: string): ErofsInputError {
  return new ErofsInputError('image_malformed', '', detail)
}

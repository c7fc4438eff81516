import { ErofsInputError } from '../errors.ts'

/** Returns the error for an image that `writeImage` has not written. */
export function malformed(detail: string): ErofsInputError {
  return new ErofsInputError('image_malformed', '', detail)
}

import { posix } from 'node:path'
import { E2bError } from '../errors/e2b-error.ts'

/**
 * Returns the source of a copy in the tree of all uploads, in which each upload has a directory.
 * The upload holds the files that the client's pattern matched. So the part of the path before the
 * first pattern names the source, and a directory stands for its content.
 */
export function copySource(upload: string, source: string): string {
  const at = source.search(/[*?[{]/)
  const plain = at === -1 ? source : source.slice(0, source.lastIndexOf('/', at) + 1)
  const path = posix.normalize(`/${plain}`).replace(/\/$/, '')
  if (posix.normalize(plain).startsWith('..'))
    throw new E2bError(400, `steps: the source '${source}' is outside the context`)
  return `${upload}${path}`.replace(/[\\*?[\]$]/g, '\\$&')
}

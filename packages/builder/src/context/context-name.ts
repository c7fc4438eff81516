import { BuilderError } from '../errors.ts'

const MAX_NAME_BYTES = 255
const MAX_PATH_BYTES = 4096
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Returns the components of a member's name. Throws for a name that is absolute, leads out of the
 * context, or is not UTF-8.
 */
export function readName(bytes: Uint8Array | string): readonly string[] {
  const name = readText(bytes)
  if (name.startsWith('/')) throw refused(name, 'its name is absolute')
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw refused(name, 'its name leads out of the context')
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) throw refused(name, 'its name is too long')
  return parts
}

/**
 * Returns the target of a symbolic link. Any path is allowed, because a link is copied as it is,
 * and followed only within the context.
 */
export function readTarget(bytes: Uint8Array | string, name: string): string {
  const target = readText(bytes)
  if (target === '') throw refused(name, 'it is a link to nothing')
  return target
}

function readText(bytes: Uint8Array | string): string {
  const text = typeof bytes === 'string' ? bytes : decode(bytes)
  if (text.includes('\0')) throw refused(text, 'its name has a NUL')
  if (Buffer.byteLength(text) > MAX_PATH_BYTES) throw refused(text, 'its name is too long')
  return text
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw refused(Buffer.from(bytes).toString('utf8'), 'its name is not UTF-8')
  }
}

function refused(name: string, why: string): BuilderError {
  const shown = name.length > 200 ? `${name.slice(0, 200)}...` : name
  return new BuilderError('context_invalid', `The context's ${JSON.stringify(shown)} is refused: ${why}.`)
}

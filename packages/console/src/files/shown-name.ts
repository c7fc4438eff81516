import { writtenOut } from '@holt/sdk'

/** The longest sequence of UTF-8, in bytes. */
const longestCharacter = 4

/** A path as the API has it: `path_base64` is there if the bytes are not UTF-8. */
interface NamedFile {
  readonly name: string
  readonly path_base64?: string | undefined
}

/**
 * Returns the name of a file for people. Control characters and marks of direction are written
 * out, as `\u202e`, and bytes that are not UTF-8 as `\xff`.
 */
export function shownName({ name, path_base64 }: NamedFile): string {
  if (path_base64 === undefined) return writtenOut(name)
  const bytes = Uint8Array.from(atob(path_base64), (character) => character.charCodeAt(0))
  return writtenOut(textWithBytes(bytes.subarray(bytes.lastIndexOf(0x2f) + 1)))
}

function textWithBytes(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const character = characterAt(bytes, at)
    text += character ?? `\\x${(bytes[at] ?? 0).toString(16).padStart(2, '0')}`
    at += character === null ? 1 : new TextEncoder().encode(character).length
  }
  return text
}

/** Returns the character whose bytes begin here, or null if there is none. */
function characterAt(bytes: Uint8Array, at: number): string | null {
  for (let length = 1; length <= longestCharacter && at + length <= bytes.length; length += 1) {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(at, at + length))
    } catch {
      // These bytes are no character, and more of them may be one.
    }
  }
  return null
}

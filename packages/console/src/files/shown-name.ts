import { writtenOut } from '@holt/sdk'

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

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** The character that a decoder puts in place of bytes that are no character. */
const replacement = '\ufffd'

/**
 * Returns the character whose bytes begin here, or null if there is none. A directory may have
 * thousands of such names, so nothing is tried that the bytes exclude, and nothing throws.
 */
function characterAt(bytes: Uint8Array, at: number): string | null {
  const first = bytes[at] ?? 0
  if (first < 0x80) return String.fromCharCode(first)
  const coded = bytes.subarray(at, at + lengthFrom(first))
  if (coded.length === 1 || !coded.subarray(1).every(isContinuation)) return null
  const text = decoder.decode(coded)
  return text.includes(replacement) && !isReplacement(coded) ? null : text
}

/** Returns the length of a character of UTF-8 by its first byte; 1 if that begins none. */
function lengthFrom(first: number): number {
  if (first < 0xc2 || first > 0xf4) return 1
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte < 0xc0
}

/** Returns true for the bytes of the replacement character itself, which a name may have. */
function isReplacement([first, second, third]: Uint8Array): boolean {
  return first === 0xef && second === 0xbf && third === 0xbd
}

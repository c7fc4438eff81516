/**
 * The first bytes of the image formats that models read, as in PNG 5.2, JPEG (T.81) B.1.1.3,
 * GIF89a 17 and RFC 9649, 2.3 (WebP).
 */
const signatures: readonly { readonly type: string; readonly matches: (text: string) => boolean }[] = [
  { type: 'image/png', matches: (text) => text.startsWith('\x89PNG\r\n\x1a\n') },
  { type: 'image/jpeg', matches: (text) => text.startsWith('\xff\xd8\xff') },
  { type: 'image/gif', matches: (text) => /^GIF8[79]a/.test(text) },
  { type: 'image/webp', matches: (text) => text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP' },
]

/** The bytes of a file that tell its type. */
export const typeBytes = 16

/** Returns the media type of an image by its first bytes. Returns null for any other content. */
export function imageType(bytes: Uint8Array): string | null {
  const text = Buffer.from(bytes.subarray(0, typeBytes)).toString('latin1')
  return signatures.find(({ matches }) => matches(text))?.type ?? null
}

/** Returns true if the beginning of a file is not text: it has a NUL. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8192).includes(0)
}

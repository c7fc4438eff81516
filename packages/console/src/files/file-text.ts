/** The maximum number of bytes of a file that the editor opens. */
export const editableBytes = 2 ** 20

/** The bytes of a larger file that are shown. */
export const shownBytes = 64 * 1024

/** The content of a file for the editor. */
export type FileText =
  | {
      readonly type: 'text'
      readonly text: string
      /** The encoding. The editor writes UTF-8 only. */
      readonly encoding: Encoding
      readonly lineBreak: '\n' | '\r\n'
    }
  | { readonly type: 'binary' }

type Encoding = 'UTF-8' | 'UTF-16LE' | 'UTF-16BE' | 'windows-1252'

/**
 * Returns the content of a file as text, or that it is binary. A file with a NUL byte is binary, as
 * for Git. Text of another encoding than UTF-8 can be shown, and not be written back.
 */
export function fileText(bytes: Uint8Array): FileText {
  const marked = markedEncoding(bytes)
  if (marked !== null) return textIn(marked, bytes)
  if (bytes.includes(0)) return { type: 'binary' }
  try {
    return asText(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), 'UTF-8')
  } catch {
    // It is not UTF-8. Every sequence of bytes is text in windows-1252, as browsers read it.
    return textIn('windows-1252', bytes)
  }
}

/** Returns the beginning of a file that is too large for the editor. A character may be cut. */
export function beginningText(bytes: Uint8Array): FileText {
  const cut = bytes.subarray(0, shownBytes)
  for (let left = 0; left < 4; left += 1) {
    const found = fileText(cut.subarray(0, cut.length - left))
    if (found.type === 'binary' || found.encoding !== 'windows-1252') return found
  }
  return fileText(cut)
}

/** Returns the encoding that a file declares by its first bytes, other than UTF-8. */
function markedEncoding([first, second]: Uint8Array): Encoding | null {
  if (first === 0xff && second === 0xfe) return 'UTF-16LE'
  return first === 0xfe && second === 0xff ? 'UTF-16BE' : null
}

function textIn(encoding: Encoding, bytes: Uint8Array): FileText {
  return asText(new TextDecoder(encoding).decode(bytes), encoding)
}

function asText(text: string, encoding: Encoding): FileText {
  const ends = text.match(/\r?\n/g) ?? []
  // In a file with both kinds, the carriage returns stay characters of their lines.
  const lineBreak = ends.length > 0 && ends.every((end) => end === '\r\n') ? '\r\n' : '\n'
  return { type: 'text', text, encoding, lineBreak }
}

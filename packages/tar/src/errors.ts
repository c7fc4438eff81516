/**
 * An error of hostile or damaged input at one entry. It names the entry. Failures of the disk are
 * ordinary system errors instead.
 */
export class EntryError<Code extends string = string> extends Error {
  readonly code: Code
  /**
   * The entry's path as text, with U+FFFD for bytes that are not UTF-8. Empty if no entry is known
   * yet.
   */
  readonly path: string
  /** The fault, without the code and the path. */
  readonly detail: string

  constructor(code: Code, path: Uint8Array | string, detail: string) {
    const text = typeof path === 'string' ? path : Buffer.from(path).toString('utf8')
    super(`${code}: ${detail}${text === '' ? '' : ` (${quote(text)})`}`)
    this.name = 'EntryError'
    this.code = code
    this.path = text
    this.detail = detail
  }
}

/** The fault of an archive. Every hostile or damaged archive ends in exactly one of these. */
export type TarErrorCode = 'tar_malformed' | 'tar_truncated' | 'tar_type_unsupported'

/** An error of an archive that cannot be read. */
export class TarError extends EntryError<TarErrorCode> {
  override readonly name = 'TarError'
}

/**
 * Quotes and shortens a path: control characters would forge log lines, and a path of 1 MiB would
 * flood them.
 */
function quote(text: string): string {
  return JSON.stringify(text.length > 256 ? `${text.slice(0, 256)}...` : text)
}

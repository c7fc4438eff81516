/** The fault of an input. Every hostile or damaged input ends in exactly one of these. */
export type ErofsInputErrorCode =
  | 'path_invalid'
  | 'path_too_long'
  | 'name_too_long'
  | 'parent_not_directory'
  | 'root_not_directory'
  | 'link_target_missing'
  | 'link_target_is_directory'
  | 'symlink_target_invalid'
  | 'number_out_of_range'
  | 'size_mismatch'
  | 'xattr_invalid'
  | 'too_many_entries'
  | 'metadata_too_large'
  | 'image_too_large'
  | 'tar_malformed'
  | 'tar_truncated'
  | 'tar_type_unsupported'
  | 'base_mismatch'
  | 'image_malformed'

/**
 * An error of an input that cannot become an image. It names the entry. Failures of the disk are
 * ordinary system errors instead.
 */
export class ErofsInputError extends Error {
  readonly code: ErofsInputErrorCode
  /**
   * The entry's path as text, with U+FFFD for bytes that are not UTF-8. Empty if no entry is known
   * yet.
   */
  readonly path: string

  constructor(code: ErofsInputErrorCode, path: Uint8Array | string, detail: string) {
    const text = typeof path === 'string' ? path : Buffer.from(path).toString('utf8')
    super(`${code}: ${detail}${text === '' ? '' : ` (${quote(text)})`}`)
    this.name = 'ErofsInputError'
    this.code = code
    this.path = text
  }
}

/**
 * Quotes and shortens a path: control characters would forge log lines, and a path of 1 MiB would
 * flood them.
 */
function quote(text: string): string {
  return JSON.stringify(text.length > 256 ? `${text.slice(0, 256)}...` : text)
}

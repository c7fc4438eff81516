import { EntryError } from '@holt/tar'

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
  | 'base_mismatch'
  | 'image_malformed'

/** An error of an input that cannot become an image. */
export class ErofsInputError extends EntryError<ErofsInputErrorCode> {
  override readonly name = 'ErofsInputError'
}

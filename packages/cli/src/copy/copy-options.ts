/** The options of a copy. */
export interface CopyOptions {
  readonly recursive?: boolean
  readonly overwrite?: boolean
  readonly user?: string
}

/** The form of a list: a table, only the names, or the API's own objects. */
export interface ListOptions {
  readonly quiet?: boolean
  readonly json?: boolean
}

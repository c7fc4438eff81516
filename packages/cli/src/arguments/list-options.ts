/** How every list is printed: a table, only what names each thing, or the API's own objects. */
export interface ListOptions {
  readonly quiet?: boolean
  readonly json?: boolean
}

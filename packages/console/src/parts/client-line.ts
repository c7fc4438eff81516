/** A request in the words of one client. */
export interface ClientLine {
  /** The name of the client: `Python`. */
  readonly client: string
  readonly text: string
}

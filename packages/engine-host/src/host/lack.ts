/**
 * The reason why a class is missing on this host. `fix` is a command. If it is null, the reason
 * says what to do.
 */
export interface Lack {
  readonly reason: string
  readonly fix: string | null
}

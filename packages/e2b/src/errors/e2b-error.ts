/** The further parts of an error. */
interface ErrorParts {
  /** The word by which clients tell errors of one status apart. */
  readonly errorCode?: string
  /** Further fields of the body. */
  readonly fields?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** An error as clients receive it: the status, and a body that repeats the status as a number. */
export class E2bError extends Error {
  override readonly name = 'E2bError'
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, { errorCode, fields = {}, headers = {}, cause }: ErrorParts = {}) {
    super(message, { cause })
    this.status = status
    this.body = { ...fields, code: status, message, ...(errorCode === undefined ? {} : { error_code: errorCode }) }
    this.headers = headers
  }
}

/**
 * Returns the error for a sandbox that has ended, is paused, belongs to somebody else or never
 * existed. Clients recognise it by `was not found`.
 */
export function sandboxGone(sandboxId: string): E2bError {
  return new E2bError(502, 'The sandbox was not found', { fields: { sandboxId } })
}

/** Returns the error for a port on which nothing listens. Clients recognise it by its words. */
export function portClosed(sandboxId: string, port: number): E2bError {
  return new E2bError(502, 'The sandbox is running but port is not open', { fields: { sandboxId, port } })
}

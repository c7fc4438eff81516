/**
 * The codes of Connect errors with the HTTP status of each in the answer to a unary call
 * (connectrpc.com/docs/protocol, "Error codes").
 */
export const connectStatuses = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
} as const satisfies Record<string, number>

export type ConnectCode = keyof typeof connectStatuses

/** An error that a client of an RPC receives. Its message has no secret and no path of the host. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError'
  readonly code: ConnectCode
  /** The HTTP status of answers that are not RPCs. By default it is that of the code. */
  readonly status: number

  constructor(code: ConnectCode, message: string, { status, ...options }: ErrorOptions & { status?: number } = {}) {
    super(message, options)
    this.code = code
    this.status = status ?? connectStatuses[code]
  }
}

/**
 * The reason why a request is abandoned: its client is gone. It is not a failure of the service.
 */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** The counted status if a client disconnected before its answer began. */
export const clientLeft = 499

import { serveStdio as serveConnection } from '@modelcontextprotocol/server/stdio'
import { makeServer, type ServerFacts } from './make-server.ts'
import type { Session } from './session/session.ts'

/** A connection over stdin and stdout. */
export interface StdioConnection {
  /** Ends the connection. */
  close(): Promise<void>
}

/**
 * Serves one client over stdin and stdout, in the revision of the protocol that it opens with.
 * `onError` hears of faults on the connection, which the client hears of as well.
 */
export function serveStdio(
  session: Session,
  facts: ServerFacts,
  onError: (error: Error) => void = () => undefined,
): StdioConnection {
  return serveConnection(() => makeServer(session, facts), { onerror: onError })
}

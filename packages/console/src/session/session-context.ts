import { Holt } from '@holt/sdk'
import { createContext, useContext } from 'react'
import { watchedFetch } from '../service/connection.ts'
import { consoleHeader, consoleProtocolPrefix, pageToken } from './page-token.ts'
import type { Session } from './sessions.ts'

/** The session that this tab uses, and the others of the browser. */
export interface CurrentSession {
  readonly session: Session
  readonly sessions: readonly Session[]
  /** The client of the service, with the session's key. */
  readonly holt: Holt
  /** Switches this tab to another session. */
  use(session: Session): void
}

/** The context of the session. It has a value below `SignedIn`. */
export const SessionContext = createContext<CurrentSession | null>(null)

/** Returns the session that this tab uses. */
export function useSession(): CurrentSession {
  const current = useContext(SessionContext)
  if (current === null) throw new Error('this part of the console needs a session')
  return current
}

/** Makes the client of a session. Its cookie and the page's token prove it. */
export function clientOf({ key_id }: Session): Holt {
  return new Holt({
    url: location.origin,
    maxRetries: 2,
    webSocket: class extends WebSocket {
      constructor(url: string, protocols: readonly string[]) {
        super(url, [...protocols, `${consoleProtocolPrefix}${key_id}.${pageToken()}`])
      }
    },
    fetch: (input, init = {}) =>
      watchedFetch(input, {
        ...init,
        headers: { ...(init.headers as Record<string, string>), [consoleHeader]: `${key_id}.${pageToken()}` },
      }),
  })
}

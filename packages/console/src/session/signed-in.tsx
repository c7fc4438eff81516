import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Frame } from '../parts/frame.tsx'
import { sessionsKey } from '../service/query-client.ts'
import { isOpenedByPerson } from './is-opened-by-person.ts'
import { LinkQuestion } from './link-question.tsx'
import { clientOf, SessionContext } from './session-context.ts'
import { listSessions, type Session, signIn } from './sessions.ts'
import { SignInPage } from './sign-in-page.tsx'

/** The place of the key that this tab uses. Its id is no secret. */
const chosenKey = 'holt.key'

/** The exchanges of codes, each once, although React may run an effect twice. */
const exchanges = new Map<string, Promise<Session>>()

/** Shows its children with a session, and the page to sign in without one. */
export function SignedIn({ code, children }: { readonly code: string | null; readonly children: ReactNode }) {
  const queries = useQueryClient()
  const [linkError, setLinkError] = useState<unknown>(null)
  const [isLinking, setLinking] = useState(code !== null)
  const [isAllowed, setAllowed] = useState(false)
  const [chosen, setChosen] = useState(() => sessionStorage.getItem(chosenKey))
  const sessions = useQuery({ queryKey: sessionsKey, queryFn: listSessions, refetchInterval: 60_000 })
  const session = sessions.data?.find(({ key_id }) => key_id === chosen) ?? sessions.data?.[0]

  const use = ({ key_id }: Session) => {
    sessionStorage.setItem(chosenKey, key_id)
    setChosen(key_id)
  }
  const enter = (entered: Session) => {
    use(entered)
    queries.setQueryData<readonly Session[]>(sessionsKey, (known = []) => [
      ...known.filter(({ key_id }) => key_id !== entered.key_id),
      entered,
    ])
    void queries.invalidateQueries({ queryKey: sessionsKey })
  }
  // Anybody can send a link to a project of theirs, or open it in this browser by a page. A person
  // would not notice it, and would give secrets to that project.
  const mayExchange = isAllowed || (sessions.data?.length === 0 && isOpenedByPerson())
  useEffect(() => {
    if (code === null || !mayExchange) return
    const exchange = exchanges.get(code) ?? signIn({ code })
    exchanges.set(code, exchange)
    exchange.then(enter, setLinkError).finally(() => setLinking(false))
  }, [code, mayExchange])

  const holt = useMemo(() => (session === undefined ? null : clientOf(session)), [session?.key_id])
  if (isLinking && sessions.data !== undefined && !mayExchange)
    return <LinkQuestion session={session ?? null} onAnswer={(is) => (is ? setAllowed(true) : setLinking(false))} />
  if (session !== undefined && holt !== null && sessions.data !== undefined && !isLinking)
    return (
      // Another key sees other things: nothing of the earlier page remains.
      <SessionContext key={session.key_id} value={{ session, sessions: sessions.data, holt, use }}>
        {children}
      </SessionContext>
    )
  if (isLinking || sessions.isPending) return <Frame label="Loading" />
  if (sessions.isError)
    return (
      <Frame label="The service does not answer">
        <ErrorNotice error={sessions.error} />
      </Frame>
    )
  return <SignInPage error={linkError} onSignedIn={enter} />
}

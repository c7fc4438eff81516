import { errorOfAnswer, type Scope } from '@holt/sdk'
import { watchedFetch } from '../service/connection.ts'
import { consoleHeader, pageToken } from './page-token.ts'

/** A session of this browser: one key, with its project. */
export interface Session {
  readonly key_id: string
  readonly key_name: string
  readonly project_id: string
  readonly project_name: string
  readonly scopes: readonly Scope[]
}

/** Returns the sessions of this browser. */
export async function listSessions(): Promise<readonly Session[]> {
  const { sessions } = (await ask('GET', '/console/session')) as { readonly sessions: readonly Session[] }
  return sessions
}

/** Signs in with a key, or with the code of a link. */
export async function signIn(proof: { readonly key: string } | { readonly code: string }): Promise<Session> {
  const headers: Record<string, string> =
    'key' in proof ? { authorization: `Bearer ${proof.key}` } : { 'x-holt-link-code': proof.code }
  return (await ask('POST', '/console/session', headers)) as Session
}

/** Ends a session, here and wherever else its cookie is. */
export async function signOut({ key_id }: Session): Promise<void> {
  await ask('DELETE', `/console/session/${key_id}`)
}

async function ask(method: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const response = await watchedFetch(path, { method, headers: { [consoleHeader]: pageToken(), ...headers } })
  const text = await response.text()
  if (!response.ok) throw errorOfAnswer(response, text)
  return text === '' ? null : JSON.parse(text)
}

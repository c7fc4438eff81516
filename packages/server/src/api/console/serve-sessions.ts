import { HoltError } from '@holt/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { noteCaller } from '../../foundation/request/request-context.ts'
import { moment } from '../../foundation/store/moment.ts'
import { beginEntry } from '../../tenancy/audit/audit-request.ts'
import { authenticateSession } from '../../tenancy/auth/authenticate-session.ts'
import { credentialName } from '../../tenancy/auth/open-streams.ts'
import { requireOwnPage, sessionProof } from '../../tenancy/auth/proof-of.ts'
import { knownKeys, validCredentials } from '../../tenancy/auth/valid-credentials.ts'
import { claimsIn, consoleCookie, removedCookies } from '../../tenancy/console/console-cookie.ts'
import { beginSession, endSession, sessionDigest } from '../../tenancy/console/console-sessions.ts'
import type { LinkGrant } from '../../tenancy/console/link-codes.ts'
import { consoleHeader, isSecurePage, type PageClaim, pageClaimOf } from '../../tenancy/console/own-page.ts'
import { findProject } from '../../tenancy/projects/find-project.ts'
import type { Api } from '../api.ts'
import { callerOf } from '../http/register-routes.ts'

/** The header with the code of a link. A code in a body or an address could end up in a log. */
const codeHeader = 'x-holt-link-code'

/** The maximum number of keys that one browser is signed in with. */
const mostKeys = 20

/**
 * Serves the sessions of browsers: sign in, list, sign out, and links that sign in. They are not in
 * the route table, because they concern cookies, which programs do not use.
 */
export function serveSessions(app: FastifyInstance, service: Api): void {
  app.post('/console/session', (request, reply) => signIn(service, request, reply))
  app.get('/console/session', { exposeHeadRoute: false }, (request, reply) => listSessions(service, request, reply))
  app.delete('/console/session/:key_id', (request, reply) => signOut(service, request, reply))
  app.post('/console/link', (request, reply) => makeLink(service, request, reply))
}

/** Exchanges a key, or the code of a link, for a session in a cookie. */
async function signIn(service: Api, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { page } = requireConsole(request)
  if (claimsIn(request.headers).length >= mostKeys)
    throw new HoltError('conflict', `This browser is signed in with ${mostKeys} keys.`, {
      hint: 'Sign out of one of them first.',
    })
  const code = request.headers[codeHeader]
  const caller =
    code === undefined
      ? await callerOf(service, request, reply, request.headers.authorization)
      : await callerOfCode(service, String(code), clientAddress(request.raw))
  noteCaller(caller)
  beginEntry(service, { name: 'console.signIn', kind: 'change', caller, request, reply })
  const token = await beginSession(service, caller, page)
  const { keyId } = caller
  service.log.info({ key_id: keyId, project_id: caller.projectId }, 'a browser signed in to the console')
  return reply
    .code(201)
    .headers({
      'set-cookie': consoleCookie({ keyId, token }, isSecurePage(request)),
      'cache-control': 'no-store',
    })
    .send(await present(service, caller))
}

/**
 * Lists the sessions of a browser that are valid, and removes the cookies of those that have ended.
 * Another service on another port of this host may have set cookies for keys that are unknown here.
 */
async function listSessions(service: Api, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { page } = requireConsole(request)
  const claims = claimsIn(request.headers).slice(0, mostKeys)
  const own = await knownKeys(
    service.store.db,
    claims.map(({ keyId }) => keyId),
  )
  const found = await Promise.all(
    claims
      .filter(({ keyId }) => own.has(keyId))
      .map(async ({ keyId, token }) => ({
        keyId,
        caller: await authenticateSession(service, { keyId, token, page }).catch(nullIfEnded),
      })),
  )
  const callers = found.flatMap(({ caller }) => caller ?? [])
  const ended = found.flatMap(({ keyId, caller }) => (caller === null ? removedCookies(keyId) : []))
  const sessions = await Promise.all(callers.map((caller) => present(service, caller)))
  return reply
    .headers({ 'cache-control': 'no-store', ...(ended.length === 0 ? {} : { 'set-cookie': ended }) })
    .send({ sessions })
}

function nullIfEnded(error: unknown): null {
  if (error instanceof HoltError && error.code === 'unauthenticated') return null
  throw error
}

/** Ends a session and its streams, here and in every browser that has its cookie. */
async function signOut(service: Api, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { page } = requireConsole(request)
  const { key_id: keyId } = request.params as { readonly key_id: string }
  const claim = sessionProof(request, `${keyId}.${page}`)
  const digest = sessionDigest(claim)
  const caller = await authenticateSession(service, claim).catch(nullIfEnded)
  if (caller !== null) {
    noteCaller(caller)
    beginEntry(service, { name: 'console.signOut', kind: 'change', caller, request, reply })
    await endSession(service, digest)
    service.likelyProjects.forget(digest)
    service.streams.cutSession(digest)
    await service.changesElsewhere.apply({ type: 'session', digest })
  }
  // The last session of a browser leaves nothing of the console in its storage.
  const isLast = claimsIn(request.headers).length === 1
  return reply
    .code(204)
    .headers({ 'set-cookie': [...removedCookies(keyId)], ...(isLast ? { 'clear-site-data': '"storage"' } : {}) })
    .send()
}

/** Makes the code of a link for a key, which the client itself puts into an address. */
async function makeLink(service: Api, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const caller = await callerOf(service, request, reply, request.headers.authorization)
  noteCaller(caller)
  beginEntry(service, { name: 'console.makeLink', kind: 'change', caller, request, reply })
  const { code, expiresAt } = service.linkCodes.make(caller)
  return reply
    .code(201)
    .header('cache-control', 'no-store')
    .send({ code, expires_at: moment(expiresAt) })
}

async function callerOfCode(service: Api, code: string, peer: string | undefined): Promise<LinkGrant> {
  const grant = service.linkCodes.take(code)
  const valid = await validCredentials(service.store.db, [grant?.keyId ?? ''], service.now())
  if (grant !== null && valid.has(credentialName(grant))) return grant
  service.audit.failedAuthentication(peer ?? 'unknown')
  service.rates.noteFailure(peer)
  throw new HoltError('unauthenticated', 'The link was used already, or is older than a minute.', {
    hint: 'Run holt console again.',
  })
}

/** Returns the token of the page that sent a request. Refuses a request of another page. */
function requireConsole(request: FastifyRequest): PageClaim {
  requireOwnPage(request.raw)
  const claim = pageClaimOf(request.headers[consoleHeader])
  if (claim !== null) return claim
  throw new HoltError('forbidden', `The header ${consoleHeader} has no token of a page.`, {
    hint: 'Load the console again.',
  })
}

/** Returns a session as the console reads it. */
async function present(service: Api, { keyId, keyName, projectId, scopes }: LinkGrant) {
  const { name } = await findProject(service.store.db, projectId)
  return { key_id: keyId, key_name: keyName, project_id: projectId, project_name: name, scopes: [...scopes] }
}

import { z } from 'zod'
import { bytesOf, refuseFailure } from './answers.ts'
import { readChallenges } from './challenge.ts'
import type { Answer, Wire } from './exchange.ts'
import { followed, type Journey } from './redirects.ts'
import { TransferError } from './transfer-error.ts'

/** The name and password of a user of a registry. */
export interface Login {
  readonly username: string
  readonly password: string
}

/** The maximum size of a token answer in bytes. Tokens of large registries have a few KiB. */
const maxTokenAnswerBytes = 256 * 1024

const TokenAnswer = z.object({ token: z.string().optional(), access_token: z.string().optional() })

/** The request to a realm. */
interface TokenWish {
  readonly repository: string
  readonly login: Login | null
  readonly rules: Pick<Journey, 'isOperators' | 'mayBePlain'>
}

/**
 * Returns the `Authorization` that a registry's 401 asks for: a token of its realm
 * (distribution-spec, "token authentication"), or name and password. Returns null if there is no
 * suitable one.
 */
export async function authorize(
  wire: Wire,
  refusal: Answer,
  wish: TokenWish,
  signal: AbortSignal,
): Promise<string | null> {
  const challenges = readChallenges([refusal.headers['www-authenticate'] ?? ''].flat().join(', '))
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer')?.parameters
  if (bearer?.realm !== undefined)
    return `Bearer ${await tokenOf(wire, { ...bearer, realm: bearer.realm }, wish, signal)}`
  const basic = challenges.some(({ scheme }) => scheme === 'basic')
  return basic && wish.login !== null ? basicOf(wish.login) : null
}

async function tokenOf(
  wire: Wire,
  bearer: { readonly realm: string; readonly service?: string; readonly scope?: string },
  { repository, login, rules }: TokenWish,
  signal: AbortSignal,
): Promise<string> {
  if (!URL.canParse(bearer.realm)) throw new TransferError('invalid', 'The registry names no realm for its tokens.')
  const url = new URL(bearer.realm)
  if (bearer.service !== undefined) url.searchParams.set('service', bearer.service)
  url.searchParams.set('scope', bearer.scope ?? `repository:${repository}:pull`)
  const authorization = login === null ? null : basicOf(login)
  const journey = { url, method: 'GET', headers: { accept: 'application/json' }, authorization, ...rules } as const
  const answer = await followed(wire, journey, signal)
  try {
    refuseFailure(answer, url.host)
    const parsed = TokenAnswer.safeParse(parseJson(await textOf(answer)))
    const token = parsed.data?.token ?? parsed.data?.access_token
    // A token may have only characters that are allowed in a header.
    if (token === undefined || !/^[\x21-\x7e]+$/.test(token))
      throw new TransferError('invalid', `${url.host} answers without a valid token.`)
    return token
  } finally {
    answer.close()
  }
}

async function textOf({ body, url }: Answer): Promise<string> {
  return Buffer.from(await bytesOf(body, maxTokenAnswerBytes, url.host)).toString('utf8')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // A text that is no JSON is no token either.
  }
}

function basicOf({ username, password }: Login): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

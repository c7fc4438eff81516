import { X509Certificate } from 'node:crypto'
import { z } from 'zod'

/** The beginning of the text of each token, with the version of its form. */
const prefix = 'holt-join-1.'

/** The maximum number of characters of a token. */
const maxLength = 16 * 1024

/** The maximum number of fronts that a token names. */
export const maxFronts = 64

const Content = z.strictObject({
  ca: z.string(),
  fronts: z.array(z.string()).min(1).max(maxFronts),
  id: z.string().max(64),
  secret: z.string().max(128),
})

/** A token with which workers join a fleet. */
export interface JoinToken {
  /** The certificate of the fleet's authority, in PEM. The worker trusts no other. */
  readonly ca: string
  /** The addresses of the listeners of fronts: `10.1.2.3:4659`. */
  readonly fronts: readonly string[]
  readonly id: string
  readonly secret: string
}

/** Returns the text of a token: one word, for a file. */
export function joinTokenText(token: JoinToken): string {
  return `${prefix}${Buffer.from(JSON.stringify(token)).toString('base64url')}`
}

/** Reads the text of a token. Throws an error for the operator if it has another form. */
export function readJoinToken(text: string): JoinToken {
  const word = text.trim()
  try {
    if (!word.startsWith(prefix) || word.length > maxLength) throw new Error('it has another form')
    const token = Content.parse(JSON.parse(Buffer.from(word.slice(prefix.length), 'base64url').toString()))
    if (!new X509Certificate(token.ca).ca) throw new Error('its certificate is not that of an authority')
    return token
  } catch (cause) {
    // The error does not repeat the content.
    throw new Error('the join token is damaged: make a new one with holt fleet token', { cause })
  }
}

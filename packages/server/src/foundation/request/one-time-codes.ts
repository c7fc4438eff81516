import { createHash, randomBytes } from 'node:crypto'

/** The time for which a code works, in milliseconds: a browser may have to start first. */
const validMs = 60_000

/**
 * The maximum number of codes at a time, of all projects and of one. The oldest are forgotten
 * first.
 */
const mostCodes = 1000
const mostOfProject = 32

interface Kept<Grant> {
  readonly grant: Grant
  readonly expiresAt: number
}

/**
 * Codes that stand for something in an address. Each works once, and for a minute, so an address in
 * a history or a log is worthless. They are kept in memory only, by their digests, so a lookup does
 * not reveal how close a guess is.
 */
export class OneTimeCodes<Grant extends { readonly projectId: string }> {
  readonly #codes = new Map<string, Kept<Grant>>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Makes a code of 43 characters: letters, digits, `-` and `_`. */
  make(grant: Grant): { readonly code: string; readonly expiresAt: number } {
    const code = randomBytes(32).toString('base64url')
    const expiresAt = this.#now() + validMs
    this.#codes.set(digestOf(code), { grant, expiresAt })
    const ofProject = [...this.#codes].filter(([, kept]) => kept.grant.projectId === grant.projectId)
    const [oldest] = ofProject.length > mostOfProject ? ofProject.map(([digest]) => digest) : this.#codes.keys()
    if ((ofProject.length > mostOfProject || this.#codes.size > mostCodes) && oldest !== undefined)
      this.#codes.delete(oldest)
    return { code, expiresAt }
  }

  /** Returns what a code stands for, and forgets it. Null if it is unknown, used or too old. */
  take(code: string): Grant | null {
    const digest = digestOf(code)
    const kept = this.#codes.get(digest)
    this.#codes.delete(digest)
    return kept === undefined || kept.expiresAt <= this.#now() ? null : kept.grant
  }
}

function digestOf(code: string): string {
  return createHash('sha256').update(code).digest('hex')
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../../../e2e/support/api.ts'
import type { Chance } from '../chance.ts'
import type { Ask } from './ask.ts'
import type { Ledger } from './ledger.ts'

/** What a request is answered with, as tests look into it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Json = any

/**
 * How often a request is sent again that was answered that it may come again, and how long after.
 */
const again = { times: 10, waitMs: 300 }

/** A request that changes something. */
export interface Change {
  readonly send: () => Promise<Answer>
  /** Each time before it is sent: from then on it may have been done. */
  readonly begin?: () => void
  readonly acknowledge: (json: Json) => void
  /** The status of success. Default 201. */
  readonly expected?: readonly number[]
  /** That of one that is sent again after it was done. */
  readonly expectedAgain?: readonly number[]
  /** Whether an error is no surprise. */
  readonly refused?: (code: string) => boolean
  /** It was answered that nothing came of it, though it may come again. */
  readonly gaveUp?: () => void
  /**
   * Whether it is sent until it is known what became of it. What else can be seen is left open now
   * and then.
   */
  readonly mustBeKnown: boolean
}

/**
 * The requests of one worker, one after another. What is acknowledged is written down; what is lost
 * with the daemon is sent again when there is another.
 */
export class Requests {
  readonly #ledger: Ledger
  readonly #chance: Chance
  #lost: Change | null = null
  /** Answers that say neither yes nor come again. */
  readonly surprises: string[] = []

  constructor(ledger: Ledger, chance: Chance) {
    this.#ledger = ledger
    this.#chance = chance
  }

  /** Whether an answer was lost. */
  get isLost(): boolean {
    return this.#lost !== null
  }

  /** Sends a request until it is answered, or the daemon is gone. */
  make(change: Change): Promise<void> {
    return this.#send(change, false)
  }

  /** Finds out what became of the request whose answer was lost, or leaves that to who looks. */
  async recover(): Promise<void> {
    const lost = this.#lost
    this.#lost = null
    if (lost === null || (!lost.mustBeKnown && this.#chance.below(2) === 0)) return
    await this.#send(lost, true)
    if (this.#lost !== null) throw new Error('an answer was lost though nobody has killed the daemon')
  }

  async #send(change: Change, wasSent: boolean): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      change.begin?.()
      const answer = await change.send().catch(() => null) // The daemon dies while it answers.
      if (answer === null) {
        this.#lost = change
        return
      }
      if (this.#settle(change, answer, wasSent || tries > 0)) return
      change.gaveUp?.()
      if (!change.mustBeKnown) return
      if (tries >= again.times) throw new Error(`answered ${tries} times: ${answer.status} ${answer.text}`)
      await sleep(again.waitMs)
    }
  }

  /** Whether this is the last answer. */
  #settle(change: Change, { status, text }: Answer, isAgain: boolean): boolean {
    const { acknowledge, expected = [201], expectedAgain = [], refused = () => false } = change
    if (expected.includes(status) || (isAgain && expectedAgain.includes(status))) {
      this.#ledger.acknowledged += 1
      acknowledge(text === '' || status >= 300 ? null : JSON.parse(text))
      return true
    }
    if (status === 503 || status === 429) return false
    if (!refused(JSON.parse(text).error.code)) this.surprises.push(`${status} ${text}`)
    return true
  }
}

/** A POST that is one request however often it is sent. */
export function keyed(ask: Ask, path: string, json: object): Change['send'] {
  const headers = { 'idempotency-key': crypto.randomUUID() }
  return () => ask('POST', path, { json, headers })
}

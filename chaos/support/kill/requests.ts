import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../../../e2e/support/api.ts'
import type { Chance } from '../chance.ts'
import type { Ask } from './ask.ts'
import type { Ledger } from './ledger.ts'

/** The body of an answer, as tests inspect it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Json = any

/**
 * The number of times that a refused request is retried, and the pause before each, in
 * milliseconds.
 */
const again = { times: 10, waitMs: 300 }

/** A request that changes something. */
export interface Change {
  readonly send: () => Promise<Answer>
  /** Called each time before it is sent. From then on the change may have been made. */
  readonly begin?: () => void
  readonly acknowledge: (json: Json) => void
  /** The status of success. Default 201. */
  readonly expected?: readonly number[]
  /** The statuses of success of a request that is repeated after it succeeded. */
  readonly expectedAgain?: readonly number[]
  /** Returns true if an error code is expected. */
  readonly refused?: (code: string) => boolean
  /** Called after an answer that the request failed, but may be retried. */
  readonly gaveUp?: () => void
  /**
   * True if it is repeated until its result is known. For other changes the result sometimes stays
   * open, because it can be seen later.
   */
  readonly mustBeKnown: boolean
}

/**
 * The requests of one worker, one after another. Records acknowledged changes. If an answer is lost
 * with the daemon, repeats the request with the next one.
 */
export class Requests {
  readonly #ledger: Ledger
  readonly #chance: Chance
  #lost: Change | null = null
  /** Answers that are neither a success nor a request to retry. */
  readonly surprises: string[] = []

  constructor(ledger: Ledger, chance: Chance) {
    this.#ledger = ledger
    this.#chance = chance
  }

  /** Returns true if an answer was lost. */
  get isLost(): boolean {
    return this.#lost !== null
  }

  /** Sends a request until it is answered, or the daemon is gone. */
  make(change: Change): Promise<void> {
    return this.#send(change, false)
  }

  /**
   * Determines the result of the request whose answer was lost, or leaves it open for a later
   * check.
   */
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

  /** Returns true if this is the final answer. */
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

/** Returns a POST that counts as one request, however often it is sent. */
export function keyed(ask: Ask, path: string, json: object): Change['send'] {
  const headers = { 'idempotency-key': crypto.randomUUID() }
  return () => ask('POST', path, { json, headers })
}

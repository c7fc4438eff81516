import { HoltError } from '@holt/protocol'
import type { Log } from '../../foundation/log.ts'
import { RecentMap } from '../../foundation/recent-map.ts'
import { type PeerLinks, Unreachable } from '../peers/peer-links.ts'
import { askPeer } from '../peers/peer-verbs.ts'

/** The maximum number of fronts that are asked. */
const mostAsked = 3

/** The maximum number of projects whose fronts are remembered. */
const mostKept = 10_000

/** A question of a worker to the fronts. */
export interface FrontQuestion {
  readonly path: string
  /** The project of the question. The front that has sent its last request is asked first. */
  readonly projectId: string
  readonly question: unknown
  /** The time for an answer of one front, in milliseconds. */
  readonly answerMs: number
}

/** The parts of the questions to fronts. */
interface FrontQuestionsParts {
  readonly links: PeerLinks
  /** Returns the ids of the hosts that have the keys of the fleet and answer. */
  readonly fronts: () => readonly string[]
  readonly log: Log
}

/** The questions of a worker to the hosts that have the keys of the fleet. */
export class FrontQuestions {
  readonly #parts: FrontQuestionsParts
  readonly #senders = new RecentMap<string, string>(mostKept)

  constructor(parts: FrontQuestionsParts) {
    this.#parts = parts
  }

  /** Notes that a front has sent a request of a project. It knows the errand. */
  noteSender(projectId: string, hostId: string): void {
    this.#senders.set(projectId, hostId)
  }

  /**
   * Asks one front after the other, three at most, and returns the first answer. Throws
   * `unavailable` if none answers in time, or if one refuses: it decides by the same rows as the
   * others.
   */
  async ask({ path, projectId, question, answerMs }: FrontQuestion): Promise<unknown> {
    const { links, log } = this.#parts
    const fronts = this.#inOrder(projectId)
    let last: unknown = new Unreachable('this worker knows no front that answers')
    for (const hostId of fronts) {
      try {
        return await askPeer(links, hostId, { path, question, signal: AbortSignal.timeout(answerMs) })
      } catch (err) {
        last = err
        log.warn({ err, host_id: hostId, path, project_id: projectId }, 'a front has not answered this worker')
        if (err instanceof HoltError && err.code === 'forbidden') break
      }
    }
    throw unavailable(last)
  }

  /**
   * Asks the first front that gets the question: it may have an effect. Throws the error of the
   * front, and `Unreachable` if none gets it.
   */
  async askOnce({
    path,
    projectId,
    question,
    signal,
  }: Omit<FrontQuestion, 'answerMs'> & { readonly signal: AbortSignal }): Promise<unknown> {
    for (const hostId of this.#inOrder(projectId)) {
      try {
        return await askPeer(this.#parts.links, hostId, { path, question, signal })
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error
        this.#parts.log.warn({ err: error, host_id: hostId, path }, 'a front was not reached by this worker')
      }
    }
    throw new Unreachable('this worker knows no front that answers')
  }

  #inOrder(projectId: string): readonly string[] {
    const fronts = this.#parts.fronts()
    const sender = this.#senders.get(projectId)
    const first = sender !== undefined && fronts.includes(sender) ? [sender] : []
    return [...first, ...fronts.filter((hostId) => hostId !== sender)].slice(0, mostAsked)
  }
}

function unavailable(cause: unknown): HoltError {
  const isRefused = cause instanceof HoltError && cause.code === 'forbidden'
  const message = isRefused
    ? 'A front has refused what the worker with the runtime needs for the request.'
    : 'The worker with the runtime reaches no front that opens what the request needs.'
  return new HoltError('unavailable', message, {
    details: { reason: isRefused ? 'refused_by_front' : 'no_front', retry_after_secs: 5 },
    cause,
  })
}

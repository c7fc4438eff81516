import { HoltError } from '@holt/protocol'
import { z } from 'zod'
import { Unreachable } from '../peers/peer-links.ts'
import type { FrontQuestions } from './front-questions.ts'
import { notReached, relayPath } from './relay-verbs.ts'

const OfProject = z.looseObject({ projectId: z.string() })

/** The questions of a worker to other hosts, which fronts pass on. */
export class RelayedQuestions {
  readonly #fronts: FrontQuestions

  constructor(fronts: FrontQuestions) {
    this.#fronts = fronts
  }

  /** Asks another host. Throws its error, and `Unreachable` if no front reaches it. */
  async ask(hostId: string, path: string, question: unknown, signal: AbortSignal): Promise<unknown> {
    const { projectId } = OfProject.parse(question)
    try {
      return await this.#fronts.askOnce({ path: relayPath, projectId, question: { hostId, path, question }, signal })
    } catch (error) {
      if (error instanceof HoltError && error.details?.reason === notReached)
        throw new Unreachable('the front does not reach the other host')
      throw error
    }
  }
}

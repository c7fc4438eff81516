import type { GuestLink, GuestRequest, GuestResponse } from '@holt/engine'
import { z } from 'zod'
import { type AnswerBudget, budgetOf } from '../answers/answer-budget.ts'
import { readAnswer, readFailure } from '../answers/read-answer.ts'

/** The answer to a request that may create something. */
interface Made<Answer> {
  /** True if it did not exist before. */
  readonly created: boolean
  readonly answer: Answer
}

/** An answer without fields. */
const Nothing = z.object({})

/**
 * Sends the requests of all parts of a client over one link, and reads their answers. Its methods
 * reject with `HoltError` for faults of the request, such as a missing path. For faults of the
 * guest or the link they reject with `EngineError`.
 */
export class RequestSender {
  /** The memory for unfinished answers, which all callers of the link share. */
  readonly budget: AnswerBudget
  readonly #link: GuestLink
  readonly #operation: () => string | null

  constructor(link: GuestLink, operation: () => string | null) {
    this.budget = budgetOf(link)
    this.#link = link
    this.#operation = operation
  }

  /** Sends a request and parses its answer. */
  async ask<Schema extends z.ZodType>(request: GuestRequest, schema: Schema): Promise<z.output<Schema>> {
    return (await this.make(request, schema)).answer
  }

  /** Sends a request whose answer says nothing. */
  async tell(request: GuestRequest): Promise<void> {
    await this.ask(request, Nothing)
  }

  /** Like `ask`, and tells whether something was created (the status 201). */
  async make<Schema extends z.ZodType>(request: GuestRequest, schema: Schema): Promise<Made<z.output<Schema>>> {
    const response = await this.#link.request(request)
    const answer = await readAnswer(response, schema, this.budget)
    return { created: response.status === 201, answer }
  }

  /** Sends a request and returns its answer unread. Rejects for any other status. */
  async open(request: GuestRequest, statuses: readonly number[] = [200]): Promise<GuestResponse> {
    const response = await this.#link.request(request)
    if (statuses.includes(response.status)) return response
    throw await readFailure(response, this.budget)
  }

  /**
   * Returns a request with the id of its operation, if there is one. The default is the present
   * operation. A request repeated under the same id is answered again and not done again.
   */
  once(request: GuestRequest, operation = this.#operation()): GuestRequest {
    if (operation === null) return request
    return { ...request, headers: { ...request.headers, 'x-holt-operation': operation } }
  }
}

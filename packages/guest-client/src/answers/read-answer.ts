import { GatheredBytes, oddShapeOf } from '@holt/async'
import { EngineError, type GuestResponse } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import type { z } from 'zod'
import type { AnswerBudget } from './answer-budget.ts'
import { answeredWrongly, refusedBy } from './answered-wrongly.ts'
import { GuestFailure, type GuestReason, type guestCodes } from './failure-schema.ts'
import { MissingRoute } from './missing-route.ts'

/**
 * The maximum number of bytes of one JSON answer of a guest. A page of 10,000 files is about 5 MiB.
 */
const maxAnswerBytes = 32 * 1024 * 1024

/**
 * Several times the shape of the largest answer. The parser takes over a GiB and five seconds for
 * 32 MiB of brackets.
 */
const shapeBounds = { maxDepth: 32, maxValues: 1_000_000 }

/** The maximum number of bytes of an error answer: a code and a sentence. */
const maxFailureBytes = 64 * 1024

/** Codes for a failure of the guest itself, not of the caller's request. */
const ownFailures: readonly (typeof guestCodes)[number][] = ['internal']

/** Statuses of success: done, created, and accepted for later. */
const goodStatuses: readonly number[] = [200, 201, 202]

/**
 * Reads an answer to its end and parses it. An error answer becomes `HoltError`; an answer that
 * violates the protocol becomes `EngineError` `wrong_answer`.
 */
export async function readAnswer<Schema extends z.ZodType>(
  response: GuestResponse,
  schema: Schema,
  budget: AnswerBudget,
): Promise<z.output<Schema>> {
  if (!goodStatuses.includes(response.status)) throw await readFailure(response, budget)
  const parsed = schema.safeParse(parseJson(await readBytes(response, { maxBytes: maxAnswerBytes, budget })))
  if (!parsed.success) throw refusedBy(parsed.error)
  return parsed.data
}

/** Remedies for reasons that the hint of their code does not cover. */
const hints: Partial<Readonly<Record<GuestReason, string>>> = {
  program_not_found:
    "Install it in the runtime, or give its path. A name without a slash is looked up in the runtime's PATH.",
  program_not_executable:
    'Make the file executable, and check that it is built for this machine and that the interpreter in its first line exists.',
}

/** Reads an error answer as the error that it stands for. */
export async function readFailure(response: GuestResponse, budget: AnswerBudget): Promise<HoltError | EngineError> {
  if (response.status < 400) {
    response.body.destroy()
    return answeredWrongly(`the status ${response.status}`)
  }
  const parsed = GuestFailure.safeParse(parseJson(await readBytes(response, { maxBytes: maxFailureBytes, budget })))
  if (!parsed.success) return answeredWrongly(`the status ${response.status} without saying why`)
  const { code, message, details } = parsed.data.error
  if (code === 'route_not_found') return new MissingRoute(message)
  if (ownFailures.includes(code)) return new EngineError('failed', `the guest failed: ${code}: ${message}`)
  if (details === undefined) return new HoltError(code, message)
  const hint = details.reason === undefined ? undefined : hints[details.reason]
  return new HoltError(code, message, { details, ...(hint === undefined ? {} : { hint }) })
}

async function readBytes(
  response: GuestResponse,
  { maxBytes, budget }: { maxBytes: number; budget: AnswerBudget },
): Promise<Buffer> {
  const answer = new GatheredBytes()
  let counted = 0
  try {
    // Leaving the loop with an error destroys the body, which resets its stream.
    for await (const chunk of response.body) {
      if (counted + chunk.length > maxBytes) throw answeredWrongly(`more than ${maxBytes} bytes`)
      budget.take(chunk.length)
      counted += chunk.length
      answer.add(chunk)
    }
    return answer.take()
  } finally {
    budget.give(counted)
  }
}

function parseJson(bytes: Buffer): unknown {
  if (oddShapeOf(bytes, shapeBounds) !== null) return undefined
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined // Not JSON is not the protocol: the schema refuses it.
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { type Holt, HoltConnectionError, HoltError, type Readiness, type TemplateData } from '@holt/sdk'
import { Progress } from '../output/progress.ts'
import { printable } from '../output/visible.ts'
import { ourCommand } from '../shell/our-command.ts'

/** The pause between two polls, in milliseconds. */
const pollMs = 200
/**
 * The longest wait, in milliseconds. The base template takes minutes if everything must be fetched.
 * A service that is not ready after this time is stuck.
 */
const longestWaitMs = 45 * 60_000

/** The service to wait for, and the signs that it will not become ready. */
export interface WaitOptions {
  /** Returns the client; null while there are no credentials yet. */
  readonly connect: () => Holt | null
  /** Throws if the service has ended. */
  readonly checkAlive: () => Promise<void>
  /** The moment of the start. Earlier failures of templates belong to an earlier start. */
  readonly since: number
  /** Receives each answer of the service. */
  readonly onAnswer: (readiness: Readiness) => void
  /** The signal that ends the wait, which then throws. */
  readonly signal: AbortSignal
}

/**
 * Waits until runtimes can be made, and shows the progress of the base template meanwhile. Throws
 * as soon as no isolation class is available. The service tries the classes again, but rarely finds
 * another result without a repair.
 */
export async function waitReady(options: WaitOptions): Promise<Readiness> {
  const { signal } = options
  const progress = new Progress('Making the base template. This takes a minute or two, and happens only once:')
  try {
    const readiness = await askUntilReady(options, progress)
    progress.end('The base template is ready')
    return readiness
  } catch (error) {
    progress.fail(signal.aborted ? 'The wait has ended' : 'Holt is not ready')
    throw error
  }
}

async function askUntilReady(
  { connect, checkAlive, since, onAnswer, signal }: WaitOptions,
  progress: Progress,
): Promise<Readiness> {
  const deadline = Date.now() + longestWaitMs
  for (;;) {
    const holt = connect()
    const readiness = holt === null ? null : await answerOf(holt.ready({ signal }))
    if (readiness?.status === 'ready') return readiness
    signal.throwIfAborted()
    if (readiness !== null) onAnswer(readiness)
    await checkAlive()
    if (readiness !== null) refuseWithoutClass(readiness)
    if (holt !== null && readiness !== null) showTemplates(await answerOf(holt.templates.list().all()), since, progress)
    if (Date.now() > deadline)
      throw new HoltError(
        'timeout',
        `Not ready after ${longestWaitMs / 60_000} minutes: ${readiness?.reasons.join('; ')}`,
      )
    await sleep(pollMs, undefined, { signal })
  }
}

/** Throws with the reasons and remedies if the service has tried all isolation classes in vain. */
function refuseWithoutClass({ isolation }: Readiness): void {
  const classes = Object.entries(isolation)
  if (classes.length === 0 || classes.some(([, { available }]) => available)) return
  const lines = classes.flatMap(([name, { reason, fix }]) => [
    `${name}: ${reason ?? 'no reason is known'}`,
    ...(fix === null ? [] : [`FIX: ${fix}`]),
  ])
  const holt = ourCommand()
  throw new HoltError(
    'unavailable',
    ['This machine can create no runtimes, because no isolation class is available:', ...lines].join('\n'),
    {
      hint: `Repair one of them, then: ${holt} down && ${holt} up. Check the machine: ${holt} doctor. The service runs until: ${holt} down`,
    },
  )
}

function showTemplates(templates: readonly TemplateData[] | null, since: number, progress: Progress): void {
  const failed = templates?.find((template) => template.state === 'failed' && Date.parse(template.updated_at) >= since)
  if (failed !== undefined) {
    throw new HoltError(
      'unavailable',
      `The template ${failed.name} cannot be made: ${failed.state_reason?.message ?? 'no reason is known'}`,
      {
        hint: 'Check this machine: holt doctor. The service retries from time to time, and at once after holt down and holt up.',
      },
    )
  }
  const building = templates?.find((template) => template.progress !== null)
  if (building?.progress == null) return
  const { phase, done, total } = building.progress
  progress.update({ phase: printable(phase), done, total })
}

/** Returns the answer; null while the service does not answer yet, or is busy starting. */
async function answerOf<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof HoltConnectionError || (error instanceof HoltError && error.code === 'unavailable'))
      return null
    throw error
  }
}

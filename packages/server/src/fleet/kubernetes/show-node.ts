import { readFile } from 'node:fs/promises'
import type { Log } from '../../foundation/log.ts'
import { systemProjectId } from '../../foundation/rows/system-project.ts'
import type { FrontQuestions } from '../trust/front-questions.ts'
import { nodePath, PlacedWorker } from './node-verb.ts'
import { untilDone } from './until-done.ts'

/** The token of a worker's pod, for fronts. The chart mounts it, and the kubelet renews it. */
const tokenFile = '/var/run/secrets/holt.dev/token'

/** The time for an answer of one front, in milliseconds. It asks the API server twice. */
const answerMs = 25_000

/** The parts of a worker in a pod. */
export interface WorkerInPod {
  readonly fronts: Pick<FrontQuestions, 'ask'>
  readonly log: Log
  /** Default: that of the chart. */
  readonly file?: string
}

/**
 * Shows the fronts the Node of a worker, which they follow from then on. Tries until the signal is
 * aborted. Never rejects.
 */
export async function showNode({ fronts, log, file = tokenFile }: WorkerInPod, closing: AbortSignal): Promise<void> {
  const ask = async () => {
    const question = { token: (await readFile(file, 'utf8')).trim() }
    return PlacedWorker.parse(await fronts.ask({ path: nodePath, projectId: systemProjectId, question, answerMs }))
  }
  const shown = await untilDone(ask, { log, closing, failed: 'no front knows the Node of this worker yet' })
  if (shown !== null) log.info(shown, 'fronts follow the Node of this worker')
}

import type { ForkSandbox } from '@holt/e2b'
import { E2bError } from '@holt/e2b'
import type { ForkResult } from '@holt/protocol'
import type { z } from 'zod'
import type { Api } from '../../api/api.ts'
import { findRuntime } from '../../foundation/rows/find-runtime.ts'
import { forkRuntime } from '../../runtimes/forks/fork-runtime.ts'
import { statusOf } from '../answers/as-e2b-error.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import { presentSandbox } from '../sandbox/present-sandbox.ts'
import type { ControlCall } from './control-call.ts'
import { findLiveRunning } from './find-live.ts'

/** The life of a fork whose request names none, in seconds. */
const forkTimeoutSecs = 15

/** Forks a running sandbox. The answer has each child, or the reason why it could not be made. */
export async function forkSandbox({
  service,
  body,
  ref,
  newId,
}: ControlCall<z.output<typeof ForkSandbox>, unknown>): Promise<E2bAnswer> {
  await findLiveRunning(service, ref)
  const { count = 1, timeout = forkTimeoutSecs } = body
  if (timeout === 0) throw new E2bError(400, 'timeout must be at least 1')
  const request = { count, timeout_secs: timeout }
  const { data } = await forkRuntime(service, { ...ref, firstId: newId('runtime'), request })
  return { status: 201, json: await Promise.all(data.map((result) => childOf(service, ref.projectId, result))) }
}

async function childOf(service: Api, projectId: string, { runtime, error }: ForkResult) {
  if (runtime === null) {
    const { code, message } = error
    return { error: { code: statusOf(code as Parameters<typeof statusOf>[0]), message } }
  }
  const row = await findRuntime(service, { projectId, runtimeId: runtime.runtime_id })
  return { sandbox: await presentSandbox(service, row) }
}

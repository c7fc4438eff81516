import { HoltError } from '@holt/protocol'
import type { TestCall } from './test-service.ts'

/** The runtime a call names. */
export function runtimeOf({ service, params }: TestCall): Record<string, unknown> {
  const runtime = service.runtimes.get(params.runtime_id ?? '')
  if (runtime === undefined) throw new HoltError('runtime_not_found', 'No such runtime')
  return runtime
}

/** The runtime a call names, which must run, or be one that a call resumes. */
export function runningOf(call: TestCall): Record<string, unknown> {
  const runtime = runtimeOf(call)
  if (runtime.state === 'terminated') throw new HoltError('runtime_terminated', 'The runtime has ended')
  if (runtime.state === 'paused' && runtime.auto_resume === true) Object.assign(runtime, { state: 'running' })
  return awakeOf(call)
}

/** The runtime a call names, which must run and is not resumed by it. */
export function awakeOf(call: TestCall): Record<string, unknown> {
  const runtime = runtimeOf(call)
  if (runtime.state === 'paused')
    throw new HoltError('runtime_paused', 'The runtime is paused', { details: { runtime_id: runtime.runtime_id } })
  return runtime
}

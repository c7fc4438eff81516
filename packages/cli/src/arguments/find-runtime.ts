import { isIdParam } from '@holt/protocol'
import { type Holt, HoltError, type Runtime, type RuntimeState } from '@holt/sdk'
import { UsageError } from '../verb/verb.ts'

/** The states in which a runtime can be named by its name or the beginning of its id. */
const liveStates = [
  'running',
  'pausing',
  'paused',
  'resuming',
  'starting',
  'failed',
  'terminating',
] as const satisfies readonly RuntimeState[]

/** Returns the runtime for a text: by id, by name, or by the unique beginning of its id. */
export async function findRuntime(holt: Holt, text: string): Promise<Runtime> {
  if (isIdParam('runtime_id', text)) return holt.runtimes.get(text)
  const named = await holt.runtimes.list({ name: text, state: liveStates }).all()
  for (const state of liveStates) {
    const live = named.find((runtime) => runtime.state === state)
    if (live !== undefined) return live
  }
  const begun: Runtime[] = []
  for (const runtime of await liveRuntimes(holt)) if (runtime.runtime_id.startsWith(text)) begun.push(runtime)
  const [only, ...others] = begun
  if (only === undefined) {
    throw new HoltError('runtime_not_found', `No runtime is named ${text}, and no id begins with it`, {
      hint: 'List the runtimes: holt ls',
    })
  }
  if (others.length > 0)
    throw new UsageError(
      `${text} is the beginning of ${begun.length} ids: ${begun.map(({ runtime_id }) => runtime_id).join(', ')}`,
    )
  return only
}

/** Returns the id of a runtime that may be gone. A whole id is returned unchanged. */
export async function findRuntimeId(holt: Holt, text: string): Promise<string> {
  return isIdParam('runtime_id', text) ? text : (await findRuntime(holt, text)).runtime_id
}

/** Returns every runtime that can still be named, newest first. */
export async function liveRuntimes(holt: Holt): Promise<Runtime[]> {
  return holt.runtimes.list({ state: liveStates, limit: 100 }).all()
}

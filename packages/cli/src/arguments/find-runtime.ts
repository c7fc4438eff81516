import { isIdParam } from '@holt/protocol'
import { type Holt, HoltError, type Runtime, type RuntimeState } from '@holt/sdk'
import { UsageError } from '../verb.ts'

/** The states in which a runtime can still be named by its name or the beginning of its id. */
const liveStates = ['running', 'starting', 'failed', 'terminating'] as const satisfies readonly RuntimeState[]

/** Finds the runtime that a person means: by id, by name, or by the beginning of its id where only one begins so. */
export async function findRuntime(holt: Holt, text: string): Promise<Runtime> {
  if (isIdParam('runtime_id', text)) return holt.runtimes.get(text)
  const named = await holt.runtimes.list({ name: text }).all()
  for (const state of liveStates) {
    const live = named.find((runtime) => runtime.state === state)
    if (live !== undefined) return live
  }
  const begun: Runtime[] = []
  for await (const runtime of liveRuntimes(holt)) if (runtime.runtime_id.startsWith(text)) begun.push(runtime)
  const [only, ...others] = begun
  if (only === undefined) {
    throw new HoltError('runtime_not_found', `No runtime is named ${text}, and no id begins with it`, {
      hint: 'See which there are: holt ls',
    })
  }
  if (others.length > 0)
    throw new UsageError(
      `${text} is the beginning of ${begun.length} ids: ${begun.map(({ runtime_id }) => runtime_id).join(', ')}`,
    )
  return only
}

/** Every runtime that has not ended. */
export async function* liveRuntimes(holt: Holt): AsyncGenerator<Runtime, void, undefined> {
  for (const state of liveStates) yield* holt.runtimes.list({ state, limit: 100 })
}

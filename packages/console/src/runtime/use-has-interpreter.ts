import { HoltApiError, type Runtime } from '@holt/sdk'
import { useHoltQuery } from '../session/use-holt-query.ts'

/** The template that is known to have a code interpreter. */
const known = 'code-interpreter'

/**
 * Returns true if a runtime has a code interpreter: by its template, or because it answers. A
 * question resumes a paused runtime, so only one that runs is asked, and once.
 */
export function useHasInterpreter(runtime: Runtime | undefined): boolean {
  const isKnown = runtime?.template.name === known
  const id = runtime?.runtime_id ?? ''
  const { data } = useHoltQuery({
    key: ['interpreter', id],
    read: async (holt, signal) => {
      try {
        await (await holt.runtimes.get(id, { signal })).code.contexts.list({ limit: 1 }, { signal }).page()
        return true
      } catch (error) {
        if (error instanceof HoltApiError && error.code === 'code_interpreter_missing') return false
        throw error
      }
    },
    refetchInterval: false,
    enabled: !isKnown && runtime?.state === 'running',
  })
  return isKnown || data === true
}

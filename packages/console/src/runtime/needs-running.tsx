import type { Runtime } from '@holt/sdk'
import { type ReactNode, useState } from 'react'
import { Button } from 'react-aria-components'
import { Answer } from '../parts/answer.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { useRuntime } from './runtime-route.ts'

interface NeedsRunningProps {
  /** Names what the tab shows: `Its terminals`. */
  readonly what: string
  readonly children: (runtime: Runtime) => ReactNode
}

/**
 * Shows a tab that looks inside a runtime. Each look resumes a paused runtime, so a person decides
 * that. A tab that is shown stays when the runtime is paused.
 */
export function NeedsRunning({ what, children }: NeedsRunningProps) {
  const query = useRuntime()
  return (
    <Answer query={query} what="the runtime">
      {(runtime) => (
        <Inside key={runtime.runtime_id} runtime={runtime} what={what}>
          {children}
        </Inside>
      )}
    </Answer>
  )
}

function Inside({ runtime, what, children }: NeedsRunningProps & { readonly runtime: Runtime }) {
  const { session } = useSession()
  const { state, runtime_id: id } = runtime
  const [wasRunning, setWasRunning] = useState(false)
  const resuming = useHoltMutation({
    run: async (holt) => (await holt.runtimes.get(id)).resume(),
    changes: [['runtime', id]],
  })
  if (state === 'running' && !wasRunning) setWasRunning(true)
  const hasEnded = state === 'terminated' || state === 'failed'
  if (!hasEnded && (wasRunning || state === 'running')) return children(runtime)
  if (hasEnded)
    return (
      <EmptyState title="The runtime has ended">
        <p>{what} ended with it.</p>
      </EmptyState>
    )
  return (
    <EmptyState title={`The runtime is ${state}`}>
      <p>{what} are shown while it runs.</p>
      {state === 'paused' && mayUse(session, 'runtime:write') ? (
        <Button className="button primary" onPress={() => resuming.mutate()} isPending={resuming.isPending}>
          Resume
        </Button>
      ) : null}
      {resuming.isError ? <ErrorNotice error={resuming.error} /> : null}
    </EmptyState>
  )
}

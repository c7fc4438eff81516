import type { Runtime } from '@holt/sdk'
import { type ReactNode, useState } from 'react'
import { Answer } from '../parts/answer.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { NotRunning } from './not-running.tsx'
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
  const { state } = runtime
  const [wasRunning, setWasRunning] = useState(false)
  if (state === 'running' && !wasRunning) setWasRunning(true)
  const hasEnded = state === 'terminated' || state === 'failed'
  if (!hasEnded && (wasRunning || state === 'running')) return children(runtime)
  if (hasEnded)
    return (
      <EmptyState title="The runtime has ended">
        <p>{what} ended with it.</p>
      </EmptyState>
    )
  return <NotRunning runtime={runtime} what={what} />
}

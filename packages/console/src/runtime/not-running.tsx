import type { Runtime } from '@holt/sdk'
import { Button } from 'react-aria-components'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

interface NotRunningProps {
  readonly runtime: Runtime
  /** Names what cannot be read: `Its ports`. */
  readonly what: string
}

/** Says that the inside of a runtime cannot be read now, and offers to resume a paused one. */
export function NotRunning({ runtime: { runtime_id: id, state }, what }: NotRunningProps) {
  const { session } = useSession()
  const resuming = useHoltMutation({
    run: async (holt) => (await holt.runtimes.get(id)).resume(),
    changes: [['runtime', id], ['runtimes']],
  })
  return (
    <EmptyState title={`The runtime is ${state}`}>
      <p>{what} can be read while it runs.</p>
      {state === 'paused' && mayUse(session, 'runtime:write') ? (
        <Button className="button primary" isPending={resuming.isPending} onPress={() => resuming.mutate()}>
          Resume it
        </Button>
      ) : null}
      {resuming.isError ? <ErrorNotice error={resuming.error} /> : null}
    </EmptyState>
  )
}

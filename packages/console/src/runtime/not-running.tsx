import type { Runtime } from '@holt/sdk'
import { BusyButton } from '../parts/busy-button.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

interface NotRunningProps {
  readonly runtime: Runtime
  /** Names what the page cannot show: `Its ports`. */
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
      <p>{what} are shown while it runs.</p>
      {state === 'paused' && mayUse(session, 'runtime:write') ? (
        <BusyButton className="button primary" isBusy={resuming.isPending} onPress={() => resuming.mutate()}>
          Resume it
        </BusyButton>
      ) : null}
      {resuming.isError ? <ErrorNotice error={resuming.error} /> : null}
    </EmptyState>
  )
}

import { useMutation } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import type { OpenTerminals } from './open-terminals.ts'
import type { ShellSession, ShellView } from './shell-session.ts'

interface StatusProps {
  readonly open: OpenTerminals
  readonly session: ShellSession
  readonly view: ShellView
  readonly mayWrite: boolean
}

/** Says what state a terminal is in, and offers what helps. */
export function ShellStatus({ open, session, view, mayWrite }: StatusProps) {
  const again = useMutation({ mutationFn: () => open.startAgain(view) })
  const taking = useMutation({ mutationFn: () => session.takeOver() })
  const { state, writing, lost, droppedBytes } = view
  const live = state.type === 'open'
  return (
    <>
      <div role="status" className="shell-status">
        {statusText(view)}
        {state.type === 'ended' && mayWrite ? (
          <BusyButton className="button" onPress={() => again.mutate()} isBusy={again.isPending}>
            Open again
          </BusyButton>
        ) : null}
        {state.type === 'failed' ? (
          <Button className="button" onPress={() => void open.attachAgain(view)}>
            Attach again
          </Button>
        ) : null}
        {live && !writing && mayWrite ? (
          <BusyButton className="button" onPress={() => taking.mutate()} isBusy={taking.isPending}>
            Take over
          </BusyButton>
        ) : null}
      </div>
      {state.type === 'failed' ? <ErrorNotice error={state.error} /> : null}
      {again.isError ? <ErrorNotice error={again.error} /> : null}
      {taking.isError ? <ErrorNotice error={taking.error} /> : null}
      {lost === null ? null : (
        <div>
          <p>Some of your last keys may not have been typed. Look at the screen before you type them again.</p>
          <ErrorNotice error={lost} />
          <Button className="button" onPress={() => session.forgetLost()}>
            Close this message
          </Button>
        </div>
      )}
      {droppedBytes === 0 ? null : (
        <p className="muted">{droppedBytes.toLocaleString()} bytes of earlier output are no longer kept.</p>
      )}
    </>
  )
}

/** Returns the state of a terminal in words; empty for one that works. */
function statusText({ state, writing, waiting }: ShellView): string {
  if (state.type === 'attaching') return 'Attaching…'
  if (state.type === 'broken')
    return waiting === 0
      ? 'Reconnecting. What you type is sent when the service is back.'
      : `Reconnecting. ${waiting} of your inputs wait and are sent when the service is back.`
  if (state.type === 'failed') return 'The terminal is no longer attached.'
  if (state.type !== 'ended') return writing ? '' : 'This terminal only watches: your keys go nowhere.'
  const { exit_code, signal, timed_out } = state.exit
  if (timed_out) return 'The shell was killed at its time limit.'
  if (signal !== null) return `The shell was ended by ${signal}.`
  return exit_code === null ? 'The shell has ended.' : `The shell has ended with exit code ${exit_code}.`
}

import { useMutation } from '@tanstack/react-query'
import { type RefObject, useEffect, useId, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { EndDialog } from './end-dialog.tsx'
import { KeyRow } from './key-row.tsx'
import { LinkDialog } from './link-dialog.tsx'
import type { OpenTerminals } from './open-terminals.ts'
import { useReadAloud } from './read-aloud.ts'
import type { ShellSession, ShellView } from './shell-session.ts'
import { ShellStatus } from './shell-status.tsx'

interface PanelProps {
  readonly open: OpenTerminals
  readonly session: ShellSession
  readonly view: ShellView
  readonly mayWrite: boolean
}

/** One terminal: its screen, its state, and what can be done with it. */
export function ShellPanel({ open, session, view, mayWrite }: PanelProps) {
  const [isEnding, setEnding] = useState(false)
  const helpId = useId()
  const place = useScreen(session, helpId)
  const pasting = useMutation({ mutationFn: async () => session.screen.paste(await navigator.clipboard.readText()) })
  const [readsAloud, setReadsAloud] = useReadAloud(session)
  const isRunning = view.state.type !== 'ended'
  return (
    <div className="shell-panel">
      <div className="toolbar">
        <label className="inline">
          Name
          <input value={view.name} maxLength={60} onChange={({ target }) => session.rename(target.value)} />
        </label>
        {view.title === '' ? null : <span className="muted shell-title">{view.title}</span>}
        <span className="spacer" />
        {mayWrite && isRunning ? (
          <Button className="button" onPress={() => pasting.mutate()}>
            Paste
          </Button>
        ) : null}
        <Button className="button" onPress={() => open.remove(view.commandId)}>
          {isRunning ? 'Detach' : 'Close the tab'}
        </Button>
        {mayWrite && isRunning ? (
          <Button className="button danger" onPress={() => setEnding(true)}>
            End…
          </Button>
        ) : null}
      </div>
      <ShellStatus open={open} session={session} view={view} mayWrite={mayWrite} />
      {pasting.isError ? <ErrorNotice error={pasting.error} /> : null}
      <div className="screen-place" ref={place} />
      {mayWrite && isRunning ? <KeyRow screen={session.screen} /> : null}
      <p id={helpId} className="muted">
        The Tab key goes to the shell. <kbd>Ctrl M</kbd> leaves the terminal. <kbd>Ctrl Shift C</kbd> copies, and{' '}
        <kbd>Ctrl Shift V</kbd> pastes.
      </p>
      <label className="inline">
        <input type="checkbox" checked={readsAloud} onChange={({ target }) => setReadsAloud(target.checked)} />
        Output for screen readers
      </label>
      <EndDialog isOpen={isEnding} onOpenChange={setEnding} open={open} commandId={view.commandId} />
      <LinkDialog uri={view.link} onClose={() => session.forgetLink()} />
    </div>
  )
}

/** Shows a session's screen in the element of the returned reference. */
function useScreen(session: ShellSession, helpId: string): RefObject<HTMLDivElement | null> {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { screen } = session
    if (place.current === null) return
    screen.mount(place.current, helpId)
    screen.onLeave = () => leave(place.current)
    screen.focus()
    return () => screen.element.remove()
  }, [session, helpId])
  return place
}

/** Moves the focus from a terminal to its tab. */
function leave(place: HTMLElement | null): void {
  place?.closest('.terminals')?.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]')?.focus()
}

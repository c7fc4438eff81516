import { lazy, Suspense, useMemo, useState } from 'react'
import { Button } from 'react-aria-components'
import { type Command, useCommands } from '../parts/commands.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { loadPart } from '../service/load-part.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { type Changed, deletedText, deleteText, pause, remove, resume, rowsFor } from './runtime-changes.ts'
import type { RuntimeRow } from './runtime-row.ts'
import { countText, useChanges } from './use-changes.ts'

const ForkDialog = lazy(loadPart(async () => ({ default: (await import('./fork-dialog.tsx')).ForkDialog })))
const SnapshotDialog = lazy(loadPart(async () => ({ default: (await import('./snapshot-dialog.tsx')).SnapshotDialog })))

/** An action on the selection, and the runtimes that it acts on. */
interface Action {
  readonly title: string
  readonly rows: readonly RuntimeRow[]
  run(rows: readonly RuntimeRow[]): void
}

/** A question that is open, and the runtimes that it is about. */
interface Asked {
  readonly what: 'fork' | 'snapshot' | 'delete'
  readonly rows: readonly RuntimeRow[]
}

/**
 * The actions on the selected runtimes. Each acts on those in a state that allows it. A delete asks
 * first, because nothing brings a runtime back.
 */
export function RuntimeActions({ rows }: { readonly rows: readonly RuntimeRow[] }) {
  const { session } = useSession()
  const [asked, setAsked] = useState<Asked | null>(null)
  const { pauseAll, resumeAll, deleteAll } = useUndoableChanges()
  const mayWrite = mayUse(session, 'runtime:write')
  const actions = useMemo((): readonly Action[] => {
    if (!mayWrite) return []
    const running = rows.filter(({ state }) => state === 'running')
    const ask = (what: Asked['what']) => (about: readonly RuntimeRow[]) => setAsked({ what, rows: about })
    return [
      { title: 'Pause', rows: rowsFor(pause, rows), run: pauseAll },
      { title: 'Resume', rows: rowsFor(resume, rows), run: resumeAll },
      { title: 'Fork…', rows: running, run: ask('fork') },
      { title: 'Snapshot…', rows: running, run: ask('snapshot') },
      { title: 'Delete…', rows: rowsFor(remove, rows), run: ask('delete') },
    ]
  }, [rows, mayWrite, pauseAll, resumeAll])
  useCommands(useMemo(() => commandsOf(actions), [actions]))
  if (actions.length === 0) return null
  const close = (isOpen: boolean) => {
    if (!isOpen) setAsked(null)
  }
  return (
    <>
      <fieldset className="actions" aria-label="Actions on the selected runtimes">
        {actions.map(({ title, rows: about, run }) => (
          <Button
            key={title}
            className={title === 'Delete…' ? 'button danger' : 'button'}
            isDisabled={about.length === 0}
            onPress={() => run(about)}
          >
            {title}
          </Button>
        ))}
        <span role="status" className="muted">
          {rows.length === 0 ? '' : `${rows.length} selected`}
        </span>
      </fieldset>
      <Suspense>
        {asked?.what === 'fork' ? <ForkDialog rows={asked.rows} onOpenChange={close} /> : null}
        {asked?.what === 'snapshot' ? <SnapshotDialog rows={asked.rows} onOpenChange={close} /> : null}
      </Suspense>
      <ConfirmDialog
        isOpen={asked?.what === 'delete'}
        onOpenChange={close}
        title={`Delete ${countText(asked?.rows ?? [])}?`}
        action="Delete"
        isPending={false}
        onConfirm={() => {
          deleteAll(asked?.rows ?? [])
          setAsked(null)
        }}
      >
        <p>{deleteText}</p>
      </ConfirmDialog>
    </>
  )
}

/** Returns the changes of the selection. A pause offers to resume, and a resume to pause. */
function useUndoableChanges() {
  const change = useChanges()
  return useMemo(() => {
    const pauseAll = (rows: readonly Changed[]): void =>
      change(pause, rows, ({ done }) => ({ actions: undo('Resume', done, resumeAll) }))
    const resumeAll = (rows: readonly Changed[]): void =>
      change(resume, rows, ({ done }) => ({ actions: undo('Pause', done, pauseAll) }))
    const deleteAll = (rows: readonly Changed[]): void => change(remove, rows, () => ({ more: deletedText }))
    return { pauseAll, resumeAll, deleteAll }
  }, [change])
}

function undo(title: string, done: readonly { readonly item: Changed }[], run: (rows: readonly Changed[]) => void) {
  return done.length === 0 ? [] : [{ title, run: () => run(done.map(({ item }) => item)) }]
}

/** Returns the actions that are possible, for the palette. */
function commandsOf(actions: readonly Action[]): readonly Command[] {
  return actions
    .filter(({ rows }) => rows.length > 0)
    .map(({ title, rows, run }) => ({
      id: `selected:${title}`,
      title: `${title.replace('…', '')} ${rows.length === 1 ? countText(rows) : `the ${countText(rows)} selected`}`,
      run: () => run(rows),
    }))
}

import type { Holt, Runtime } from '@holt/sdk'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { ForkDialog } from '../runtimes/fork-dialog.tsx'
import { rowOf } from '../runtimes/runtime-row.ts'
import { SnapshotDialog } from '../runtimes/snapshot-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { MetadataDialog } from './metadata-dialog.tsx'
import { SettingsDialog } from './settings-dialog.tsx'

/** The actions that need a dialog. */
type Asked = 'fork' | 'snapshot' | 'settings' | 'metadata' | 'delete'

/** The actions on one runtime, as far as its state allows them. */
export function OneRuntimeActions({ runtime }: { readonly runtime: Runtime }) {
  const { runtime_id: id, name, state } = runtime
  const [asked, ask] = useState<Asked | null>(null)
  const changing = useHoltMutation<'pause' | 'resume' | 'delete'>({
    run: async (holt: Holt, change) => (await holt.runtimes.get(id))[change](),
    changes: [['runtime', id], ['runtimes']],
    onSuccess: () => ask(null),
  })
  if (ended.includes(state)) return <p className="muted">It has ended. Its facts and events are kept for 7 days.</p>
  const failure = changing.isError ? <ErrorNotice error={changing.error} /> : null
  const dialog = (which: Asked) => ({
    isOpen: asked === which,
    onOpenChange: (open: boolean) => ask(open ? which : null),
  })
  const act = (change: 'pause' | 'resume') => (
    <Button className="button" isDisabled={changing.isPending} onPress={() => changing.mutate(change)}>
      {change === 'pause' ? 'Pause' : 'Resume'}
    </Button>
  )
  const open = (which: Asked, title: string) => (
    <Button className={which === 'delete' ? 'button danger' : 'button'} onPress={() => ask(which)}>
      {title}
    </Button>
  )
  return (
    <>
      <fieldset className="actions" aria-label="Actions on the runtime">
        {state === 'running' ? act('pause') : null}
        {state === 'paused' ? act('resume') : null}
        {state === 'running' ? open('fork', 'Fork…') : null}
        {state === 'running' ? open('snapshot', 'Snapshot…') : null}
        {open('settings', 'Deadline…')}
        {open('metadata', 'Metadata…')}
        {open('delete', 'Delete…')}
        <span role="status" className="muted">
          {changing.isPending ? working[changing.variables] : ''}
        </span>
      </fieldset>
      {asked === null ? failure : null}
      {asked === 'fork' ? <ForkDialog rows={[rowOf(runtime)]} onOpenChange={() => ask(null)} /> : null}
      {asked === 'snapshot' ? <SnapshotDialog rows={[rowOf(runtime)]} onOpenChange={() => ask(null)} /> : null}
      <SettingsDialog runtime={runtime} {...dialog('settings')} />
      <MetadataDialog runtime={runtime} {...dialog('metadata')} />
      <ConfirmDialog
        {...dialog('delete')}
        title={`Delete ${name ?? id}?`}
        action="Delete"
        isPending={changing.isPending}
        onConfirm={() => changing.mutate('delete')}
      >
        <p>Its commands end, and its memory and files are gone. Nothing brings them back.</p>
        <p>Its snapshots and its forks remain. To keep its state, take a snapshot first, or pause it instead.</p>
        {failure}
      </ConfirmDialog>
    </>
  )
}

const working = { pause: 'Its memory is being written…', resume: 'Its memory is being read…', delete: 'It ends…' }

const ended: readonly string[] = ['terminating', 'terminated', 'failed']

import type { CodeContext } from '@holt/sdk'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Choice } from '../parts/fields.tsx'
import { shownText } from '../parts/shown-text.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { ContextDialog } from './context-dialog.tsx'

interface ContextBarProps {
  readonly runtimeId: string
  readonly contexts: readonly CodeContext[]
  /** The id of the context in which cells run. */
  readonly chosen: string
  readonly choose: (contextId: string) => void
  readonly mayChange: boolean
}

/**
 * The code contexts of a runtime: which one runs the cells, and what ends its code or its
 * variables.
 */
export function ContextBar({ runtimeId, contexts, chosen, choose, mayChange }: ContextBarProps) {
  const [asked, ask] = useState<'create' | 'restart' | 'delete' | null>(null)
  const key = ['runtime', runtimeId, 'inside', 'contexts']
  const changing = useHoltMutation<'interrupt' | 'restart' | 'delete'>({
    run: async (holt, change) => {
      const { contexts } = (await holt.runtimes.get(runtimeId)).code
      await contexts[change](chosen)
    },
    changes: [key],
    onSuccess: () => ask(null),
  })
  const context = contexts.find(({ context_id }) => context_id === chosen)
  const failure = changing.isError ? <ErrorNotice error={changing.error} /> : null
  const opened = (which: typeof asked) => ({
    isOpen: asked === which,
    onOpenChange: (open: boolean) => ask(open ? which : null),
  })
  return (
    <>
      <div className="toolbar">
        <Choice label="Context" value={context === undefined ? '' : chosen} set={choose}>
          {context === undefined ? <option value="">the default of python</option> : null}
          {contexts.map(({ context_id, language, state }) => (
            <option key={context_id} value={context_id}>
              {shownText(`${language}: ${context_id}, ${state}`)}
            </option>
          ))}
        </Choice>
        {mayChange ? (
          <fieldset className="actions" aria-label="Actions on the context">
            <Button className="button" onPress={() => ask('create')}>
              New context…
            </Button>
            <Button
              className="button"
              isDisabled={context === undefined || changing.isPending}
              onPress={() => changing.mutate('interrupt')}
            >
              Interrupt
            </Button>
            <Button className="button" isDisabled={context === undefined} onPress={() => ask('restart')}>
              Restart…
            </Button>
            <Button className="button danger" isDisabled={context === undefined} onPress={() => ask('delete')}>
              Delete the context…
            </Button>
          </fieldset>
        ) : null}
      </div>
      {asked === null ? failure : null}
      <ContextDialog runtimeId={runtimeId} {...opened('create')} onCreated={choose} />
      <ConfirmDialog
        {...opened('restart')}
        title="Restart the context?"
        action="Restart"
        isPending={changing.isPending}
        onConfirm={() => changing.mutate('restart')}
      >
        <p>Its code ends, and its variables are gone. Files stay.</p>
        {failure}
      </ConfirmDialog>
      <ConfirmDialog
        {...opened('delete')}
        title="Delete the context?"
        action="Delete"
        isPending={changing.isPending}
        onConfirm={() => changing.mutate('delete')}
      >
        <p>Its code ends, and its variables are gone. Files stay. A default context begins anew at its next run.</p>
        {failure}
      </ConfirmDialog>
    </>
  )
}

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

/** A change of a context. */
type ContextChange = 'interrupt' | 'restart' | 'delete'

/** The actions that need a dialog. */
type Asked = 'create' | 'restart' | 'delete'

/**
 * The code contexts of a runtime: which one runs the cells, and what ends its code or its
 * variables.
 */
export function ContextBar({ runtimeId, contexts, chosen, choose, mayChange }: ContextBarProps) {
  const [asked, ask] = useState<Asked | null>(null)
  const changing = useHoltMutation<ContextChange>({
    run: async (holt, change) => {
      const { contexts } = (await holt.runtimes.get(runtimeId)).code
      await contexts[change](chosen)
    },
    changes: [['runtime', runtimeId, 'inside', 'contexts']],
    onSuccess: () => ask(null),
  })
  const isKnown = contexts.some(({ context_id }) => context_id === chosen)
  const failure = changing.isError ? <ErrorNotice error={changing.error} /> : null
  const opened = (which: Asked) => ({
    isOpen: asked === which,
    onOpenChange: (open: boolean) => ask(open ? which : null),
  })
  const confirmed = (which: 'restart' | 'delete') => ({
    ...opened(which),
    isPending: changing.isPending,
    onConfirm: () => changing.mutate(which),
  })
  return (
    <>
      <div className="toolbar">
        <ContextChoice contexts={contexts} chosen={isKnown ? chosen : ''} choose={choose} />
        {mayChange ? (
          <ContextActions
            isKnown={isKnown}
            isPending={changing.isPending}
            ask={ask}
            interrupt={() => changing.mutate('interrupt')}
          />
        ) : null}
      </div>
      {asked === null ? failure : null}
      <ContextDialog runtimeId={runtimeId} {...opened('create')} onCreated={choose} />
      <ConfirmDialog {...confirmed('restart')} title="Restart the context?" action="Restart">
        <p>Its code ends, and its variables are gone. Files stay.</p>
        {failure}
      </ConfirmDialog>
      <ConfirmDialog {...confirmed('delete')} title="Delete the context?" action="Delete">
        <p>Its code ends, and its variables are gone. Files stay. A default context begins anew at its next run.</p>
        {failure}
      </ConfirmDialog>
    </>
  )
}

/** The choice of the context in which cells run. Empty: the default one, which has not begun. */
function ContextChoice({ contexts, chosen, choose }: Pick<ContextBarProps, 'contexts' | 'chosen' | 'choose'>) {
  return (
    <Choice label="Context" value={chosen} set={choose}>
      {chosen === '' ? <option value="">the default of python</option> : null}
      {contexts.map(({ context_id, language, state }) => (
        <option key={context_id} value={context_id}>
          {shownText(`${language}: ${context_id}, ${state}`)}
        </option>
      ))}
    </Choice>
  )
}

interface ContextActionsProps {
  /** True if the chosen context is there, so that it can be changed. */
  readonly isKnown: boolean
  readonly isPending: boolean
  readonly ask: (what: Asked) => void
  readonly interrupt: () => void
}

function ContextActions({ isKnown, isPending, ask, interrupt }: ContextActionsProps) {
  return (
    <fieldset className="actions" aria-label="Actions on the context">
      <Button className="button" onPress={() => ask('create')}>
        New context…
      </Button>
      <Button className="button" isDisabled={!isKnown || isPending} onPress={interrupt}>
        Interrupt
      </Button>
      <Button className="button" isDisabled={!isKnown} onPress={() => ask('restart')}>
        Restart…
      </Button>
      <Button className="button danger" isDisabled={!isKnown} onPress={() => ask('delete')}>
        Delete the context…
      </Button>
    </fieldset>
  )
}

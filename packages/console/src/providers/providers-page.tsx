import type { Provider } from '@holt/sdk'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Foreign } from '../parts/foreign.tsx'
import { ListPage } from '../parts/list-page.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { useNow } from '../parts/spans.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltList } from '../session/use-holt-list.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { ProviderDialog } from './provider-dialog.tsx'

/** The open dialog of the page. */
type Act = { readonly type: 'create' } | { readonly type: 'replace' | 'delete'; readonly provider: Provider }

/** The page of identity providers, which make the values of secrets. */
export function ProvidersPage() {
  const { session } = useSession()
  const now = useNow()
  const [act, setAct] = useState<Act | null>(null)
  const providers = useHoltList({ key: ['providers'], list: (holt, options) => holt.secrets.providers.list(options) })
  const mayWrite = mayUse(session, 'secret:write')
  const close = () => setAct(null)
  return (
    <>
      <ListPage
        title="Providers"
        what="providers"
        query={providers}
        action={
          mayWrite ? (
            <Button className="button primary" onPress={() => setAct({ type: 'create' })}>
              Store a provider
            </Button>
          ) : null
        }
        textsOf={({ name, settings }) => [name, settings.type, settingsText(settings)]}
        empty={<NoProviders />}
      >
        {(rows) => (
          <DataTable
            label="Providers"
            rows={rows}
            columns={columnsAt(now, mayWrite ? setAct : null)}
            idOf={({ provider_id }) => provider_id}
            nameOf={({ name }) => name}
          />
        )}
      </ListPage>
      {act?.type === 'create' ? <ProviderDialog provider={null} onClose={close} /> : null}
      {act?.type === 'replace' ? <ProviderDialog provider={act.provider} onClose={close} /> : null}
      {act?.type === 'delete' ? <DeleteProvider provider={act.provider} onClose={close} /> : null}
    </>
  )
}

function NoProviders() {
  return (
    <EmptyState title="No providers yet">
      <p>
        A provider makes the values of secrets: access tokens of an OAuth server, tokens that this service signs, or one
        value for several secrets. A secret then names the provider in place of a value.
      </p>
      <pre>holt provider set cloud --type workload --audience sts.example.com</pre>
    </EmptyState>
  )
}

interface DeleteProps {
  readonly provider: Provider
  readonly onClose: () => void
}

function DeleteProvider({ provider: { provider_id, name }, onClose }: DeleteProps) {
  const deleting = useHoltMutation({
    run: (holt) => holt.secrets.providers.delete(provider_id),
    changes: [['providers']],
    onSuccess: onClose,
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={`Delete the provider ${name}?`}
      action="Delete"
      isPending={deleting.isPending}
      onConfirm={() => deleting.mutate()}
    >
      <p>The service refuses it while a secret takes its value from the provider. This cannot be undone.</p>
      {deleting.error === null ? null : <ErrorNotice error={deleting.error} />}
    </ConfirmDialog>
  )
}

function settingsText(settings: Provider['settings']): string {
  if (settings.type === 'oauth2') return `${settings.client_id} at ${settings.token_url}`
  return settings.type === 'workload' ? `for ${settings.audience}, ${settings.ttl_secs} s` : 'a stored value'
}

function columnsAt(now: number, choose: ((act: Act) => void) | null): readonly Column<Provider>[] {
  const actions: Column<Provider> = {
    title: 'Actions',
    width: 215,
    cell: (provider) => (
      <span className="actions">
        <Button className="button" onPress={() => choose?.({ type: 'replace', provider })}>
          Replace…
        </Button>
        <Button className="button danger" onPress={() => choose?.({ type: 'delete', provider })}>
          Delete…
        </Button>
      </span>
    ),
  }
  return [
    { title: 'Provider', cell: ({ name }) => name },
    ...(choose === null ? [] : [actions]),
    { title: 'Kind', width: 100, cell: ({ settings }) => settings.type },
    { title: 'Settings', width: 300, cell: ({ settings }) => settingsText(settings) },
    {
      title: 'Last request',
      width: 220,
      cell: ({ last_error }) =>
        last_error === null ? (
          'no failure'
        ) : (
          <span title={last_error.at}>
            <Foreign>{last_error.message}</Foreign>
          </span>
        ),
    },
    { title: 'Version', width: 80, cell: ({ version }) => version },
    { title: 'Changed', width: 110, cell: ({ updated_at }) => <Moment at={updated_at} now={now} /> },
  ]
}

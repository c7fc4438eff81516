import type { Secret } from '@holt/sdk'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { ListPage } from '../parts/list-page.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { useNow } from '../parts/spans.ts'
import { UserList } from '../runtimes/user-list.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltList } from '../session/use-holt-list.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { SecretDialog } from './secret-dialog.tsx'

/** The open dialog of the page. */
type Act = { readonly type: 'create' } | { readonly type: 'replace' | 'delete'; readonly secret: Secret }

/** The page of secrets. No answer of the service has their values. */
export function SecretsPage() {
  const { session } = useSession()
  const now = useNow()
  const [act, setAct] = useState<Act | null>(null)
  const secrets = useHoltList({ key: ['secrets'], list: (holt, options) => holt.secrets.list(options) })
  const mayWrite = mayUse(session, 'secret:write')
  const close = () => setAct(null)
  return (
    <>
      <ListPage
        title="Secrets"
        what="secrets"
        query={secrets}
        action={
          mayWrite ? (
            <Button className="button primary" onPress={() => setAct({ type: 'create' })}>
              Store a secret
            </Button>
          ) : null
        }
        textsOf={({ name, hosts, env_name, provider }) => [name, ...hosts, env_name, provider?.name ?? '']}
        empty={<NoSecrets mayWrite={mayWrite} />}
      >
        {(rows) => (
          <DataTable
            label="Secrets"
            rows={rows}
            columns={columnsAt(now, mayWrite ? setAct : null)}
            idOf={({ secret_id }) => secret_id}
            nameOf={({ name }) => name}
          />
        )}
      </ListPage>
      {act?.type === 'create' ? <SecretDialog secret={null} onClose={close} /> : null}
      {act?.type === 'replace' ? <SecretDialog secret={act.secret} onClose={close} /> : null}
      {act?.type === 'delete' ? <DeleteSecret secret={act.secret} onClose={close} /> : null}
    </>
  )
}

function NoSecrets({ mayWrite }: { readonly mayWrite: boolean }) {
  return (
    <EmptyState title="No secrets yet">
      <p>
        A runtime sees a placeholder instead of a secret. The gateway puts the value into requests to the hosts that the
        secret is for, and no program inside can read it.
      </p>
      <p>{mayWrite ? 'Store one here, or in a shell:' : 'Store one in a shell:'}</p>
      <pre>holt secret set stripe --host api.stripe.com --from-env STRIPE_KEY</pre>
    </EmptyState>
  )
}

function DeleteSecret({
  secret: { secret_id, name },
  onClose,
}: {
  readonly secret: Secret
  readonly onClose: () => void
}) {
  const deleting = useHoltMutation({
    run: (holt) => holt.secrets.delete(secret_id),
    changes: [['secrets']],
    onSuccess: onClose,
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={`Delete the secret ${name}?`}
      action="Delete"
      isPending={deleting.isPending}
      onConfirm={() => deleting.mutate()}
    >
      <p>
        From then on, requests with its placeholder are refused, also in runtimes that have it now. The value cannot be
        brought back.
      </p>
      <UserList thing={{ secret: secret_id }} />
      {deleting.error === null ? null : <ErrorNotice error={deleting.error} />}
    </ConfirmDialog>
  )
}

function columnsAt(now: number, choose: ((act: Act) => void) | null): readonly Column<Secret>[] {
  const actions: Column<Secret> = {
    title: 'Actions',
    width: 215,
    cell: (secret) => (
      <span className="actions">
        <Button className="button" onPress={() => choose?.({ type: 'replace', secret })}>
          Replace…
        </Button>
        <Button className="button danger" onPress={() => choose?.({ type: 'delete', secret })}>
          Delete…
        </Button>
      </span>
    ),
  }
  return [
    { title: 'Secret', cell: ({ name }) => name },
    ...(choose === null ? [] : [actions]),
    { title: 'Hosts', width: 220, cell: ({ hosts, env }) => (env ? 'any: it is inside' : hosts.join(', ')) },
    { title: 'Header', width: 130, cell: ({ header }) => header ?? '' },
    { title: 'Variable', width: 170, cell: ({ env_name }) => <code>{env_name}</code> },
    { title: 'Value from', width: 130, cell: ({ provider }) => provider?.name ?? 'stored' },
    { title: 'Version', width: 80, cell: ({ version }) => version },
    { title: 'Changed', width: 110, cell: ({ updated_at }) => <Moment at={updated_at} now={now} /> },
  ]
}

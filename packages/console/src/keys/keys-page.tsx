import type { Key, NewKey } from '@holt/sdk'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { ListPage } from '../parts/list-page.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { useNow } from '../parts/spans.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltList } from '../session/use-holt-list.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { CreateKey, ProjectChoice } from './create-key.tsx'
import { RotateKey } from './rotate-key.tsx'

/** The open dialog of the page. */
type Act =
  | { readonly type: 'create' }
  | { readonly type: 'rotate' | 'revoke'; readonly key: Key }
  | { readonly type: 'show'; readonly made: NewKey }

/** The page of keys. A secret is shown once, when it is made. */
export function KeysPage() {
  const { session } = useSession()
  const now = useNow()
  const [act, setAct] = useState<Act | null>(null)
  const [project, setProject] = useState<string>(session.project_id)
  const keys = useHoltList({
    key: ['keys', project],
    list: (holt, options) => holt.keys.list({ ...options, ...(project === session.project_id ? {} : { project }) }),
  })
  const close = () => setAct(null)
  const show = (made: NewKey) => setAct({ type: 'show', made })
  return (
    <>
      <ListPage
        title="Keys"
        what="keys"
        query={keys}
        choice={mayUse(session, 'operator') ? <ProjectChoice project={project} set={setProject} /> : null}
        action={
          <Button className="button primary" onPress={() => setAct({ type: 'create' })}>
            Create a key
          </Button>
        }
        textsOf={({ name, key_id, prefix, scopes }) => [name, key_id, prefix, ...scopes]}
        empty={<NoKeys />}
      >
        {(rows) => (
          <DataTable
            label="Keys"
            rows={rows}
            columns={columnsAt({ now, own: session.key_id, choose: setAct })}
            idOf={({ key_id }) => key_id}
            nameOf={({ name }) => name}
          />
        )}
      </ListPage>
      {act?.type === 'create' ? <CreateKey projectId={project} onMade={show} onClose={close} /> : null}
      {act?.type === 'rotate' ? <RotateKey apiKey={act.key} onMade={show} onClose={close} /> : null}
      {act?.type === 'revoke' ? <RevokeKey apiKey={act.key} onClose={close} /> : null}
      {act?.type === 'show' ? (
        <ShownOnce
          title={`The key ${act.made.name}`}
          label="The key"
          secret={act.made.key}
          about="Give it to the program that needs it, as HOLT_API_KEY."
          onClose={close}
        />
      ) : null}
    </>
  )
}

function NoKeys() {
  return (
    <EmptyState title="This project has no keys">
      <p>A key opens one project, with the scopes that it has. Create one here, or in a shell:</p>
      <pre>holt key create ci --scope runtime:read runtime:write --expires 30d</pre>
    </EmptyState>
  )
}

function RevokeKey({ apiKey: { key_id, name }, onClose }: { readonly apiKey: Key; readonly onClose: () => void }) {
  const { session } = useSession()
  const revoking = useHoltMutation({
    run: (holt) => holt.keys.revoke(key_id),
    changes: [['keys']],
    onSuccess: onClose,
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={`Revoke the key ${name}?`}
      action="Revoke"
      isPending={revoking.isPending}
      onConfirm={() => revoking.mutate()}
    >
      <p>Its connections are closed within a second. Its runtimes continue. This cannot be undone.</p>
      {key_id === session.key_id ? (
        <p>
          <strong>You are signed in with this key.</strong> The session ends with it.
        </p>
      ) : null}
      {revoking.error === null ? null : <ErrorNotice error={revoking.error} />}
    </ConfirmDialog>
  )
}

interface KeyColumns {
  readonly now: number
  /** The id of the session's key. */
  readonly own: string
  readonly choose: (act: Act) => void
}

function columnsAt({ now, own, choose }: KeyColumns): readonly Column<Key>[] {
  const moment = (at: string | null, without: string) => (at === null ? without : <Moment at={at} now={now} />)
  return [
    { title: 'Key', cell: ({ key_id, name }) => (key_id === own ? `${name} (this session)` : name) },
    {
      title: 'Actions',
      width: 215,
      cell: (key) => (
        <span className="actions">
          <Button className="button" onPress={() => choose({ type: 'rotate', key })}>
            Rotate…
          </Button>
          <Button className="button danger" onPress={() => choose({ type: 'revoke', key })}>
            Revoke…
          </Button>
        </span>
      ),
    },
    { title: 'Begins with', width: 140, cell: ({ prefix }) => <code>{prefix}</code> },
    { title: 'Scopes', width: 230, cell: ({ scopes }) => <span title={scopes.join(', ')}>{scopes.join(', ')}</span> },
    { title: 'Expires', width: 110, cell: ({ expires_at }) => moment(expires_at, 'never') },
    { title: 'Last used', width: 110, cell: ({ last_used_at }) => moment(last_used_at, 'never') },
    { title: 'Old secret ends', width: 130, cell: ({ previous_until }) => moment(previous_until, '') },
    { title: 'Created', width: 110, cell: ({ created_at }) => moment(created_at, '') },
  ]
}

import type { NewWebhook, Webhook } from '@holt/sdk'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { EmptyState } from '../parts/empty-state.tsx'
import { Foreign } from '../parts/foreign.tsx'
import { ListPage } from '../parts/list-page.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { useNow } from '../parts/spans.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltList } from '../session/use-holt-list.ts'
import { WebhookDialog } from './webhook-dialog.tsx'

/** The page of webhooks, which send events to other services. */
export function WebhooksPage() {
  const { session } = useSession()
  const now = useNow()
  const [isCreating, setCreating] = useState(false)
  const [made, setMade] = useState<NewWebhook | null>(null)
  const webhooks = useHoltList({ key: ['webhooks'], list: (holt, options) => holt.webhooks.list(options) })
  const mayWrite = mayUse(session, 'webhook:write')
  return (
    <>
      <ListPage
        title="Webhooks"
        what="webhooks"
        query={webhooks}
        action={
          mayWrite ? (
            <Button className="button primary" onPress={() => setCreating(true)}>
              Create a webhook
            </Button>
          ) : null
        }
        textsOf={({ url, description, types, webhook_id }) => [url, description, webhook_id, ...types]}
        empty={<NoWebhooks mayWrite={mayWrite} />}
      >
        {(rows) => (
          <DataTable
            label="Webhooks"
            rows={rows}
            columns={columnsAt(now)}
            idOf={({ webhook_id }) => webhook_id}
            nameOf={({ url }) => url}
          />
        )}
      </ListPage>
      {isCreating ? (
        <WebhookDialog
          webhook={null}
          onMade={(webhook) => {
            setCreating(false)
            setMade(webhook)
          }}
          onClose={() => setCreating(false)}
        />
      ) : null}
      {made === null ? null : (
        <ShownOnce
          title="The secret of the webhook"
          label="The secret"
          secret={made.secret}
          about="The receiver checks the signature of each message with it."
          onClose={() => setMade(null)}
        />
      )}
    </>
  )
}

function NoWebhooks({ mayWrite }: { readonly mayWrite: boolean }) {
  return (
    <EmptyState title="No webhooks yet">
      <p>A webhook sends events to an address of yours, signed, and again until the receiver has them.</p>
      <p>{mayWrite ? 'Create one here, or in a shell:' : 'Create one in a shell:'}</p>
      <pre>holt webhook create https://hooks.example.com/holt --type 'runtime.*'</pre>
    </EmptyState>
  )
}

function columnsAt(now: number): readonly Column<Webhook>[] {
  return [
    {
      title: 'Webhook',
      cell: ({ webhook_id, url }) => (
        <Link to="/webhooks/$webhookId" params={{ webhookId: webhook_id }}>
          <Foreign>{url}</Foreign>
        </Link>
      ),
    },
    { title: 'State', width: 110, cell: ({ state }) => <span className={`state ${state}`}>{state}</span> },
    { title: 'Types', width: 220, cell: ({ types }) => (types.length === 0 ? 'every type' : types.join(', ')) },
    { title: 'Note', width: 200, cell: ({ description }) => description },
    { title: 'Retries', width: 90, cell: ({ retrying }) => retrying },
    {
      title: 'Failing',
      width: 110,
      cell: ({ failing_since: since }) => (since === null ? 'no' : <Moment at={since} now={now} />),
    },
  ]
}

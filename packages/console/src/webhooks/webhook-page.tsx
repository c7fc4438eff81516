import type { NewWebhook, Webhook } from '@holt/sdk'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { Answer } from '../parts/answer.tsx'
import { Facts } from '../parts/facts.tsx'
import { Foreign } from '../parts/foreign.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { useNow } from '../parts/spans.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'
import { DeleteWebhook } from './delete-webhook.tsx'
import { Deliveries } from './deliveries.tsx'
import { RotateSecret } from './rotate-secret.tsx'
import { type WebhookAct, WebhookActions } from './webhook-actions.tsx'
import { WebhookDialog } from './webhook-dialog.tsx'

const route = getRouteApi('/webhooks/$webhookId')

/** The page of one webhook: its settings, and what was sent to it. */
export function WebhookPage() {
  const { webhookId } = route.useParams()
  const { session } = useSession()
  const [act, setAct] = useState<WebhookAct | null>(null)
  const [made, setMade] = useState<NewWebhook | null>(null)
  const webhook = useHoltQuery({
    key: ['webhooks', webhookId],
    read: (holt, signal) => holt.webhooks.get(webhookId, { signal }),
  })
  const close = () => setAct(null)
  const show = (rotated: NewWebhook) => {
    close()
    setMade(rotated)
  }
  const mayWrite = mayUse(session, 'webhook:write')
  return (
    <Answer query={webhook} what="the webhook">
      {(shown) => (
        <>
          <div className="title">
            <h1 className="wrapped">
              <Foreign>{shown.url}</Foreign>
            </h1>
            <span className={`state ${shown.state}`}>{shown.state}</span>
          </div>
          {mayWrite ? <WebhookActions webhook={shown} choose={setAct} /> : null}
          <WebhookFacts webhook={shown} />
          <Deliveries webhookId={webhookId} />
          {act === 'change' ? <WebhookDialog webhook={shown} onMade={show} onClose={close} /> : null}
          {act === 'rotate' ? <RotateSecret webhookId={webhookId} onMade={show} onClose={close} /> : null}
          {act === 'delete' ? <DeleteWebhook webhook={shown} onClose={close} /> : null}
          {made === null ? null : (
            <ShownOnce
              title="The new secret of the webhook"
              label="The secret"
              secret={made.secret}
              about="Messages are signed with the old secret too, until its time is over."
              onClose={() => setMade(null)}
            />
          )}
        </>
      )}
    </Answer>
  )
}

function WebhookFacts({ webhook }: { readonly webhook: Webhook }) {
  const now = useNow()
  const { webhook_id, types, description, state_reason, retrying, failing_since, previous_secret_until } = webhook
  const moment = (at: string | null) => (at === null ? null : <Moment at={at} now={now} />)
  return (
    <Facts
      entries={[
        ['Id', <code key="id">{webhook_id}</code>],
        ['Types', types.length === 0 ? 'every type' : types.join(', ')],
        ['Note', description === '' ? null : description],
        ['Reason of the state', state_reason === null ? null : state_reason.message],
        ['Waiting for a retry', retrying],
        ['Failing since', moment(failing_since)],
        ['The old secret works', moment(previous_secret_until)],
        ['Changed', moment(webhook.updated_at)],
      ]}
    />
  )
}

import type { WebhookDelivery } from '@holt/sdk'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { Answer } from '../parts/answer.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Moment } from '../parts/moment-text.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { useNow } from '../parts/spans.ts'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { useHoltPages } from '../session/use-holt-pages.ts'
import { DeliveryDialog } from './delivery-dialog.tsx'

/** The deliveries of one page of the service. */
const pageSize = 50

const states = { '': 'Every state', delivered: 'Delivered', retrying: 'Retrying', failed: 'Failed' } as const

/** A choice of states. */
type StateChoice = keyof typeof states

/** Shows what was sent to a webhook, with the outcome of each try. */
export function Deliveries({ webhookId }: { readonly webhookId: string }) {
  const { session } = useSession()
  const now = useNow()
  const [state, setState] = useState<StateChoice>('')
  const [shown, setShown] = useState<WebhookDelivery | null>(null)
  const deliveries = useHoltPages({
    key: ['webhooks', webhookId, 'deliveries', state],
    read: (holt, { cursor, signal }) =>
      holt.webhooks.deliveries(webhookId, { signal, limit: pageSize, ...(state === '' ? {} : { state }) }).page(cursor),
  })
  const redelivering = useHoltMutation({
    run: (holt, deliveryId: string) => holt.webhooks.redeliver(webhookId, deliveryId),
    changes: [['webhooks']],
  })
  const redeliver = mayUse(session, 'webhook:write') ? (id: string) => redelivering.mutate(id) : null
  return (
    <section className="section" aria-label="Deliveries">
      <div className="title">
        <h2>Deliveries</h2>
        <label>
          <span className="hidden">State of the deliveries</span>
          <select value={state} onChange={({ target }) => setState(target.value as StateChoice)}>
            {Object.entries(states).map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </div>
      {redelivering.error === null ? null : <ErrorNotice error={redelivering.error} />}
      <Answer query={deliveries} what="the deliveries">
        {(rows) =>
          rows.length === 0 ? (
            <p className="muted">
              {state === '' ? 'Nothing was sent. A test sends a message now.' : 'No delivery has this state.'}
            </p>
          ) : (
            <PlainTable
              label="Deliveries"
              rows={rows}
              idOf={({ delivery_id }) => delivery_id}
              columns={columnsAt({ now, show: setShown, redeliver })}
            />
          )
        }
      </Answer>
      {deliveries.more === undefined ? null : (
        <div>
          <BusyButton className="button" isBusy={deliveries.isReading} onPress={deliveries.more}>
            Show older deliveries
          </BusyButton>
        </div>
      )}
      {shown === null ? null : <DeliveryDialog delivery={shown} onClose={() => setShown(null)} />}
    </section>
  )
}

interface DeliveryColumns {
  readonly now: number
  readonly show: (delivery: WebhookDelivery) => void
  readonly redeliver: ((deliveryId: string) => void) | null
}

function columnsAt({ now, show, redeliver }: DeliveryColumns) {
  return [
    {
      title: 'Type',
      cell: (delivery: WebhookDelivery) => (
        <Button className="link-button" onPress={() => show(delivery)}>
          {delivery.type}
        </Button>
      ),
    },
    {
      title: 'State',
      cell: ({ state }: WebhookDelivery) => <span className={`state ${state}`}>{state}</span>,
    },
    { title: 'Status', cell: statusOf },
    { title: 'Tries', cell: ({ attempts }: WebhookDelivery) => attempts.length },
    {
      title: 'Next try',
      cell: ({ next_attempt_at: at }: WebhookDelivery) => (at === null ? '' : <Moment at={at} now={now} />),
    },
    { title: 'Queued', cell: ({ created_at }: WebhookDelivery) => <Moment at={created_at} now={now} /> },
    ...(redeliver === null
      ? []
      : [
          {
            title: 'Again',
            cell: ({ delivery_id, event_cursor, state }: WebhookDelivery) =>
              event_cursor === null ? (
                'a test'
              ) : (
                <Button className="button" isDisabled={state === 'retrying'} onPress={() => redeliver(delivery_id)}>
                  Redeliver
                </Button>
              ),
          },
        ]),
  ]
}

function statusOf({ attempts }: WebhookDelivery) {
  const last = attempts.at(-1)
  return last === undefined ? '' : (last.status ?? 'no answer')
}

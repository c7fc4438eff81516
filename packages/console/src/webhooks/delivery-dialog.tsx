import type { DeliveryAttempt, WebhookDelivery } from '@holt/sdk'
import { Button, Dialog, Heading, Modal } from 'react-aria-components'
import { Answer } from '../parts/answer.tsx'
import { Facts } from '../parts/facts.tsx'
import { Foreign } from '../parts/foreign.tsx'
import { TextBlock } from '../parts/text-block.tsx'
import { mayUse } from '../session/may-use.ts'
import { useSession } from '../session/session-context.ts'
import { useHoltQuery } from '../session/use-holt-query.ts'

interface DeliveryProps {
  readonly delivery: WebhookDelivery
  readonly onClose: () => void
}

/** Shows one delivery: the event that was sent, and each try with the answer of the receiver. */
export function DeliveryDialog({ delivery, onClose }: DeliveryProps) {
  const { session } = useSession()
  const { type, delivery_id, event_id, event_cursor: cursor, state, redelivery_of, attempts } = delivery
  return (
    <Modal className="modal wide" isOpen onOpenChange={onClose} isDismissable>
      <Dialog className="dialog">
        <Heading slot="title">{type}</Heading>
        <div className="section">
          <Facts
            entries={[
              ['Delivery', <code key="delivery">{delivery_id}</code>],
              ['webhook-id', <code key="event">{event_id}</code>],
              ['State', state],
              ['Repeats', redelivery_of],
            ]}
          />
          {attempts.map((attempt, at) => (
            <Attempt key={attempt.at} attempt={attempt} number={at + 1} />
          ))}
          {cursor !== null && mayUse(session, 'event:read') ? <SentEvent cursor={cursor} /> : null}
        </div>
        <div className="actions end">
          <Button className="button" onPress={onClose}>
            Close
          </Button>
        </div>
      </Dialog>
    </Modal>
  )
}

function Attempt({ attempt, number }: { readonly attempt: DeliveryAttempt; readonly number: number }) {
  const { at, status, duration_ms, error, response } = attempt
  return (
    <section aria-label={`Try ${number}`}>
      <h3>
        Try {number}: <Foreign>{status === null ? (error ?? 'no answer') : `status ${status}`}</Foreign>, after{' '}
        {duration_ms} ms, at {at}
      </h3>
      {response === '' ? (
        <p className="muted">The answer has no body.</p>
      ) : (
        <TextBlock label={`The answer to try ${number}`} text={response} />
      )}
    </section>
  )
}

function SentEvent({ cursor }: { readonly cursor: number }) {
  const event = useHoltQuery({
    key: ['event', cursor],
    read: async (holt, signal) => {
      const [first] = (await holt.events.page({ cursor: cursor - 1, limit: 1 }, { signal })).data
      return first?.cursor === cursor ? first : null
    },
    refetchInterval: false,
  })
  return (
    <section aria-label="The event">
      <h3>The event</h3>
      <Answer query={event} what="the event">
        {(sent) =>
          sent === null ? (
            <p className="muted">The event is no longer kept.</p>
          ) : (
            <TextBlock label="The event that was sent" text={JSON.stringify(sent, null, 2)} />
          )
        }
      </Answer>
    </section>
  )
}

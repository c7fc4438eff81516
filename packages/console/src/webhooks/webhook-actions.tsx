import type { Webhook } from '@holt/sdk'
import { Button } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Foreign } from '../parts/foreign.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'

/** The open dialog of the page. */
export type WebhookAct = 'change' | 'rotate' | 'delete'

interface ActionsProps {
  readonly webhook: Webhook
  readonly choose: (act: WebhookAct) => void
}

/** The actions on a webhook. A test shows its outcome here. */
export function WebhookActions({ webhook: { webhook_id, state }, choose }: ActionsProps) {
  const testing = useHoltMutation({ run: (holt) => holt.webhooks.test(webhook_id), changes: [['webhooks']] })
  const isActive = state === 'active'
  const setting = useHoltMutation({
    run: (holt) => holt.webhooks.update(webhook_id, { state: isActive ? 'disabled' : 'active' }),
    changes: [['webhooks']],
  })
  const [attempt] = testing.data?.attempts ?? []
  const error = testing.error ?? setting.error
  return (
    <>
      <fieldset className="actions" aria-label="Actions on the webhook">
        <BusyButton className="button primary" isBusy={testing.isPending} onPress={() => testing.mutate()}>
          Send a test
        </BusyButton>
        <Button className="button" onPress={() => choose('change')}>
          Change…
        </Button>
        <BusyButton className="button" isBusy={setting.isPending} onPress={() => setting.mutate()}>
          {isActive ? 'Disable' : 'Enable'}
        </BusyButton>
        <Button className="button" onPress={() => choose('rotate')}>
          Rotate the secret…
        </Button>
        <Button className="button danger" onPress={() => choose('delete')}>
          Delete…
        </Button>
      </fieldset>
      <p role="status">
        <Foreign>
          {testing.data === undefined || attempt === undefined
            ? ''
            : `The test was ${testing.data.state}: ${
                attempt.status === null ? (attempt.error ?? 'no answer') : `status ${attempt.status}`
              } after ${attempt.duration_ms} ms.`}
        </Foreign>
      </p>
      {error === null ? null : <ErrorNotice error={error} />}
    </>
  )
}

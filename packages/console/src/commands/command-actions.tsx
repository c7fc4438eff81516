import type { SendSignalInput } from '@holt/sdk'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Choice } from '../parts/fields.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { commandsKey } from './use-commands.ts'

/** The signals that the page offers. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGSTOP', 'SIGCONT'] as const

interface ActionsProps {
  readonly runtimeId: string
  readonly commandId: string
}

/** The actions on a running command. A kill asks first, because nothing brings the command back. */
export function CommandActions({ runtimeId, commandId }: ActionsProps) {
  const [signal, setSignal] = useState<SendSignalInput['signal']>('SIGTERM')
  const [isKilling, setKilling] = useState(false)
  const acting = useHoltMutation({
    run: async (holt, what: SendSignalInput['signal'] | 'kill') => {
      const command = await (await holt.runtimes.get(runtimeId)).commands.get(commandId)
      await (what === 'kill' ? command.kill() : command.sendSignal(what))
    },
    changes: [commandsKey(runtimeId)],
    onSuccess: () => setKilling(false),
  })
  const failure = acting.isError ? <ErrorNotice error={acting.error} /> : null
  return (
    <>
      <fieldset className="toolbar" aria-label="Actions on the command">
        <Choice label="Signal" value={signal} set={(name) => setSignal(name as SendSignalInput['signal'])}>
          {signals.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </Choice>
        <BusyButton className="button" onPress={() => acting.mutate(signal)} isBusy={acting.isPending}>
          Send
        </BusyButton>
        <Button className="button danger" onPress={() => setKilling(true)}>
          Kill…
        </Button>
      </fieldset>
      {isKilling ? null : failure}
      <ConfirmDialog
        isOpen={isKilling}
        onOpenChange={setKilling}
        title="Kill this command?"
        action="Kill"
        isPending={acting.isPending}
        onConfirm={() => acting.mutate('kill')}
      >
        <p>All of its processes end at once. Its output so far is kept.</p>
        {failure}
      </ConfirmDialog>
    </>
  )
}

import type { Runtime } from '@holt/sdk'
import { type FormEvent, useState } from 'react'
import { Form } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Field, Lines } from '../parts/fields.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { emptyRun, execLine, type RunFields, runOptions } from './run-fields.ts'
import { commandsKey } from './use-commands.ts'

interface RunFormProps {
  readonly runtime: Runtime
  /** Called with the id of the command that was started. */
  readonly onStarted: (commandId: string) => void
}

/** The form that runs a command, with the line that does the same in a shell. */
export function RunForm({ runtime, onStarted }: RunFormProps) {
  const [fields, setFields] = useState<RunFields>(emptyRun)
  const { runtime_id, name, commands } = runtime
  const running = useHoltMutation({
    run: () => commands.start(fields.command, runOptions(fields)),
    changes: [commandsKey(runtime_id)],
    onSuccess: ({ command_id }) => onStarted(command_id),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (fields.command.trim() !== '' && !running.isPending) running.mutate()
  }
  const bound = (field: keyof RunFields) => ({
    value: fields[field],
    set: (value: string) => setFields({ ...fields, [field]: value }),
  })
  return (
    <Form className="form run-form" onSubmit={submit}>
      <div className="toolbar">
        <Field label="Command" {...bound('command')} hint="a line for /bin/sh" />
        <BusyButton className="button primary" type="submit" isBusy={running.isPending}>
          Run
        </BusyButton>
      </div>
      <details>
        <summary>Options</summary>
        <div className="columns">
          <Field label="Directory" {...bound('cwd')} hint="as the template" />
          <Field label="User" {...bound('user')} hint="as the template" />
          <Field label="Time limit (seconds)" {...bound('timeout')} hint="none" pattern="\d+(\.\d+)?" />
          <Lines label="Environment" {...bound('env')} />
          <Lines label="Standard input" {...bound('stdin')} hint="none" />
        </div>
      </details>
      {fields.command.trim() === '' ? null : (
        <section aria-label="The same in a shell">
          <h3>holt</h3>
          <pre className="wrapped">{execLine(fields, name ?? runtime_id)}</pre>
        </section>
      )}
      {running.isError ? <ErrorNotice error={running.error} /> : null}
    </Form>
  )
}

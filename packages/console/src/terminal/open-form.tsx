import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Form } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Field } from '../parts/fields.tsx'
import type { OpenTerminals } from './open-terminals.ts'

/** The shells that the form offers. Any other command line is possible. */
const shells = ['bash', 'sh', 'zsh', 'fish', 'python3']

/** The form that opens a terminal, with a choice of its shell. */
export function OpenForm({ open }: { readonly open: OpenTerminals }) {
  const [shell, setShell] = useState('')
  const starting = useMutation({ mutationFn: () => open.start(shell) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!starting.isPending) starting.mutate()
  }
  return (
    <>
      <Form className="toolbar" onSubmit={submit}>
        <Field label="Shell" value={shell} set={setShell} hint="the user's login shell" options={shells} />
        <BusyButton className="button primary" type="submit" isBusy={starting.isPending}>
          Open a terminal
        </BusyButton>
      </Form>
      {starting.isError ? <ErrorNotice error={starting.error} /> : null}
    </>
  )
}

import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { FieldError, Form, Input, Label, Text, TextField } from 'react-aria-components'
import { BusyButton } from '../parts/busy-button.tsx'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { Frame } from '../parts/frame.tsx'
import { type Session, signIn } from './sessions.ts'

interface SignInProps {
  /** The error of a link that did not sign in; null if there is none. */
  readonly error: unknown
  readonly onSignedIn: (session: Session) => void
}

/** The page that exchanges a key for a session. The key is kept nowhere. */
export function SignInPage({ error, onSignedIn }: SignInProps) {
  return (
    <Frame label="Sign in to Holt">
      <h1>Sign in to Holt</h1>
      <p>
        On the machine of the service, <code>holt console</code> opens this page signed in.
      </p>
      {error === null ? null : <ErrorNotice error={error} />}
      <SignInForm onSignedIn={onSignedIn} />
    </Frame>
  )
}

/** The form that signs in with a key. */
export function SignInForm({ onSignedIn }: Pick<SignInProps, 'onSignedIn'>) {
  const [key, setKey] = useState('')
  const [isMissing, setMissing] = useState(false)
  const entering = useMutation({ mutationFn: signIn, onSuccess: onSignedIn, gcTime: 0 })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const sent = key.trim()
    setMissing(sent === '')
    if (sent === '') return
    setKey('')
    entering.mutate({ key: sent })
  }
  return (
    // A check by the browser would move the button at a click, when the field loses the focus.
    <Form className="form" onSubmit={submit} validationBehavior="aria">
      <TextField
        className="field"
        type="password"
        autoComplete="off"
        isRequired
        isInvalid={isMissing}
        value={key}
        onChange={(text) => {
          setKey(text)
          setMissing(false)
        }}
      >
        <Label>API key</Label>
        <Input placeholder="holt_…" />
        <Text slot="description">
          A key of <code>holt key create</code>. The browser does not keep it.
        </Text>
        <FieldError>Enter a key.</FieldError>
      </TextField>
      {entering.isError ? <ErrorNotice error={entering.error} /> : null}
      <BusyButton className="button primary" type="submit" isBusy={entering.isPending}>
        Sign in
      </BusyButton>
    </Form>
  )
}

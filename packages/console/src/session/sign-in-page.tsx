import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button, FieldError, Form, Input, Label, Text, TextField } from 'react-aria-components'
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
  const entering = useMutation({ mutationFn: signIn, onSuccess: onSignedIn, gcTime: 0 })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const sent = key.trim()
    setKey('')
    entering.mutate({ key: sent })
  }
  return (
    <Form className="form" onSubmit={submit}>
      <TextField className="field" type="password" autoComplete="off" isRequired value={key} onChange={setKey}>
        <Label>API key</Label>
        <Input placeholder="holt_…" />
        <Text slot="description">
          A key of <code>holt key create</code>. The browser does not keep it.
        </Text>
        <FieldError />
      </TextField>
      {entering.isError ? <ErrorNotice error={entering.error} /> : null}
      <Button className="button primary" type="submit" isPending={entering.isPending}>
        Sign in
      </Button>
    </Form>
  )
}

import type { Secret } from '@holt/sdk'
import { type RefObject, useRef, useState } from 'react'
import { CheckedField, CheckedLines, HiddenField } from '../parts/checked-field.tsx'
import { Choice } from '../parts/fields.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { Tick } from '../parts/tick.tsx'
import { useHoltList } from '../session/use-holt-list.ts'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import { fieldsOf, newSecretOf, newVersionOf, type SecretFields } from './secret-fields.ts'

interface SecretDialogProps {
  /** The secret that gets a new version. Null: a new secret. */
  readonly secret: Secret | null
  readonly onClose: () => void
}

/**
 * The form of a secret, or of a new version. The value is only in its input, and leaves it when the
 * service has stored it.
 */
export function SecretDialog({ secret, onClose }: SecretDialogProps) {
  const [fields, setFields] = useState(() => fieldsOf(secret))
  const value = useRef<HTMLInputElement>(null)
  const storing = useHoltMutation({
    run: (holt) => {
      const text = value.current?.value ?? ''
      return secret === null
        ? holt.secrets.create(newSecretOf(fields, text))
        : holt.secrets.replace(secret.secret_id, newVersionOf(fields, text, secret), { ifMatch: secret.etag })
    },
    changes: [['secrets']],
    onSuccess: () => {
      if (value.current !== null) value.current.value = ''
      onClose()
    },
    isSecret: true,
  })
  const bound = (name: Exclude<keyof SecretFields, 'env'>, pointer = `/${name}`) => ({
    value: fields[name],
    set: (text: string) => setFields({ ...fields, [name]: text }),
    error: storing.error,
    pointer,
  })
  const isNew = secret === null
  return (
    <FormDialog
      title={isNew ? 'Store a secret' : `Replace the secret ${secret.name}`}
      action={isNew ? 'Store' : 'Replace'}
      isPending={storing.isPending}
      error={storing.error}
      isOpen
      onOpenChange={onClose}
      onSubmit={() => storing.mutate()}
    >
      {isNew ? (
        <CheckedField
          label="Name"
          {...bound('name')}
          isRequired
          about="The names anthropic, openai and google need only a value: their hosts and headers are known."
        />
      ) : (
        <p>Every runtime that has the secret uses the new version at once. Empty fields stay as they are.</p>
      )}
      <ValueFields provider={bound('provider')} input={value} isRequired={isNew} />
      {fields.env ? null : <PlaceFields bound={bound} />}
      {isNew ? (
        <RuntimeFields
          variable={bound('envName', '/env_name')}
          isInside={fields.env}
          setInside={(env) => setFields({ ...fields, env })}
        />
      ) : null}
    </FormDialog>
  )
}

/** A text of the form, with the fault that the service found in it. */
interface BoundField {
  readonly value: string
  readonly set: (text: string) => void
  readonly error: unknown
  readonly pointer: string
}

interface ValueProps {
  readonly provider: BoundField
  /** The input, which alone has the value. */
  readonly input: RefObject<HTMLInputElement | null>
  readonly isRequired: boolean
}

/** The fields that say where the value comes from: a provider, or a person who enters it. */
function ValueFields({ provider, input, isRequired }: ValueProps) {
  const providers = useHoltList({ key: ['providers'], list: (holt, options) => holt.secrets.providers.list(options) })
  return (
    <>
      <Choice label="Value from" {...provider}>
        <option value="">the field below</option>
        {(providers.data ?? []).map(({ provider_id, name }) => (
          <option key={provider_id} value={name}>
            the provider {name}
          </option>
        ))}
      </Choice>
      {provider.value === '' ? (
        <HiddenField
          label="Value"
          input={input}
          isRequired={isRequired}
          about="It is encrypted, and no page and no answer shows it again."
          error={provider.error}
          pointer="/value"
        />
      ) : null}
    </>
  )
}

interface RuntimeProps {
  readonly variable: BoundField
  /** True if the value itself is put into runtimes. */
  readonly isInside: boolean
  readonly setInside: (isInside: boolean) => void
}

/** The fields that say what runtimes have of a new secret. */
function RuntimeFields({ variable, isInside, setInside }: RuntimeProps) {
  return (
    <>
      <CheckedField
        label="Variable"
        {...variable}
        about="The environment variable of runtimes that has the placeholder. Without one: the name in capitals."
      />
      <Tick
        label="Put the value itself into runtimes. Every program inside can then read it."
        isTicked={isInside}
        set={setInside}
      />
    </>
  )
}

interface PlaceProps {
  readonly bound: (name: 'hosts' | 'header' | 'format') => BoundField
}

/** The fields that say where the gateway puts the value. */
function PlaceFields({ bound }: PlaceProps) {
  return (
    <>
      <CheckedLines
        label="Hosts"
        {...bound('hosts')}
        placeholder="api.example.com"
        about="The only hosts that get the value, one in a line. *.example.com means every name below it."
      />
      <CheckedField label="Header" {...bound('header')} placeholder="authorization" />
      <CheckedField
        label="Format"
        {...bound('format')}
        placeholder="Bearer {value}"
        about="The text of the header, with {value} in the place of the value."
      />
    </>
  )
}

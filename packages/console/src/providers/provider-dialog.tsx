import type { Provider } from '@holt/sdk'
import { type ComponentProps, useRef, useState } from 'react'
import { CheckedField, HiddenField } from '../parts/checked-field.tsx'
import { Choice } from '../parts/fields.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { useHoltMutation } from '../session/use-holt-mutation.ts'
import {
  newProviderOf,
  type ProviderFields,
  type ProviderType,
  providerFieldsOf,
  providerTypes,
  settingsOf,
} from './provider-fields.ts'

interface ProviderDialogProps {
  /** The provider whose settings are replaced. Null: a new provider. */
  readonly provider: Provider | null
  readonly onClose: () => void
}

/** The form of a provider. Its secret is only in its input. */
export function ProviderDialog({ provider, onClose }: ProviderDialogProps) {
  const [fields, setFields] = useState(() => providerFieldsOf(provider))
  const secret = useRef<HTMLInputElement>(null)
  const storing = useHoltMutation({
    run: (holt) => {
      const text = secret.current?.value ?? ''
      return provider === null
        ? holt.secrets.providers.create(newProviderOf(fields, text))
        : holt.secrets.providers.replace(provider.provider_id, settingsOf(fields, text), { ifMatch: provider.etag })
    },
    changes: [['providers']],
    onSuccess: () => {
      if (secret.current !== null) secret.current.value = ''
      onClose()
    },
    isSecret: true,
  })
  const bound = (name: keyof ProviderFields, pointer = `/${name}`) => ({
    value: fields[name],
    set: (text: string) => setFields({ ...fields, [name]: text }),
    error: storing.error,
    pointer,
  })
  const hidden = { input: secret, isRequired: true, error: storing.error } as const
  return (
    <FormDialog
      title={provider === null ? 'Store a provider' : `Replace the provider ${provider.name}`}
      action={provider === null ? 'Store' : 'Replace'}
      isPending={storing.isPending}
      error={storing.error}
      isOpen
      onOpenChange={onClose}
      onSubmit={() => storing.mutate()}
    >
      {provider === null ? (
        <>
          <CheckedField label="Name" {...bound('name')} isRequired />
          <Choice label="Kind" value={fields.type} set={(type) => setFields({ ...fields, type: type as ProviderType })}>
            {Object.entries(providerTypes).map(([type, about]) => (
              <option key={type} value={type}>
                {about}
              </option>
            ))}
          </Choice>
        </>
      ) : (
        <p>Its settings are replaced as a whole, so a stored secret has to be entered again.</p>
      )}
      <SettingsFields type={fields.type} bound={bound} hidden={hidden} />
    </FormDialog>
  )
}

interface SettingsProps {
  readonly type: ProviderType
  readonly bound: (
    name: keyof ProviderFields,
    pointer?: string,
  ) => {
    readonly value: string
    readonly set: (text: string) => void
    readonly error: unknown
    readonly pointer: string
  }
  readonly hidden: Pick<ComponentProps<typeof HiddenField>, 'input' | 'isRequired' | 'error'>
}

/** The fields of one kind of provider. */
function SettingsFields({ type, bound, hidden }: SettingsProps) {
  if (type === 'static')
    return <HiddenField label="Value" pointer="/value" about="No page and no answer shows it again." {...hidden} />
  if (type === 'oauth2')
    return (
      <>
        <CheckedField label="Token address" {...bound('tokenUrl', '/token_url')} isRequired />
        <CheckedField label="Client id" {...bound('clientId', '/client_id')} isRequired />
        <HiddenField
          label="Client secret"
          pointer="/client_secret"
          about="No page and no answer shows it again."
          {...hidden}
        />
        <CheckedField label="Scopes" {...bound('scopes')} about="Spaces separate them." />
        <CheckedField label="Audience" {...bound('audience')} />
        <Choice label="Client id and secret are sent" {...bound('authentication')}>
          <option value="basic">in the Authorization header</option>
          <option value="body">in the form</option>
        </Choice>
      </>
    )
  return (
    <>
      <CheckedField label="Audience" {...bound('audience')} isRequired about="The recipient of the tokens." />
      <CheckedField label="Lifetime (seconds)" {...bound('ttl', '/ttl_secs')} isRequired about="60 to 600." />
      <Choice label="Algorithm" {...bound('algorithm')}>
        {['RS256', 'ES256', 'EdDSA'].map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </Choice>
    </>
  )
}

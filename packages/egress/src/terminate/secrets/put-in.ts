import { minRedactedSecretLength } from '@holt/protocol'
import type { AttachedSecret } from '../../contract/gateway-contract.ts'

/** One header field. Its name is in lower case over HTTP/2, and as written otherwise. */
export type Field = readonly [name: string, value: string]

/** The result of putting secrets into the fields of a request. */
export type PutIn =
  | {
      readonly type: 'fields'
      readonly fields: readonly Field[]
      /** Names of the inserted secrets. */
      readonly secrets: readonly string[]
      /**
       * New values of the fields whose secrets are long enough to be masked: the texts that an echo
       * would have.
       */
      readonly sent: readonly { readonly text: string; readonly placeholder: string }[]
    }
  | { readonly type: 'unavailable'; readonly secret: string }

/**
 * Characters allowed in a field (RFC 9110, 5.5), without the bytes that clients encode differently.
 * Any other could end the field.
 */
const fieldValue = /^[\t\x20-\x7e]*$/

/**
 * Replaces placeholders with secrets, in each secret's own header and nowhere else. A header of a
 * secret with its own format becomes exactly that. If the format is the value alone, the text
 * around the placeholder stays. Placeholders in Basic credentials (RFC 7617) of `authorization` are
 * replaced, too.
 */
export async function putIn(fields: readonly Field[], secrets: readonly AttachedSecret[]): Promise<PutIn> {
  const used: string[] = []
  const sent: { text: string; placeholder: string }[] = []
  const put: Field[] = []
  for (const [name, text] of fields) {
    const secret = secrets.find((each) => each.header === name.toLowerCase() && mentions(text, each))
    if (secret === undefined) {
      put.push([name, text])
      continue
    }
    const value = await currentValue(secret)
    if (value === null) return { type: 'unavailable', secret: secret.name }
    const filled = replacePlaceholder(text, secret, value)
    put.push([name, filled])
    if (value.length >= minRedactedSecretLength)
      sent.push({ text: filled.replace(/^Basic /, ''), placeholder: secret.placeholder })
    if (!used.includes(secret.name)) used.push(secret.name)
  }
  return { type: 'fields', fields: put, secrets: used, sent }
}

/** Returns the secret's current value, or null if it has none that is valid in a header. */
export async function currentValue(secret: AttachedSecret): Promise<string | null> {
  try {
    const current = await secret.value()
    return current !== null && fieldValue.test(current.value) ? current.value : null
  } catch {
    return null // A provider that fails gives no value: the request is refused, and the provider's owner has logged why.
  }
}

function mentions(text: string, secret: AttachedSecret): boolean {
  return text.includes(secret.placeholder) || basicCredentials(text, secret) !== null
}

function replacePlaceholder(text: string, secret: AttachedSecret, value: string): string {
  const credentials = basicCredentials(text, secret)
  if (credentials !== null)
    return `Basic ${Buffer.from(credentials.replaceAll(secret.placeholder, () => value)).toString('base64')}`
  if (secret.format === '{value}') return text.replaceAll(secret.placeholder, () => value)
  return secret.format.replaceAll('{value}', () => value)
}

/**
 * Returns the user and password of Basic credentials that hold the placeholder, or null for
 * anything else.
 */
function basicCredentials(text: string, secret: AttachedSecret): string | null {
  if (secret.header !== 'authorization') return null
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(text.trim())?.[1]
  if (encoded === undefined) return null
  const credentials = Buffer.from(encoded, 'base64').toString('utf8')
  return credentials.includes(secret.placeholder) ? credentials : null
}

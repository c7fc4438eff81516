import { minRedactedSecretLength } from '@holt/protocol'
import type { AttachedSecret } from '../../contract/gateway-contract.ts'
import { Masker, type Redaction } from './masker.ts'
import { currentValue, type Field } from './put-in.ts'

/** The maximum number of bytes of each form below, as a multiple of the value's bytes. */
const longestForm = 3

/**
 * Returns the texts to mask in responses of a host with these secrets: the values, and their echo
 * in Basic credentials.
 */
export async function redactionsFor(secrets: readonly AttachedSecret[]): Promise<readonly Redaction[]> {
  const found = await Promise.all(
    secrets.map(async (secret) => {
      const text = await currentValue(secret)
      return text === null || text.length < minRedactedSecretLength ? [] : formsOf(text, secret.placeholder)
    }),
  )
  return found.flat()
}

function formsOf(text: string, placeholder: string): Redaction[] {
  const value = Buffer.from(text, 'utf8')
  const forms = [
    text,
    value.toString('base64').replace(/=+$/, ''),
    value.toString('base64url'),
    encodeURIComponent(text),
    JSON.stringify(text).slice(1, -1),
    JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  ]
  return [...new Set(forms)].map((form) => redaction(Buffer.from(form), placeholder, longestForm * value.length))
}

/** Returns the redaction of one text. */
export function redactionOf({ text, placeholder }: { text: string; placeholder: string }): Redaction[] {
  const value = Buffer.from(text.replace(/=+$/, ''), 'latin1')
  return value.length < minRedactedSecretLength ? [] : [redaction(value, placeholder, value.length)]
}

function redaction(value: Buffer, placeholder: string, room: number): Redaction {
  const mask = Buffer.from(placeholder.slice(0, value.length).padEnd(value.length, '*'), 'latin1')
  return { value, mask, room }
}

/** Returns text without the values. */
export function redactText(text: string, redactions: readonly Redaction[]): string {
  return textRedactor(redactions)(text)
}

/** Returns fields without the values. */
export function redactFields(fields: readonly Field[], redactions: readonly Redaction[]): Field[] {
  // One for all of them: making one takes longer than reading a field.
  const redact = textRedactor(redactions)
  return fields.map(([name, value]) => [name, redact(value)])
}

function textRedactor(redactions: readonly Redaction[]): (text: string) => string {
  if (redactions.length === 0) return (text) => text
  const masker = new Masker(redactions)
  return (text) => masker.whole(Buffer.from(text, 'latin1')).toString('latin1')
}

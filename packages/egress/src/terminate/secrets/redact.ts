import { Transform } from 'node:stream'
import type { AttachedSecret } from '../../contract.ts'
import { currentValue } from './put-in.ts'

/** Shorter values would be found by chance everywhere. */
const shortestValue = 6

/** Bytes that must not come in, and what stands there instead: as many bytes, so that lengths and ranges stay true. */
export interface Redaction {
  readonly value: Buffer
  readonly mask: Buffer
}

/** What has to be looked for in answers of a host that these secrets are for: the values, and as Basic credentials would echo them. */
export async function redactionsFor(secrets: readonly AttachedSecret[]): Promise<readonly Redaction[]> {
  const found = await Promise.all(
    secrets.map(async (secret) => {
      const text = await currentValue(secret)
      return text === null ? [] : formsOf(text, secret.placeholder)
    }),
  )
  return found.flat()
}

function formsOf(text: string, placeholder: string): Redaction[] {
  const value = Buffer.from(text, 'utf8')
  if (value.length < shortestValue) return []
  const forms = [
    text,
    value.toString('base64').replace(/=+$/, ''),
    value.toString('base64url'),
    encodeURIComponent(text),
    JSON.stringify(text).slice(1, -1),
    JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  ]
  return [...new Set(forms)].map((form) => redaction(Buffer.from(form, 'utf8'), placeholder))
}

/** One text that must not come in as it is. */
export function redactionOf({ text, placeholder }: { text: string; placeholder: string }): Redaction[] {
  const value = Buffer.from(text.replace(/=+$/, ''), 'latin1')
  return value.length < shortestValue ? [] : [redaction(value, placeholder)]
}

function redaction(value: Buffer, placeholder: string): Redaction {
  return { value, mask: Buffer.from(placeholder.slice(0, value.length).padEnd(value.length, '*'), 'latin1') }
}

/** Text without the values. */
export function redactText(text: string, redactions: readonly Redaction[]): string {
  if (redactions.length === 0) return text
  const bytes = Buffer.from(text, 'latin1')
  maskAll(bytes, redactions)
  return bytes.toString('latin1')
}

/** A stream without the values, wherever its chunks are cut. It holds back only what may be the beginning of one. */
export class Redactor extends Transform {
  readonly #redactions: readonly Redaction[]
  #held: Buffer = Buffer.alloc(0)

  constructor(redactions: readonly Redaction[]) {
    super()
    this.#redactions = redactions
  }

  override _transform(chunk: Buffer, _encoding: string, done: (error: Error | null, data?: Buffer) => void): void {
    // A copy: the chunk may be shared, and it is written to.
    const bytes = Buffer.concat([this.#held, chunk])
    maskAll(bytes, this.#redactions)
    const held = heldBack(bytes, this.#redactions)
    this.#held = bytes.subarray(bytes.length - held)
    done(null, bytes.subarray(0, bytes.length - held))
  }

  override _flush(done: (error: Error | null, data?: Buffer) => void): void {
    done(null, this.#held)
  }
}

function maskAll(bytes: Buffer, redactions: readonly Redaction[]): void {
  for (const { value, mask } of redactions) {
    for (let at = bytes.indexOf(value); at >= 0; at = bytes.indexOf(value, at + value.length)) mask.copy(bytes, at)
  }
}

/** How many bytes at the end may be the beginning of a value. */
function heldBack(bytes: Buffer, redactions: readonly Redaction[]): number {
  return Math.max(0, ...redactions.map(({ value }) => overlap(bytes, value)))
}

function overlap(bytes: Buffer, value: Buffer): number {
  for (let length = Math.min(value.length - 1, bytes.length); length > 0; length--) {
    if (bytes[bytes.length - length] !== value[0]) continue
    if (bytes.subarray(bytes.length - length).equals(value.subarray(0, length))) return length
  }
  return 0
}

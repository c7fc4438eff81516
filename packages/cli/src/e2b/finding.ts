import { styled } from '../output/print.ts'
import { printable } from '../output/visible.ts'

/** The result of one check. `fix`: programs fail until it is repaired. */
export interface Finding {
  readonly name: string
  readonly status: 'ok' | 'note' | 'fix'
  readonly message: string
}

/** Returns a finding as a line. */
export function lineOf({ name, status, message }: Finding): string {
  const mark = { ok: styled('green', 'ok  '), note: 'note', fix: styled('yellow', 'FIX ') }[status]
  return `${mark} ${name}: ${printable(message)}`
}

/** Returns the message of an error, with its cause if the message alone says little. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error
    ? `${cause.message} (${(cause as NodeJS.ErrnoException).code ?? error.message})`
    : error.message
}

/** Returns the code of an error or of its cause. */
export function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
  return String(code ?? cause?.code ?? '')
}

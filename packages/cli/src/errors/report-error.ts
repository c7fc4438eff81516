import { HoltApiError, HoltError } from '@holt/sdk'
import type { Command } from 'commander'
import { say, styled } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { argumentOf } from './argument-of.ts'
import { hintOf } from './hint-of.ts'

/**
 * Prints an error: what happened, each wrong field, the next step, and facts for the operator.
 * Fields are named after the options and arguments of `command`, which sent the request.
 */
export function reportError(error: unknown, command?: Command): void {
  const wrong = wrongArguments(error, command)
  const [only, ...others] = wrong
  const isAll = only !== undefined && saysNothingElse(error)
  const message = isAll ? (others.length === 0 ? only : 'The request is not valid:') : messageOf(error)
  say(`${styled('red', 'error')}: ${message.split('\n').map(printable).join('\n  ')}`)
  if (!isAll || others.length > 0) for (const line of wrong) say(`  ${printable(line)}`)
  const hint = hintOf(error)
  if (hint !== undefined) say(`${styled('yellow', 'hint')}: ${printable(hint)}`)
  if (error instanceof HoltApiError && error.requestId !== null) say(`request: ${printable(error.requestId)}`)
}

function wrongArguments(error: unknown, command: Command | undefined): readonly string[] {
  if (!(error instanceof HoltError)) return []
  return (error.details?.issues ?? []).map(({ pointer, message }) => `${argumentOf(pointer, command)}: ${message}`)
}

/** Returns true if an error's message only lists its wrong fields, under their API names. */
function saysNothingElse(error: unknown): boolean {
  if (!(error instanceof HoltError) || !['invalid_request', 'invalid_path'].includes(error.code)) return false
  const rest = (error.details?.issues ?? []).reduce(
    (text, { pointer, message }) => text.replace(`${pointer || 'the body'} ${message}`, ''),
    error instanceof HoltApiError ? error.wireMessage : error.message,
  )
  return /^The request is not valid:[ ;]*\.?$/.test(rest)
}

/**
 * Returns the message of an error. A missing file is reported by name, without the failed system
 * call.
 */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, path } = error as NodeJS.ErrnoException
  return code === 'ENOENT' && path !== undefined ? `there is no ${path}` : error.message
}

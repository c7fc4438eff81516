import { text as textOf } from 'node:stream/consumers'
import { UsageError } from '../verb/verb.ts'

/**
 * Reads a secret from a variable, a prompt without echo, or stdin, which other users of the machine
 * cannot see. An argument is no source, because every process list shows it. One line end at the
 * end of stdin is removed.
 */
export async function readSecret(what: string, variable: string | undefined): Promise<string> {
  const value = await readFrom(what, variable)
  if (value === '') throw new UsageError(`The ${what} is empty.`)
  return value
}

async function readFrom(what: string, variable: string | undefined): Promise<string> {
  if (variable !== undefined) {
    const value = process.env[variable]
    if (value === undefined) throw new UsageError(`The variable ${variable} is not set here.`)
    return value
  }
  if (!process.stdin.isTTY) return (await textOf(process.stdin)).replace(/\r?\n$/, '')
  const { isCancel, password } = await import('@clack/prompts')
  const answer = await password({ message: `The ${what}:`, output: process.stderr })
  if (isCancel(answer)) throw new UsageError('Nothing was stored.')
  return answer
}

import type { CommandOptions } from '@holt/sdk'
import { pairsOf } from '../parts/pairs.ts'
import { shellWord } from '../parts/shell-word.ts'

/** The texts of the form that runs a command. An empty one means the default of the service. */
export const emptyRun = { command: '', cwd: '', user: '', timeout: '', env: '', stdin: '' }

/** The fields of the form by name. */
export type RunFields = Readonly<typeof emptyRun>

/** Returns the options of a command. The service itself checks the values. */
export function runOptions({ cwd, user, timeout, env, stdin }: RunFields): CommandOptions {
  const given = {
    cwd: cwd.trim() || undefined,
    user: user.trim() || undefined,
    timeout_secs: timeout.trim() === '' ? undefined : Number(timeout),
    env: pairsOf(env),
    stdin: stdin === '' ? undefined : stdin,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Returns the line that runs the same command in a shell. */
export function execLine(fields: RunFields, runtime: string): string {
  const { cwd, user, timeout_secs, env = {} } = runOptions(fields)
  const words = [
    ...(user === undefined ? [] : ['--user', user]),
    ...(cwd === undefined ? [] : ['--cwd', cwd]),
    ...Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...(timeout_secs === undefined ? [] : ['--timeout', String(timeout_secs)]),
    runtime,
    '--',
    'sh',
    '-c',
    fields.command,
  ]
  const line = `holt exec ${words.map(shellWord).join(' ')}`
  return fields.stdin === '' ? line : `printf %s ${shellWord(fields.stdin)} | ${line}`
}

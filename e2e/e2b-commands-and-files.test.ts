import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { describeClasses } from './support/classes.ts'
import { clientEnvironment, e2bClients } from './support/e2b-clients.ts'
import { createRuntime } from './support/test-runtime.ts'

/** The time for all checks of one client, in milliseconds. */
const programTimeoutMs = 150_000

/** A check of a program, with its error. */
interface Checked {
  readonly name: string
  readonly error: string | null
}

/** Runs a program with nothing but the environment of a client. Returns its checks. */
async function run(command: string, args: readonly string[]): Promise<readonly Checked[]> {
  const child = spawn(command, args, {
    env: clientEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: programTimeoutMs,
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  expect(out, err).not.toBe('')
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Checked)
}

describeClasses('commands and files of E2B', (isolation) => {
  it.each(e2bClients)(
    'work with the published client for $language',
    { timeout: programTimeoutMs },
    async ({ command, argumentsOf }) => {
      const runtime = await createRuntime({ isolation })
      const checks = await run(command, [...argumentsOf('commands-and-files'), runtime.id])
      expect(checks.filter(({ error }) => error !== null)).toEqual([])
      expect(checks.length).toBeGreaterThan(10)
    },
  )
})

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { publishedClients } from '@holt/testkit'
import { expect, it } from 'vitest'
import { describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { nodeBinary } from './support/service-process.ts'
import { createRuntime } from './support/test-runtime.ts'

/** The time for all checks of one client, in milliseconds. */
const programTimeoutMs = 150_000

/** A check of a program, with its error. */
interface Checked {
  readonly name: string
  readonly error: string | null
}

const [javascript, python] = await Promise.all([publishedClients('javascript-sdk'), publishedClients('python-sdk')])

/** Runs a program with nothing but the environment of a client. Returns its checks. */
async function run(command: string, args: readonly string[]): Promise<readonly Checked[]> {
  const env = {
    PATH: process.env.PATH,
    E2B_API_KEY: service.key,
    E2B_API_URL: service.url,
    E2B_SANDBOX_URL: service.url,
  }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: programTimeoutMs })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  expect(out, err).not.toBe('')
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Checked)
}

const programs: readonly (readonly [string, string, readonly string[]])[] = [
  [
    'JavaScript',
    nodeBinary(),
    [join(import.meta.dirname, 'e2b/commands-and-files.mjs'), join(javascript, 'node_modules/e2b/dist/index.mjs')],
  ],
  ['Python', join(python, 'bin/python'), [join(import.meta.dirname, 'e2b/commands_and_files.py')]],
]

describeClasses('commands and files of E2B', (isolation) => {
  it.each(programs)(
    'work with the published client for %s',
    { timeout: programTimeoutMs },
    async (_, command, args) => {
      const runtime = await createRuntime({ isolation })
      const checks = await run(command, [...args, runtime.id])
      expect(checks.filter(({ error }) => error !== null)).toEqual([])
      expect(checks.length).toBeGreaterThan(10)
    },
  )
})

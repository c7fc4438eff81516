import { Command, CommandResult } from '@holt/protocol'
import { expect } from 'vitest'
import { runtimesPath, success } from '../../../e2e/support/api.ts'
import type { Ask } from './ask.ts'
import { eventKey, type KnownRuntime, type Ledger } from './ledger.ts'

/**
 * Checks that the files and commands of every running runtime are the acknowledged ones. With
 * `wake` it checks paused runtimes, too. Returns the number of facts.
 */
export async function checkInside({ ask, ledger, wake }: { ask: Ask; ledger: Ledger; wake: boolean }): Promise<number> {
  let facts = 0
  for (const runtime of ledger.runtimes.values()) {
    const { id, state, files, commands } = runtime
    if (!state.isKnown('running') && !(wake && state.isKnown('paused'))) continue
    await checkFiles(ask, ledger, runtime)
    for (const [commandId, code] of commands) {
      const told = success(await ask('GET', `${runtimesPath}/${id}/commands/${commandId}`), 200, Command)
      expect(told, `${commandId} of ${id}`).toMatchObject({ state: 'exited', exit_code: code })
    }
    facts += files.size + commands.size
  }
  return facts
}

/**
 * Checks that each file has its bytes. A file whose answer was lost either has all of them or does
 * not exist.
 */
async function checkFiles(ask: Ask, ledger: Ledger, { id, state, files }: KnownRuntime): Promise<void> {
  const digests = await digestsOf(ask, id, [...files.keys()])
  if (state.isKnown('paused')) ledger.expectEvent(eventKey('runtime.running', id))
  state.mayBecome(() => 'running')
  state.is('running')
  for (const [path, fact] of files) {
    fact.is(digests.get(path) ?? null)
    if (fact.isKnown(null)) files.delete(path)
  }
}

/**
 * Returns the SHA-256 of those files that exist. The command resumes a paused runtime even if it
 * reads no files.
 */
export async function digestsOf(ask: Ask, id: string, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const argv = ['sh', '-c', 'for path; do test ! -e "$path" || sha256sum -- "$path"; done', 'sh', ...paths]
  const json = { argv, user: 'root', timeout_secs: 60 }
  const { stdout, exit_code } = success(
    await ask('POST', `${runtimesPath}/${id}/commands`, { json }),
    200,
    CommandResult,
  )
  expect(exit_code).toBe(0)
  const lines = stdout.split('\n').filter((line) => line !== '')
  return new Map(lines.map((line): [string, string] => [line.slice(66), line.slice(0, 64)]))
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { makeId } from '@holt/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryDirectory } from '../support/test-machine.ts'

const program = join(import.meta.dirname, '../support/claim-and-wait.ts')

/** Starts a process in a network namespace of its own, which claims an installation. */
async function claimElsewhere(installation: readonly string[]): Promise<{ said: string; child: ChildProcess }> {
  const child = spawn('unshare', ['--net', process.execPath, program, ...installation], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [said] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { said, child }
}

test('gives a state directory to one process, also where another has its own network', async () => {
  await using dir = await temporaryDirectory()
  const [state, one, other] = ['state', 'one', 'other'].map((name) => join(dir.path, name)) as [string, string, string]
  for (const made of [state, one, other]) await mkdir(made)
  const first = await claimElsewhere([state, one, makeId('runtime')])
  expect(first.said).toBe('claimed')
  const second = await claimElsewhere([state, other, makeId('runtime')])
  expect(second.said).toBe('conflict')
  // The kernel frees the lock of a process that is killed.
  const gone = once(first.child, 'exit')
  first.child.kill('SIGKILL')
  await gone
  const third = await claimElsewhere([state, one, makeId('runtime')])
  expect(third.said).toBe('claimed')
})

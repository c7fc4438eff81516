// A command and a process in the background with Mastra's sandbox, without a model.
import assert from 'node:assert/strict'
import { E2BSandbox } from '@mastra/e2b'

const sandbox = new E2BSandbox({ id: 'holt-example', timeout: 120_000 })
// The first start builds the template that Mastra uses unless a program names another.
await sandbox.start()
try {
  const { stdout, exitCode } = await sandbox.executeCommand('echo', ['hi'])
  assert.deepEqual([stdout.trim(), exitCode], ['hi', 0])
  assert.equal((await sandbox.executeCommand('sh', ['-c', 'exit 3'])).exitCode, 3)

  const process = await sandbox.processes.spawn('cat')
  await process.sendStdin('sent\n')
  for (let tries = 0; tries < 100 && !process.stdout.includes('sent'); tries++)
    await new Promise((resolve) => setTimeout(resolve, 100))
  assert.match(process.stdout, /sent/)
  assert.ok((await sandbox.processes.list()).some(({ pid }) => pid === process.pid))
} finally {
  await sandbox.destroy()
}
console.log('ok')

// A command, a file and the address of a port with ComputeSDK.
import assert from 'node:assert/strict'
import { e2b } from '@computesdk/e2b'

const compute = e2b({ apiKey: process.env.E2B_API_KEY })
const sandbox = await compute.sandbox.create({})
try {
  const { stdout } = await sandbox.runCommand('echo hi')
  assert.equal(stdout.trim(), 'hi')
  await sandbox.filesystem.writeFile('/tmp/b', 'x')
  assert.equal(await sandbox.filesystem.readFile('/tmp/b'), 'x')
  assert.match(await sandbox.getUrl({ port: 3000 }), /^https:\/\/3000-rt[a-z0-9]{20}\./)
} finally {
  await sandbox.destroy()
}
console.log('ok')

// A command and a file with any version of E2B's SDK for JavaScript from 1.13 on.
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'

const sandbox = await Sandbox.create()
try {
  assert.equal((await sandbox.commands.run('echo $((6 * 7))')).stdout, '42\n')
  await sandbox.files.write('a/b.txt', 'x')
  assert.equal(await sandbox.files.read('a/b.txt'), 'x')
} finally {
  await sandbox.kill()
}
console.log('ok')

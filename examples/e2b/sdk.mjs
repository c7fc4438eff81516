// A sandbox, a command and a file with E2B's SDK for JavaScript.
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'

const sandbox = await Sandbox.create()
try {
  const { stdout, exitCode } = await sandbox.commands.run('python3 -c "print(6*7)"')
  assert.deepEqual([stdout, exitCode], ['42\n', 0])

  await sandbox.files.write('a/b.txt', 'x')
  assert.equal(await sandbox.files.read('a/b.txt'), 'x')
  assert.deepEqual(
    (await sandbox.files.list('a')).map(({ name }) => name),
    ['b.txt'],
  )

  const failed = await sandbox.commands.run('exit 3').catch((error) => error)
  assert.equal(failed.exitCode, 3)

  const lines = []
  const background = await sandbox.commands.run('for i in 1 2; do echo $i; sleep 0.2; done', {
    background: true,
    onStdout: (data) => void lines.push(data),
  })
  await background.wait()
  assert.equal(lines.join(''), '1\n2\n')
} finally {
  assert.equal(await sandbox.kill(), true)
}
assert.equal(await sandbox.kill(), false)
assert.equal(await sandbox.isRunning(), false)
console.log('ok')

// Code whose variables stay, a picture and an exception, with E2B's code interpreter for JavaScript.
import assert from 'node:assert/strict'
import { Sandbox } from '@e2b/code-interpreter'

const sandbox = await Sandbox.create()
try {
  await sandbox.runCode('x = 1')
  assert.equal((await sandbox.runCode('x + 1')).text, '2')

  const { error } = await sandbox.runCode('1 / 0')
  assert.equal(error?.name, 'ZeroDivisionError')

  const { logs } = await sandbox.runCode('print("hello")')
  assert.equal(logs.stdout.join(''), 'hello\n')

  const { results } = await sandbox.runCode('import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()')
  assert.ok(
    results.some(
      ({ png }) =>
        Buffer.from(png ?? '', 'base64')
          .subarray(1, 4)
          .toString() === 'PNG',
    ),
  )
} finally {
  await sandbox.kill()
}
console.log('ok')

// The code interpreter.
import assert from 'node:assert/strict'
import * as published from '@e2b/code-interpreter'
import { check, finish, recordInstance, recordModule } from './recorder.mjs'

const { Sandbox } = recordModule(published)
const sandbox = await Sandbox.create({ timeoutMs: 900_000, envs: { OF_ALL: 'x' } })

await check(
  'code runs, and its results and outputs arrive',
  { works: ['Sandbox#runCode', 'Result#formats', 'Result#toJSON', 'Execution#toJSON'] },
  async () => {
    await sandbox.runCode('x = 41')
    const seen = { stdout: [], stderr: [], results: [] }
    const options = {
      onStdout: (line) => void seen.stdout.push(line),
      onStderr: (line) => void seen.stderr.push(line),
      onResult: (one) => void seen.results.push(one),
      envs: { A: 'b c' },
    }
    const execution = await sandbox.runCode(
      'import os, sys\nprint(os.environ["A"], os.environ["OF_ALL"])\nprint("bad", file=sys.stderr)\nx + 1',
      options,
    )
    assert.equal(execution.text, '42')
    recordInstance('Execution', execution)
    recordInstance('Result', execution.results[0])
    assert.deepEqual(execution.results[0].formats(), [])
    assert.equal(execution.results[0].toJSON().text, '42')
    assert.deepEqual(execution.toJSON().logs, { stdout: ['b c x\n'], stderr: ['bad\n'] })
    assert.equal(seen.stdout.map(({ line }) => line).join(''), 'b c x\n')
    assert.deepEqual([seen.stderr.length, seen.results.length, execution.error], [1, 1, undefined])
    const [plot] = (await sandbox.runCode('import matplotlib.pyplot as p\np.plot([1, 2])\np.show()')).results
    assert.ok(plot.formats().includes('png'))
  },
)

await check('an error of code is a result', { works: ['Sandbox#runCode'] }, async () => {
  const seen = []
  const { error } = await sandbox.runCode('1/0', { onError: (one) => void seen.push(one) })
  assert.deepEqual(
    [error.name, error.value, seen[0].name],
    ['ZeroDivisionError', 'division by zero', 'ZeroDivisionError'],
  )
  await assert.rejects(sandbox.runCode('import time; time.sleep(20)', { timeoutMs: 1000 }))
  assert.equal((await sandbox.runCode('x')).text, '41')
})

await check('other languages run', { works: ['Sandbox#runCode'] }, async () => {
  assert.match((await sandbox.runCode('console.log(6 * 7)', { language: 'javascript' })).logs.stdout.join(''), /42/)
  assert.match((await sandbox.runCode('echo $((6 * 7))', { language: 'bash' })).logs.stdout.join(''), /42/)
})

await check(
  'a language that is not installed is refused',
  { differs: { 'Sandbox#runCode': 'R and Java are not installed: the answer is 500' } },
  async () => {
    await assert.rejects(sandbox.runCode('1', { language: 'r' }), /500/)
    await assert.rejects(sandbox.runCode('1', { language: 'java' }), /500/)
  },
)

await check(
  'contexts have their own state',
  {
    works: [
      'Sandbox#createCodeContext',
      'Sandbox#listCodeContexts',
      'Sandbox#restartCodeContext',
      'Sandbox#removeCodeContext',
    ],
  },
  async () => {
    const context = await sandbox.createCodeContext({ cwd: '/tmp', language: 'python' })
    assert.deepEqual([context.cwd, context.language], ['/tmp', 'python'])
    assert.equal((await sandbox.runCode('import os; y = 1; os.getcwd()', { context })).text, "'/tmp'")
    assert.equal((await sandbox.runCode('x', { context })).error.name, 'NameError')
    const ids = async () => (await sandbox.listCodeContexts()).map(({ id }) => id)
    assert.ok((await ids()).includes(context.id))
    await sandbox.restartCodeContext(context)
    assert.equal((await sandbox.runCode('y', { context })).error.name, 'NameError')
    await sandbox.removeCodeContext(context.id)
    assert.ok(!(await ids()).includes(context.id))
    await assert.rejects(sandbox.runCode('1', { context }))
  },
)

await sandbox.kill()
await finish()

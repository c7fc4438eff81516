import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

const urlOf = (name: string) => new URL(`../../../src/daemon/machine/${name}.ts`, import.meta.url).href

/**
 * Runs a statement in a process that ends at what nobody expected, and answers how it ended and
 * what it has logged.
 */
async function run(statement: string) {
  const program = `
    import { endAtSurprise } from ${JSON.stringify(urlOf('end-at-surprise'))}
    import { makeLog } from ${JSON.stringify(urlOf('make-log'))}
    endAtSurprise(makeLog({ logLevel: 'info' }))
    setInterval(() => {}, 1000)
    ${statement}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code, stderr, lines: stdout.split('\n').filter((line) => line !== '') }
}

test.each([
  ["Promise.reject(new TypeError('too late'))", 'an unhandled rejection', 'TypeError'],
  ["setImmediate(() => { throw new RangeError('too late') })", 'an uncaught exception', 'RangeError'],
])('%s ends the process, and the last log line has the reason and its place', async (statement, msg, type) => {
  const { code, stderr, lines } = await run(statement)
  expect([code, stderr]).toEqual([1, ''])
  expect(lines).toHaveLength(1)
  const line = JSON.parse(lines[0] ?? '')
  expect(line).toMatchObject({ level: 50, msg, err: { type, message: 'too late' } })
  expect(line.err.stack).toMatch(/^\w+: too late\n +at /)
})

test('a rejection without an error also ends the process', async () => {
  const { code, lines } = await run("Promise.reject('just words')")
  expect([code, JSON.parse(lines[0] ?? '')]).toMatchObject([1, { level: 50, err: 'just words' }])
})

test('a rejection that is handled in the same turn ends nothing', async () => {
  const statement = "const late = Promise.reject(new Error('late')); late.catch(() => process.exit(3))"
  expect(await run(statement)).toMatchObject({ code: 3, lines: [] })
})

import { Writable } from 'node:stream'
import { EngineError } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import { expect, test } from 'vitest'
import { LogFlood } from '../../../src/daemon/machine/log-flood.ts'
import { makeLog } from '../../../src/daemon/machine/make-log.ts'

function keptLog() {
  const lines: string[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return { log: makeLog({ logLevel: 'info' }, destination), lines }
}

test('repeated messages are written a hundred times, then at intervals with the number of dropped lines', () => {
  let now = 0
  const flood = new LogFlood(() => now)
  const admitted = (count: number) =>
    Array.from({ length: count }, () => flood.admit('again')).filter((n) => n !== null)
  expect(admitted(1_000)).toEqual(Array(100).fill(0))
  expect(flood.admit('something else')).toBe(0)
  now += 10_000
  expect(admitted(5)).toEqual([900])
  now += 20_000
  expect(admitted(5)).toEqual([4, 0])
})

test('the log limits warnings by their message only', () => {
  const { log, lines } = keptLog()
  for (let n = 0; n < 150; n += 1) {
    log.warn({ n }, 'a warning')
    log.error({ n }, 'an error')
    log.info({ n }, 'a fact')
  }
  const written = (message: string) => lines.filter((line) => JSON.parse(line).msg === message).length
  expect([written('a warning'), written('an error'), written('a fact')]).toEqual([100, 100, 150])
})

test('an error has a bounded length in a line, whatever a guest sends', () => {
  const { log, lines } = keptLog()
  const long = 'x'.repeat(60_000)
  log.warn({ err: new EngineError('failed', long) }, 'an engine failed')
  const cause = new Error(long)
  log.warn({ err: new HoltError('unavailable', long, { cause, details: { said: long } }) }, 'a request failed')
  for (const line of lines) expect(line.length).toBeLessThan(10_000)
  expect(JSON.parse(lines[0] ?? '').err).toMatchObject({ type: 'EngineError', kind: 'failed' })
  expect(JSON.parse(lines[1] ?? '').err).toMatchObject({ type: 'HoltError', code: 'unavailable' })
})

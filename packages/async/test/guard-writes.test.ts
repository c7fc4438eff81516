import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { guardWrites, WriteRefused } from '../src/index.ts'

test('a chunk that may not leave fails its stream, also one that waited', async () => {
  const written: string[] = []
  let goOn: () => void = () => undefined
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      written.push(String(chunk))
      goOn = done
    },
  })
  let isAllowed = true
  guardWrites(stream, () => isAllowed)
  const failed = new Promise((resolve) => stream.once('error', resolve))
  stream.write('first')
  stream.write('waits')
  isAllowed = false
  goOn()
  expect(await failed).toBeInstanceOf(WriteRefused)
  expect(written).toEqual(['first'])
})

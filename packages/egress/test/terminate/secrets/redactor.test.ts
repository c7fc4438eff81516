import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Masker } from '../../../src/terminate/secrets/masker.ts'
import { redactFields, redactionOf, redactionsFor, redactText } from '../../../src/terminate/secrets/redact.ts'
import { pauseMs, Redactor } from '../../../src/terminate/secrets/redactor.ts'
import { secretOf } from '../harness.ts'
import { countingReads } from './counting-reads.ts'

const secret = 'sk-the-real-value-0123456789'
const redactions = redactionOf({ text: secret, placeholder: 'placeholder' })
const mask = 'placeholder'.padEnd(secret.length, '*')

/** Returns a redactor, and its output so far. */
function redactor(options?: { isWhole: boolean }) {
  const stream = new Redactor(new Masker(redactions), options)
  const given = { text: '' }
  stream.on('data', (part: Buffer) => {
    given.text += part.toString()
  })
  return { stream, given }
}

describe('a stream without a secret', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())
  const turns = async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  test('holds back the same for a prefix of a secret as for other text', async () => {
    for (const before of ['', 'x'.repeat(100), 'a line\n']) {
      const sizes = [secret.slice(0, 20), 'y'.repeat(20)].map(async (guess) => {
        const { stream, given } = redactor()
        stream.write(before + guess)
        await turns()
        return given.text.length
      })
      const [right, wrong] = await Promise.all(sizes)
      expect(right).toBe(wrong)
    }
  })

  test('holds nothing back after a byte that is in no secret', async () => {
    const { stream, given } = redactor()
    stream.write(`data: ${secret.slice(0, 20)}\n\n`)
    await turns()
    expect(given.text).toBe(`data: ${secret.slice(0, 20)}\n\n`)
  })

  test('continues after a pause, and still masks the rest of a secret', async () => {
    const { stream, given } = redactor()
    stream.write(secret.slice(0, 20))
    await turns()
    expect(given.text).toBe('')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(given.text).toBe(secret.slice(0, 20))
    stream.end(`${secret.slice(20)}!`)
    await turns()
    expect(given.text).toBe(`${secret.slice(0, 20)}${mask.slice(20)}!`)
  })

  test('waits for the rest if the length is known', async () => {
    const { stream, given } = redactor({ isWhole: true })
    stream.write(secret.slice(0, 20))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(given.text).toBe('')
    stream.end(secret.slice(20))
    await turns()
    expect(given.text).toBe(mask)
  })

  test('does not treat a slow reader as a pause of the sender', async () => {
    const stream = new Redactor(new Masker(redactions))
    stream.write(`${'x\n'.repeat(40_000)}${secret.slice(0, 20)}`)
    // For any duration: just before and just after any timer that may repeat.
    await vi.advanceTimersByTimeAsync(pauseMs * 40 - 1)
    let text = ''
    stream.on('data', (part: Buffer) => {
      text += part.toString()
    })
    await turns()
    // The reader has read everything, so the sender can continue.
    expect(text.endsWith('x\n')).toBe(true)
    await vi.advanceTimersByTimeAsync(2)
    stream.end(secret.slice(20))
    await turns()
    expect(text.endsWith(`\n${mask}`)).toBe(true)
  })

  test('leaves no timer when it is destroyed', async () => {
    const { stream } = redactor()
    stream.write('held')
    await turns()
    expect(vi.getTimerCount()).toBe(1)
    stream.destroy()
    await turns()
    expect(vi.getTimerCount()).toBe(0)
  })
})

test.each([15, 16])('a secret of %i characters is masked only if it cannot be guessed', async (length) => {
  const current = secret.slice(0, length)
  const found = await redactionsFor([secretOf({ current })])
  expect(redactText(`-${current}-`, found).includes(current)).toBe(length < 16)
})

test('the held-back length depends on the length of a secret, not on its letters', async () => {
  const heldOf = async (current: string) => {
    const masker = new Masker(await redactionsFor([secretOf({ current })]))
    masker.push(Buffer.alloc(1_000, 'x'))
    return masker.held
  }
  expect(await heldOf('%"/%"/%"/%"/%"/%"/%"/%"/')).toBe(await heldOf('abcdefghijklmnopqrstuvwx'))
})

test('many fields of an answer share one preparation', () => {
  const readsFor = (fields: number) => {
    const { counted, reads } = countingReads(redactions)
    const given = redactFields(
      Array.from({ length: fields }, () => ['x-echo', `-${secret}-`] as const),
      counted,
    )
    expect(given).toEqual(Array.from({ length: fields }, () => ['x-echo', `-${mask}-`]))
    return reads()
  }
  expect(readsFor(1_000)).toBe(readsFor(1))
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OutputLog } from '../src/commands/output-log.ts'
import { PlainOutput } from '../src/commands/plain-output.ts'

describe('plain output', () => {
  test.each([
    ['colors', '\u001b[1;31mred\u001b[0m plain', 'red plain'],
    ['links and titles', 'a\u001b]8;;https://evil.example\u001b\\b\u001b]2;title\u0007c', 'abc'],
    ['strings that look like text', '\u001bPq text \u001b\\shown\u001b_hidden\u009cshown', 'shownshown'],
    ['8-bit sequences', '\u009b31mred\u009d52;c;aGk=\u0007!', 'red!'],
    ['a cancelled sequence', '\u001b[31\u0018shown', 'shown'],
    ['control characters', 'a\u0000b\u0007c\u007fd\u0008e', 'abcde'],
    ['directions of text', 'safe\u202etxt.exe\u2066', 'safetxt.exe'],
    ['line ends', 'a\r\nb\rc\n\rd', 'a\nb\nc\n\nd'],
    ['markup, which is text', '<script>alert(1)</script>', '<script>alert(1)</script>'],
  ])('has no %s', (_, output, text) => {
    expect(new PlainOutput().add(output)).toBe(text)
  })

  test('is the same however the output is cut, and has no control characters', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom('\u001b', '[', ']', '\u0007', '\\', 'm', '\r', '\n', '\u009b', '\u001b[0m', 'P', '\u202e'),
    )
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const cut = new PlainOutput()
        const plain = pieces.map((each) => cut.add(each)).join('')
        expect(plain).toBe(new PlainOutput().add(pieces.join('')))
        expect(plain).not.toMatch(/[^\P{Cc}\t\n]/u)
      }),
    )
  })
})

describe('a log of output', () => {
  const item = (type: 'stdout' | 'stderr', data: string) => ({ type, cursor: 0, data, encoding: 'utf-8' as const })

  test('keeps the last characters, and says that earlier ones are missing', () => {
    const log = new OutputLog(false)
    log.add(item('stdout', 'first'))
    expect(log.isCut).toBe(false)
    for (let count = 0; count < 10; count += 1) log.add(item('stdout', 'x'.repeat(60_000)))
    log.add(item('stdout', 'last'))
    const text = log.pieces.map((piece) => piece.text).join('')
    expect([log.isCut, text.length, text.endsWith('last'), text.includes('first')]).toEqual([
      true,
      256 * 1024,
      true,
      false,
    ])
  })

  test('keeps few pieces, also of streams that alternate', () => {
    const log = new OutputLog(false)
    for (let count = 0; count < 5_000; count += 1) log.add(item(count % 2 === 0 ? 'stdout' : 'stderr', `${count};`))
    expect(log.pieces.length).toBe(2_000)
    expect(log.pieces.at(-1)).toMatchObject({ stream: 'stderr', text: '4999;' })
  })

  test('joins characters whose bytes come in two items', () => {
    const log = new OutputLog(false)
    const bytes = Buffer.from('é')
    for (const half of [bytes.subarray(0, 1), bytes.subarray(1)])
      log.add({ type: 'stdout', cursor: 0, data: half.toString('base64'), encoding: 'base64' })
    expect(log.pieces.map(({ text }) => text).join('')).toBe('é')
  })
})

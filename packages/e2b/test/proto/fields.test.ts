import { describe, expect, it } from 'vitest'
import { bytes, enumOf, message, oneOf, text, textMap, uint32 } from '../../src/proto/fields.ts'
import { parseMessage } from '../../src/proto/parse-message.ts'

const Example = message({
  plainText: text,
  count: uint32,
  data: bytes.optional(),
  kind: enumOf({ KIND_ONE: 1, KIND_TWO: 2 }).default('KIND_ONE'),
  names: textMap,
})

const parse = (value: unknown) => parseMessage(Buffer.from(JSON.stringify(value)), Example)

describe('messages in the JSON form of protobuf', () => {
  it('have defaults for what is left out or null', () => {
    const defaults = { plainText: '', count: 0, kind: 'KIND_ONE', names: {} }
    expect(parse({})).toEqual(defaults)
    expect(parse({ plainText: null, count: null, data: null })).toEqual(defaults)
    expect(parseMessage(Buffer.alloc(0), Example)).toEqual(defaults)
  })

  it('take names in both spellings, and ignore unknown fields', () => {
    expect(parse({ plainText: 'a', new_field: [{}] }).plainText).toBe('a')
    expect(parse({ plain_text: 'b' }).plainText).toBe('b')
  })

  it('take numbers as digits', () => {
    expect(parse({ count: 7 }).count).toBe(7)
    expect(parse({ count: '4294967295' }).count).toBe(4294967295)
  })

  it('take enums by name and by number, and know unknown ones', () => {
    expect(parse({ kind: 'KIND_TWO' }).kind).toBe('KIND_TWO')
    expect(parse({ kind: 2 }).kind).toBe('KIND_TWO')
    expect(parse({ kind: 3 }).kind).toBeNull()
    expect(parse({ kind: 'toString' }).kind).toBeNull()
  })

  it.each(['/+8=', '/+8', '_-8', '_-8='])('take %s as bytes', (data) => {
    expect(parse({ data }).data).toEqual(Buffer.from([0xff, 0xef]))
  })

  it.each([
    ['a text for a number', { count: 'x' }],
    ['a number below zero', { count: -1 }],
    ['a number above 32 bits', { count: '4294967296' }],
    ['other characters in bytes', { data: 'a b' }],
    ['a number for a text', { plainText: 1 }],
    ['a value of a map that is no text', { names: { a: 1 } }],
    ['no object', []],
    ['null', null],
  ])('refuse %s', (_, value) => {
    expect(() => parse(value)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
  })

  it('refuse text that is not JSON or not UTF-8, and odd shapes', () => {
    const wrong = [Buffer.from('{'), Buffer.from([0x22, 0xff, 0x22]), Buffer.from('['.repeat(40))]
    for (const json of wrong)
      expect(() => parseMessage(json, Example)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
  })

  it('do not take a name of the language itself as a field', () => {
    const parsed = parseMessage(Buffer.from('{"__proto__": {"plainText": "x"}}'), Example)
    expect([parsed.plainText, Object.getPrototypeOf(parsed)]).toEqual(['', Object.prototype])
    expect(parseMessage(Buffer.from('{"names": {"__proto__": "x"}}'), Example).names).toEqual({})
  })

  it('of which one field may be set refuse two', () => {
    const One = oneOf({ a: text.removeDefault().optional(), b: text.removeDefault().optional() })
    expect(parseMessage(Buffer.from('{"a": ""}'), One)).toEqual({ a: '' })
    expect(() => parseMessage(Buffer.from('{"a": "", "b": ""}'), One)).toThrow('one field only')
  })
})

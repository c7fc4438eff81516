import { expect, test } from 'vitest'
import { drawn, inlineProtocol, pictureOf } from '../../src/code/pictures.ts'

test.each<[Record<string, string>, 'kitty' | 'iterm2' | null]>([
  [{}, null],
  [{ TERM: 'xterm-256color' }, null],
  [{ TERM: 'xterm-kitty' }, 'kitty'],
  [{ TERM: 'xterm-ghostty', TERM_PROGRAM: 'ghostty' }, 'kitty'],
  [{ KITTY_WINDOW_ID: '1' }, 'kitty'],
  [{ TERM_PROGRAM: 'iTerm.app' }, 'iterm2'],
  [{ TERM_PROGRAM: 'WezTerm' }, 'iterm2'],
  [{ LC_TERMINAL: 'iTerm2' }, 'iterm2'],
  [{ TERM: 'xterm-kitty', TMUX: '/tmp/tmux' }, null],
  [{ TERM: 'screen-256color', LC_TERMINAL: 'iTerm2' }, null],
])('the terminal of %j draws by %j', (env, expected) => {
  expect(inlineProtocol(env)).toBe(expected)
})

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47])
const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0])

test('a picture is what begins as one', () => {
  const of = (data: Record<string, unknown>) => pictureOf({ data })?.ending ?? null
  expect(of({ 'image/png': png.toString('base64'), 'image/jpeg': jpeg.toString('base64') })).toBe('png')
  expect(of({ 'image/png': 'x', 'image/jpeg': jpeg.toString('base64') })).toBe('jpg')
  expect(of({ 'image/png': jpeg.toString('base64') })).toBeNull()
  expect(of({ 'image/png': 7, 'text/html': '<b>' })).toBeNull()
  expect(of({ 'image/svg+xml': '<svg/>' })).toBe('svg')
})

test('sequences have nothing of the runtime but base64', () => {
  const attack = `${png.toString('base64')}\u0007\u001b[2J`
  const picture = pictureOf({ data: { 'image/png': attack } })
  if (picture === null) throw new Error('no picture')
  for (const protocol of ['kitty', 'iterm2'] as const) {
    const text = drawn(picture, protocol) ?? ''
    expect(text).not.toContain('[2J')
    expect(text.match(/\u0007/g)?.length ?? 0).toBe(protocol === 'iterm2' ? 1 : 0)
  }
  expect(drawn({ bytes: jpeg, ending: 'jpg' }, 'kitty')).toBeNull()
  expect(drawn({ bytes: Buffer.from('<svg/>'), ending: 'svg' }, 'iterm2')).toBeNull()
})

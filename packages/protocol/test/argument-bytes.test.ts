import { describe, expect, test } from 'vitest'
import { CreateBuild, CreateRuntime, StartCommand } from '../src/index.ts'

const limit = 131_071
/** Returns a text of this many bytes, with two bytes for each character. */
const wide = (bytes: number) => 'é'.repeat(Math.floor(bytes / 2)) + 'x'.repeat(bytes % 2)

describe('the arguments of a program have a size limit', () => {
  const longEnv = (bytes: number) => ({ LONG: wide(bytes - 'LONG='.length) })
  test.each([
    ['a command', 'command', (bytes: number) => StartCommand.safeParse({ command: wide(bytes) })],
    ['an argument', 'argv/1', (bytes: number) => StartCommand.safeParse({ argv: ['echo', wide(bytes)] })],
    [
      'a variable of a command',
      'env/LONG',
      (bytes: number) => StartCommand.safeParse({ command: 'true', env: longEnv(bytes) }),
    ],
    ['a variable of a runtime', 'env/LONG', (bytes: number) => CreateRuntime.safeParse({ env: longEnv(bytes) })],
  ])('%s', (_, path, parse) => {
    expect(parse(limit).success).toBe(true)
    const issues = parse(limit + 1).error?.issues ?? []
    expect(issues.map((issue) => [issue.path.join('/'), issue.message])).toEqual([
      [path, `must be at most ${limit} bytes, and has ${limit + 1}: write it to a file, or use stdin`],
    ])
  })

  test('the commands of a template have it too', () => {
    const body = (start_cmd: string) => ({ name: 'a', from_image: 'b', start_cmd })
    expect(CreateBuild.safeParse(body('字'.repeat(43_690))).success).toBe(true)
    expect(CreateBuild.safeParse(body('字'.repeat(43_691))).success).toBe(false)
  })

  test('characters of four bytes count as four bytes', () => {
    expect(StartCommand.safeParse({ command: '😀'.repeat(60_000) }).success).toBe(false)
    expect(StartCommand.safeParse({ command: '😀'.repeat(32_767) }).success).toBe(true)
    expect(StartCommand.safeParse({ command: '' }).success).toBe(false)
  })
})

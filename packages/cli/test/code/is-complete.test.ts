import { expect, test } from 'vitest'
import { isComplete } from '../../src/code/is-complete.ts'

test.each<[string, string, boolean]>([
  ['python', '1 + 1', true],
  ['python', 'x = {', false],
  ['python', 'x = {\n}', true],
  ['python', 'print("(")', true],
  ['python', "print('it''s (')", true],
  ['python', 'x = 1  # (', true],
  ['python', 'if x:', false],
  ['python', 'if x:\n  y()', false],
  ['python', 'if x:\n  y()\n', true],
  ['python', 'for x in y:\n  z(\n', false],
  ['python', '@decorated', false],
  ['python', 'x = """', false],
  ['python', 'x = """\na\n"""', true],
  ['python', 'x = 1 + \\', false],
  ['python', 'x = {"a": 1}', true],
  ['python', 'x = {"a":\n1}', true],
  ['python', 'x = )', true],
  ['javascript', 'function f() {', false],
  ['javascript', 'function f() {\n}', true],
  ['javascript', 'f() // {', true],
  ['bash', 'echo (', true],
  ['bash', 'echo a \\', false],
])('of %s, %j is whole: %j', (language, text, expected) => {
  expect(isComplete(text.split('\n'), language)).toBe(expected)
})

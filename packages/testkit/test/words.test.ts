import { expect, test } from 'vitest'
import { brokenRules } from '../../../scripts/words/broken-rules.ts'

const words = (count: number) => `${Array.from({ length: count }, () => 'word').join(' ')}.`
const rulesOf = (file: string, text: string) => brokenRules(file, text).map(({ line, rule }) => `${line} ${rule}`)

test('page: a sentence has at most 25 words, over any number of lines', () => {
  const text = [words(25), words(26)].join(' ').replaceAll(' ', '\n')
  expect(rulesOf('page.md', text)).toEqual(['1 a sentence of 26 words: word word word word'])
})

test.each([
  ['a line of 101 columns', 'x'.repeat(101), ['1 101 columns, and at most 100 are allowed']],
  ['a line with an address', `${'x'.repeat(101)} https://example.com`, []],
  ['a row of a table', `| ${'x'.repeat(101)} |`, []],
  ['a block of code', `\`\`\`\n${'x'.repeat(101)}\n\`\`\``, []],
  ['a measured table', `<!-- bench:begin -->\n${'x'.repeat(101)}\n<!-- bench:end -->`, []],
  ['a summary', `<!-- bench-summary:begin -->\n${'x'.repeat(101)}\n<!-- bench-summary:end -->`, []],
  ['a clause as a subject', 'Runs. What nobody needs goes.', ['1 "What nobody needs goes." opens a sentence']],
  ['a question', 'What is a runtime?', []],
  ['a list', '* One.\n* Whoever asks waits.', ['2 "Whoever asks waits." opens a sentence']],
])('page: %s', (_name, text, expected) => {
  expect(rulesOf('page.md', text)).toEqual(expected)
})

test.each([
  ['a wide comment', `/** ${'x'.repeat(101)} */`, ['1 108 columns, and at most 100 are allowed']],
  ['wide code', `const x = '${'x'.repeat(101)}'`, []],
  ['a generator method', `  *#names(): Generator<${'x'.repeat(101)}> {`, []],
  ['a docstring without a subject', '/** Whether it runs. */', ['1 "Whether it runs." opens a sentence']],
  ['a docstring of lines', '/**\n * What runs.\n */', ['2 "What runs." opens a sentence']],
  ['a docstring with a subject', '/** Returns what runs. */', []],
  ['a description', "const x = z.string().describe('The name; null if there is none.')", []],
  ['an opening', 'a\n  .describe("Whether it is used.")', ['2 "Whether it is used." opens a sentence']],
  ['an opening on the next line', 'a.describe(\n  `How many.`,\n)', ['1 "How many." opens a description']],
  ['a phrase', "a.describe('The name')", ['1 a description without a full stop: The name']],
  ['a long sentence', `a.describe('${words(26)}')`, ['1 a sentence of 26 words: word word word word']],
  ['a long description', `a.describe('${'Yes. '.repeat(80)}End.')`, ['1 a description of 404 characters']],
  ['a call that is not of a schema', 'await engine.describe()', []],
])('source: %s', (_name, text, expected) => {
  expect(rulesOf('source.ts', text)).toEqual(expected)
})

test('source: the description of a route is checked, and of nothing else', () => {
  const text = "    description:\n      'Whether it runs.',"
  expect(rulesOf('src/routes/x.ts', text)).toEqual(['1 "Whether it runs." opens a sentence'])
  expect(rulesOf('source.ts', text)).toEqual([])
})

test.each([
  ['a plain name', "test('returns the image', () => {})", []],
  ['a clause as a subject', "  it('what is gone is removed')", ['1 "what" in the name of a test: what is gone is']],
  ['an idiom', '\ndescribe.each(rows)(`a run goes on`)', ['2 "goes on" in the name of a test: a run goes on']],
  ['a long name', `test('${'x'.repeat(121)}')`, [`1 a name of 121 characters: ${'x'.repeat(121)}`]],
  ['an expression', `test(\`runs (\${'x'.repeat(121)})\`)`, []],
  ['another call', "expect('what is gone')", []],
  [
    'a name behind a table',
    "  ['a', 1],\n])('what %s is removed')",
    ['2 "what" in the name of a test: what %s is removed'],
  ],
  ['the label of a case', "  ['where it was', 1],", ['1 "where" in the label of a case: where it was']],
  ['a row of values', "  ['what', 1],", []],
  ['a comment', '/** Whether it runs. */', ['1 "Whether it runs." opens a sentence']],
  ['a wide comment', `// ${'x'.repeat(101)}`, ['1 104 columns, and at most 100 are allowed']],
  ['a description', "a.describe('How many')", []],
])('name: %s', (_name, text, expected) => {
  expect(rulesOf('packages/x/test/names.test.ts', text)).toEqual(expected)
})

test.each([
  ['a wide docstring', `"""${'x'.repeat(101)}"""`, ['1 107 columns, and at most 100 are allowed']],
  ['a wide line of a docstring', `"""Runs.\n\n${'x'.repeat(101)}\n"""`, ['3 101 columns, and at most 100 are allowed']],
  ['wide code', `x = "${'x'.repeat(101)}"`, []],
  ['wide code after a docstring', `"""Runs."""\nx = "${'x'.repeat(101)}"`, []],
  ['a docstring without a subject', '    """Whether it runs."""', ['1 "Whether it runs."""" opens a comment']],
  ['a comment without a subject', '# Whoever asks waits.', ['1 "Whoever asks waits." opens a comment']],
])('python: %s', (_name, text, expected) => {
  expect(rulesOf('module.py', text)).toEqual(expected)
})

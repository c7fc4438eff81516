// biome-ignore-all lint/suspicious/noTemplateCurlyInString: words of steps have variables.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expandWord } from '../../src/dockerfile/expand-word.ts'
import { planSteps } from '../../src/steps/plan-steps.ts'

const base = { type: 'image', reference: 'python:3.12' } as const

test('steps are the instructions of one stage', () => {
  const plan = planSteps(base, [
    { run: 'pip install flask\necho done' },
    { copy: { source: 'app.py', destination: '/srv/', chown: 'app', chmod: '755' } },
    { copy: { source: ['a b', 'c*'], destination: '/d' } },
    { env: { PATH: '/opt/bin:$PATH', JSON: '{"a": 1}' } },
    { workdir: '/srv' },
    { user: 'app' },
  ])
  expect(plan).toMatchObject({ ignored: [], warnings: [], lines: [], escape: '\\' })
  expect(plan.stages).toMatchObject([{ index: 0, name: null, base }])
  expect(plan.stages[0]?.instructions).toMatchObject([
    {
      line: 1,
      type: 'run',
      form: { type: 'shell', script: 'pip install flask\necho done' },
      text: 'RUN pip install flask echo done',
    },
    {
      line: 2,
      type: 'copy',
      sources: ['app.py'],
      destination: '/srv/',
      chown: 'app',
      chmod: '755',
      from: { type: 'context' },
    },
    { line: 3, type: 'copy', sources: ['a b', 'c*'], destination: '/d/' },
    { line: 4, type: 'env', text: 'ENV PATH JSON' },
    { line: 5, type: 'workdir', path: '/srv' },
    { line: 6, type: 'user', user: 'app' },
  ])
})

function expandedValue(text: string): string {
  const [instruction] = planSteps(base, [{ env: { X: text } }]).stages[0]?.instructions ?? []
  if (instruction?.type !== 'env') throw new Error('no env')
  return expandWord(instruction.pairs[0]?.value ?? '', (name) => (name === 'x' ? 'value' : undefined))
}

test.each([
  ['$x', 'value'],
  ['${x}:${none:-d}', 'value:d'],
  ['\\$x', '$x'],
  ['{"a": "it\'s"}', '{"a": "it\'s"}'],
  ['C:\\dir', 'C:\\dir'],
  ['a  b', 'a  b'],
])('the value %s is %s', (text, value) => {
  expect(expandedValue(text)).toBe(value)
})

test('a value without a dollar sign is unchanged', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[^$]*$/), (text) => {
      expect(expandedValue(text)).toBe(text)
    }),
  )
})

test('a copy of a URL is refused', () => {
  expect(() => planSteps(base, [{ run: 'x' }, { copy: { source: 'https://x/y', destination: '/' } }])).toThrow(/Step 2/)
})

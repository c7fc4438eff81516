import { expect, test } from 'vitest'
import { buildReason } from '../../src/templates/build-progress.ts'

const origins = ['base', 'base', 1, 2] as const
const lines = ['pip install x', 'COPY a b']
const failure = { code: 'step_failed', message: 'RUN exec ... exited with 3.', line: 3, details: {} }

test('a failed command is told by the line and the number of the client', () => {
  const details = { exit_code: 3, signal: null, output: 'no such package' }
  expect(buildReason({ ...failure, details }, origins, lines)).toEqual({
    step: '1',
    message: "failed to run command 'pip install x': exit status 3\nno such package",
  })
})

test.each([
  [{ ...failure, line: 2 }, 'base'],
  [{ ...failure, code: 'image_not_found', line: null }, 'base'],
  [{ ...failure, code: 'ready_timeout', line: null }, 'finalize'],
  [{ ...failure, line: 4 }, '2'],
])('%j is at %s', (failed, step) => {
  expect(buildReason(failed, origins, lines).step).toBe(step)
})

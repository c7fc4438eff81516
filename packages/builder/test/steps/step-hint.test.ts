import { expect, test } from 'vitest'
import { BuildError } from '../../src/errors.ts'
import { hintOfExit } from '../../src/steps/step-hint.ts'

test.each([
  [127, null, 'root', '', /apt-get install/],
  [126, null, 'root', '', /chmod \+x/],
  [137, null, '', '', /more memory/],
  [null, 'SIGKILL', '', '', /more memory/],
  [1, null, '7:8', 'sh: Permission denied', /ran as 7:8/],
  [1, null, '0', 'sh: Permission denied', /end of its output/],
  [1, null, '7:8', '', /end of its output/],
  [null, null, '', '', /end of its output/],
  [null, 'SIGTERM', '', '', /end of its output/],
])('exit code %j, signal %j of the user %j after %j', (exit_code, signal, user, tail, hint) => {
  expect(hintOfExit({ exit_code, signal }, { user, tail })).toMatch(hint)
})

test('a step that failed for another reason also has a hint', () => {
  expect(new BuildError('step_failed', 'No.').hint).toMatch(/\S/)
  expect(new BuildError('step_failed', 'No.', { hint: 'Do.' }).hint).toBe('Do.')
})

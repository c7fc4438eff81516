import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { emptyRun, execLine, runOptions } from '../src/commands/run-fields.ts'

test('the form gives the options of the API, and leaves empty ones out', () => {
  expect(runOptions({ ...emptyRun, command: 'make' })).toEqual({})
  const fields = { command: 'make', cwd: ' /srv ', user: 'root', timeout: '30', env: 'A=1\nB=x=y', stdin: 'yes\n' }
  expect(runOptions(fields)).toEqual({
    cwd: '/srv',
    user: 'root',
    timeout_secs: 30,
    env: { A: '1', B: 'x=y' },
    stdin: 'yes\n',
  })
})

test('the line of bash has the same words, whatever they are', () => {
  const command = `echo "it's" $HOME; rm -rf "$(pwd)" \`id\``
  const line = execLine({ ...emptyRun, command, cwd: '/a b', env: `Q='"$X`, timeout: '5' }, 'mine')
  const script = `holt() { printf '%s\\0' "$@"; }; ${line}`
  const words = execFileSync('/bin/bash', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)
  expect(words).toEqual([
    'exec',
    '--cwd',
    '/a b',
    '--env',
    `Q='"$X`,
    '--timeout',
    '5',
    'mine',
    '--',
    'sh',
    '-c',
    command,
  ])
  const piped = execFileSync('/bin/bash', [
    '-c',
    `holt() { cat; }; ${execLine({ ...emptyRun, command: 'cat', stdin: `two 'lines'\n$x` }, 'mine')}`,
  ])
  expect(piped.toString()).toBe(`two 'lines'\n$x`)
})

import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { buildWholeProgram } from '../src/whole-program.ts'
import { holtArgv, runHolt } from './support/run-holt.ts'

const launcher = fileURLToPath(new URL('../bin/holt', import.meta.url))
const nowhere = { HOLT_URL: 'http://127.0.0.1:2', HOLT_API_KEY: 'x' }

describe('wrong usage exits with 2 and the reason', () => {
  test.each([
    [['nonsense'], 'unknown command'],
    [['ls', '--nonsense'], 'unknown option'],
    [['ls', 'extra'], 'too many arguments'],
    [['get'], 'missing required argument'],
    [['create', '--isolation', 'none'], 'Allowed choices are gvisor, container'],
    [['create', '--cpu', 'many'], 'It must be a number'],
    [['create', '-e', '=x'], 'It must be KEY=VALUE'],
    [['up', '--port', '70000'], 'It must be a port'],
    [['key', 'create', 'x', '--expires', 'soon'], 'is neither a date such as 2030-01-01 nor a time'],
    [['completion', 'tcsh'], 'Allowed choices are bash, zsh, fish'],
  ])('%j', async (args, told) => {
    const ended = await runHolt(args, { env: nowhere })
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain(told)
  })
})

test('every verb has a description and examples', async () => {
  const { commands } = await buildWholeProgram()
  for (const command of commands) {
    let help = ''
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
    expect(help, command.name()).toContain('Examples:')
    expect(command.description(), command.name()).not.toBe('')
  }
})

test('help is printed to stdout and exits with 0', async () => {
  expect(await runHolt(['--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Exit codes:'),
    stderr: '',
  })
  expect(await runHolt(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
})

test('the help names the first page of the documentation', async () => {
  const { stdout } = await runHolt(['--help'])
  const page = /^Documentation: (.*)$/m.exec(stdout)?.[1] ?? ''
  expect(await readFile(page, 'utf8')).toMatch(/^# Holt\n/)
})

test('the launcher works through a symlink, from another directory', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holt-launcher-'))
  await symlink(launcher, join(folder, 'holt'))
  expect(await runHolt(['--version'], { argv: [join(folder, 'holt')], cwd: '/' })).toMatchObject({
    code: 0,
    stderr: '',
  })
  await rm(folder, { recursive: true })
})

describe('colours', () => {
  const onTerminal = (env: Record<string, string>) =>
    execFileSync('script', ['-qec', `${holtArgv.join(' ')} ls || true`, '/dev/null'], {
      env: { PATH: process.env.PATH, TERM: 'xterm', ...nowhere, ...env },
    }).toString()

  test('are there on a terminal', () => {
    expect(onTerminal({})).toContain('\u001b[31merror')
  })

  test('are absent with NO_COLOR', () => {
    expect(onTerminal({ NO_COLOR: '1' })).not.toContain('\u001b')
  })
})

test('control characters of a hostile answer never reach the terminal', async () => {
  const ended = await runHolt(['get', 'a\u001b[2Jb'], { env: nowhere })
  expect(ended.stderr).not.toContain('\u001b')
})

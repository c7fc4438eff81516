import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt } from '../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { runHolt } from './support/run-holt.ts'

let service: TestService
let folder: string
beforeEach(async () => {
  service = await startTestService()
  folder = await mkdtemp(join(tmpdir(), 'holt-completion-'))
  await symlink(fileURLToPath(new URL('../bin/holt', import.meta.url)), join(folder, 'holt'))
  const holt = new Holt({ url: service.url, apiKey: service.key })
  const runtime = await holt.runtimes.create({ name: 'mine' })
  await runtime.snapshot({ name: 'before' })
  await holt.keys.create({ name: 'ci' })
  await holt.policies.create({ name: 'web', include: ['npm'] })
})
afterEach(async () => {
  await service.close()
  await rm(folder, { recursive: true })
})

/** The completions of bash for a line, with the script as a person sources it. */
async function offered(line: string): Promise<string[]> {
  const words = line.split(' ')
  const script = `
    source <(holt completion bash)
    COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
    _holt; printf '%s\\n' "\${COMPREPLY[@]}"`
  const env = { PATH: `${folder}:${process.env.PATH}`, HOLT_URL: service.url, HOLT_API_KEY: service.key }
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env, cwd: folder })
  return stdout.split('\n').filter((word) => word !== '')
}

describe('bash completes', () => {
  test.each([
    ['verbs', 'holt c', ['console', 'create', 'code', 'cp', 'completion']],
    ['verbs of a group', 'holt key ', ['create', 'rotate', 'ls', 'rm']],
    ['verbs of hosts', 'holt host ', ['ls', 'cordon', 'uncordon', 'drain', 'lost', 'forget']],
    ['verbs of a fleet', 'holt fleet ', ['status', 'join', 'token', 'tokens', 'revoke']],
    ['keys by their names', 'holt key rm c', ['ci']],
    ['options', 'holt run --is', ['--isolation']],
    ['choices of an option', 'holt create --isolation ', ['gvisor', 'container']],
    ['runtimes', 'holt exec m', ['mine']],
    ['several runtimes', 'holt rm mine m', ['mine']],
    ['runtimes of an agent', 'holt mcp --runtime m', ['mine']],
    ['runtimes with a file to edit', 'holt edit m', ['mine:']],
    ['presets', 'holt run --include py', ['pypi']],
    ['snapshots', 'holt create --snapshot b', ['before']],
    ['snapshots to compare with', 'holt diff mine --since b', ['before']],
    ['snapshots of a group', 'holt snapshot rm b', ['before']],
    ['snapshots to build of', 'holt template build --from-snapshot b', ['before']],
    ['runtimes of snapshots', 'holt snapshot ls --of m', ['mine']],
    ['policies', 'holt create --network w', ['web']],
    ['templates', 'holt run -t base', ['base-small']],
    ['templates to begin with', 'holt template build --from-template base', ['base-small']],
    ['no stored secrets for a build', 'holt template build --secret ', []],
    ['shells', 'holt completion f', ['fish']],
    ['nothing behind --', 'holt run -- l', []],
    ['nothing where nothing can stand', 'holt ls x', []],
  ])('%s', async (_, line, expected) => {
    expect(await offered(line)).toEqual(expected)
  })

  test('join tokens', async () => {
    const { hosts } = new Holt({ url: service.url, apiKey: service.key })
    const { token_id } = await hosts.createJoinToken()
    expect(await offered('holt fleet revoke j')).toEqual([token_id])
  })

  test('runtimes and files in cp', async () => {
    await writeFile(join(folder, 'mind.txt'), '')
    expect(await offered('holt cp mi')).toEqual(['mine:', 'mind.txt'])
  })
})

test('a missing service prints no error', async () => {
  const ended = await runHolt(['__complete', '--', 'exec', ''], {
    env: { HOLT_URL: 'http://127.0.0.1:2', HOLT_API_KEY: 'x' },
  })
  expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
})

test.each(['bash', 'zsh', 'fish'])('the script for %s is valid for that shell, if it is installed', async (shell) => {
  const { stdout } = await runHolt(['completion', shell])
  expect(stdout).toContain('__complete')
  const path = join(folder, 'script')
  await writeFile(path, stdout)
  const installed = execFileSync('sh', ['-c', `command -v ${shell} || true`])
    .toString()
    .trim()
  if (installed !== '') execFileSync(installed, ['-n', path])
})

import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shareOf } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Holt } from '../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { runHolt } from './support/run-holt.ts'
import { ShellAtTerminal, shellNames, standIn } from './support/shell-at-terminal.ts'

const hostileNames = [
  '$(touch PWNED)',
  'x$(touch PWNED)',
  'x\ntouch PWNED\n',
  'x`touch PWNED`;touch PWNED|touch PWNED&&touch PWNED',
  'x\rtouch PWNED\r',
  "x';touch PWNED;'",
  'x";touch PWNED;"',
  'x>PWNED',
  'x\\$(touch PWNED)',
  `$\{x:=$(touch PWNED)}`,
  'x\u001b[2J\u0003touch PWNED\r',
]

let service: TestService
let lying: Server
let hostile = ''
let folder: string

beforeAll(async () => {
  service = await startTestService()
  folder = await mkdtemp(join(tmpdir(), 'holt-terminal-'))
  const holt = new Holt({ url: service.url, apiKey: service.key })
  await holt.runtimes.create({ name: 'mine' })
  service.sessions.set('dev', { ...sample, name: 'dev' })
  service.sessions.set('lie', { ...sample, name: 'lie' })
  lying = createServer(async (request, response) => {
    // The service of version 0.1.0, which passes on whatever the guest says.
    const answer = await fetch(service.url + request.url, { headers: { authorization: `Bearer ${service.key}` } })
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end((await answer.text()).replaceAll('"lie"', () => JSON.stringify(hostile)))
  }).listen(0, '127.0.0.1')
  for (const name of shellNames) {
    const { stdout } = await runHolt(['completion', name])
    await writeFile(join(folder, `script.${name}`), stdout)
  }
})
afterAll(async () => {
  lying.close()
  await service.close()
  await rm(folder, { recursive: true })
})

const sample = {
  shell: '/bin/bash',
  user: 'user',
  cwd: '/',
  commands: 1,
  command_id: null,
  created_at: '2026-01-01T00:00:00.000Z',
  last_used_at: '2026-01-01T00:00:00.000Z',
}

const isPwned = async () =>
  existsSync(join(folder, 'PWNED')) || (await readdir(folder)).some((name) => /PWNED/.test(name))

describe.each(shellNames)('TAB and Enter in %s', (name) => {
  test('run no text that the service returns, and complete plain names', async () => {
    const program = fileURLToPath(new URL('../bin/holt', import.meta.url))
    await writeFile(join(folder, 'holt'), standIn(`${program} "$@"`), { mode: 0o755 })
    const env = { HOLT_URL: `http://127.0.0.1:${(lying.address() as AddressInfo).port}`, HOLT_API_KEY: service.key }
    await using shell = new ShellAtTerminal(name, { folder, env })
    await shell.ready()
    expect(await shell.complete('holt session rm mine d')).toEqual(['session', 'rm', 'mine', 'dev'])
    expect(await shell.complete('holt exec mi')).toEqual(['exec', 'mine'])
    service.sessions.delete('dev')
    for (hostile of ['$(touch PWNED)', 'x;touch PWNED;', 'x\rtouch PWNED\r']) {
      expect(await shell.complete('holt session rm mine '), hostile).toEqual(['session', 'rm', 'mine'])
      expect(await isPwned(), hostile).toBe(false)
    }
    service.sessions.set('dev', { ...sample, name: 'dev' })
  }, 240_000)

  test('run no text of a candidate, from any source', async () => {
    await writeFile(join(folder, 'holt'), standIn('cat "$folder/candidate"'), { mode: 0o755 })
    await using shell = new ShellAtTerminal(name, { folder })
    await shell.ready()
    await writeFile(join(folder, 'candidate'), 'honest-1.x\tabout\n')
    expect(await shell.complete('holt rm ho')).toEqual(['rm', 'honest-1.x'])
    await writeFile(join(folder, 'candidate'), 'runtime.*\tabout\n')
    expect(await shell.complete('holt events --type ru')).toEqual(['events', '--type', 'runtime.*'])
    for (const value of shareOf(hostileNames, 1 / 3, `hostile names in ${name}`)) {
      await writeFile(join(folder, 'candidate'), `${value}\t${value}\n`)
      await shell.tryToComplete(`holt rm ${value.startsWith('x') ? 'x' : ''}`)
      expect(await isPwned(), JSON.stringify(value)).toBe(false)
    }
  }, 240_000)
})

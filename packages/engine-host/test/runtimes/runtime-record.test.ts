import { execFileSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readRecord } from '../../src/runtimes/runtime-record.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

test.each<[string, 'absent' | 'unreadable', (path: string) => unknown]>([
  ['missing', 'absent', () => {}],
  ['cut short', 'unreadable', (path) => writeFile(path, '{"format":1')],
  ['of another format', 'unreadable', (path) => writeFile(path, '{"format":2}')],
  ['a directory', 'unreadable', (path) => mkdir(path)],
  ['a FIFO that nobody writes', 'unreadable', (path) => execFileSync('mkfifo', [path])],
  ['a symlink', 'unreadable', (path) => symlink('/etc/hostname', path)],
])('a record that is %s is %s and keeps nobody waiting', async (_name, expected, make) => {
  await using dir = await temporaryDirectory()
  const path = join(dir.path, 'runtime.json')
  await make(path)
  expect(await readRecord(path)).toBe(expected)
})

test('a container of an engine without user namespaces keeps the users of the host', async () => {
  await using dir = await temporaryDirectory()
  const path = join(dir.path, 'runtime.json')
  const digest = `sha256:${'0'.repeat(64)}`
  const spec = { id: 'x'.repeat(22), isolation: 'container', imageDigest: digest, cpu: 1, memoryMiB: 64, diskMiB: 64 }
  const record = {
    format: 1,
    installationId: 'one',
    bootId: 'boot',
    guest: 'guest',
    spec: { ...spec, pidsMax: 10, checkpointId: null },
    state: 'running',
    restored: false,
    fallback: null,
    process: { pid: 2, startTicks: 3 },
    ending: null,
  }
  await writeFile(path, JSON.stringify(record))
  expect(await readRecord(path)).toMatchObject({ ...record, firstId: null })
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { useBundle } from '../../../scripts/bundle/use-bundle.ts'

test('a bundle stays while a program that uses it runs, and older ones are removed', async () => {
  const bundles = await mkdtemp(join(tmpdir(), 'holt-bundles-'))
  onTestFinished(() => rm(bundles, { recursive: true }))
  for (const id of ['b1', 'b2', 'b3', 'b4', 'b5', 'b6']) await mkdir(join(bundles, id))
  const program = join(bundles, 'b1', 'holtd.mjs')
  await writeFile(program, 'console.log("started"); setInterval(() => {}, 60_000)')
  const running = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void running.kill('SIGKILL'))
  await once(running.stdout, 'data')

  await useBundle(bundles, 'b6')
  expect((await readdir(bundles)).toSorted()).toEqual(['b1', 'b4', 'b5', 'b6', 'current'])
  expect(await realpath(join(bundles, 'current'))).toBe(await realpath(join(bundles, 'b6')))

  const ended = once(running, 'exit')
  running.kill('SIGKILL')
  await ended
  await useBundle(bundles, 'b6')
  expect((await readdir(bundles)).toSorted()).toEqual(['b4', 'b5', 'b6', 'current'])
})

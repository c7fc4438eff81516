import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { buildOnce, builtGuest } from '../src/index.ts'

/** Makes a directory with a program that prints `word`. */
async function program(word: string): Promise<{ readonly dir: string; write(word: string): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-testkit-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const write = (text: string) =>
    writeFile(join(dir, 'main.go'), `package main\n\nfunc main() { println(${JSON.stringify(text)}) }\n`)
  await writeFile(join(dir, 'go.mod'), 'module example.com/program\n\ngo 1.24\n')
  await write(word)
  return { dir, write }
}

async function built(dir: string): Promise<string> {
  const path = await buildOnce(dir)
  onTestFinished(() => rm(path, { force: true }))
  return path
}

test('a program is built once for each content of its sources', async () => {
  const { dir, write } = await program('one')
  const first = await built(dir)
  const { ino } = statSync(first)
  expect(await built(dir)).toBe(first)
  expect(statSync(first).ino).toBe(ino)
  await write('two')
  const second = await built(dir)
  expect(second).not.toBe(first)
  expect(execFileSync('sh', ['-c', '"$0" 2>&1; "$1" 2>&1', first, second]).toString()).toBe('one\ntwo\n')
})

test('two concurrent callers get the same complete program', async () => {
  const { dir } = await program('both')
  const [one, other] = await Promise.all([built(dir), built(dir)])
  expect(one).toBe(other)
  expect(execFileSync('sh', ['-c', '"$0" 2>&1', one]).toString()).toBe('both\n')
})

test('a program without a module is built from its files', async () => {
  const { dir } = await program('alone')
  await rm(join(dir, 'go.mod'))
  expect(execFileSync('sh', ['-c', '"$0" 2>&1', await built(dir)]).toString()).toBe('alone\n')
})

test('a program that does not compile is an error with the reason, and leaves nothing', async () => {
  const { dir } = await program('x')
  await writeFile(join(dir, 'main.go'), 'package main\n\nfunc main() { nothing() }\n')
  await expect(buildOnce(dir)).rejects.toThrow('undefined: nothing')
})

test('the guest is that of this repository, and is not rebuilt while no source is newer', async () => {
  const path = await builtGuest()
  const { ino } = statSync(path)
  expect(await builtGuest()).toBe(path)
  expect(statSync(path).ino).toBe(ino)
})

import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'

/** A program in place of the browser. */
export interface FakeBrowser {
  /** The value of PATH with which a command finds it. */
  readonly path: string
  /** Waits for the address that was opened, and returns it. */
  opened(): Promise<string>
}

/** Makes an `xdg-open` that keeps the address. */
export async function fakeBrowser(): Promise<FakeBrowser> {
  const folder = await mkdtemp(join(tmpdir(), 'holt-open-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const opened = join(folder, 'opened')
  const program = join(folder, 'xdg-open')
  await writeFile(program, `#!/bin/sh\necho "$1" >${opened}.part && /bin/mv ${opened}.part ${opened}\n`)
  await chmod(program, 0o755)
  const read = () => readFile(opened, 'utf8').catch(() => '')
  return {
    path: folder,
    opened: async () => {
      await expect.poll(read, { timeout: 20_000 }).not.toBe('')
      return (await read()).trim()
    },
  }
}

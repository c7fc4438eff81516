import { execFile } from 'node:child_process'
import { lstat, mkdtemp, readdir, readFile, readlink, rm, rmdir, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestRuntime } from './test-runtime.ts'

const run = promisify(execFile)

/** A copy of a tree of a runtime on this machine, with the files that git records. */
export class TreeCopy implements AsyncDisposable {
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
  }

  /** Copies a tree, as the service's archive has it. */
  static async of(runtime: TestRuntime, path: string): Promise<TreeCopy> {
    const { bytes } = await runtime.call('GET', '/files/archive', { query: { path } })
    const dir = await mkdtemp(join(tmpdir(), 'holt-diff-'))
    await writeFile(join(dir, 'archive.tar'), bytes)
    await run('mkdir', [join(dir, 'tree')])
    await run('tar', ['-x', '-p', '-f', join(dir, 'archive.tar'), '-C', join(dir, 'tree')])
    return new TreeCopy(dir)
  }

  /** Removes entries by their paths, and directories only if they are empty. */
  async remove(paths: readonly Buffer[]): Promise<void> {
    for (const path of paths.toSorted((a, b) => Buffer.compare(b, a))) {
      const place = Buffer.concat([Buffer.from(join(this.#dir, 'tree/')), path])
      const isDirectory = (await lstat(place)).isDirectory()
      if (!isDirectory) await unlink(place)
      else if ((await readdir(place)).length === 0) await rmdir(place)
    }
  }

  /** Applies a patch with git. Rejects if git refuses it. */
  async apply(patch: string): Promise<void> {
    if (!patch.includes('diff --git ')) return
    await writeFile(join(this.#dir, 'patch'), patch)
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: this.#dir, LC_ALL: 'C' }
    await run('git', ['apply', '--whitespace=nowarn', join(this.#dir, 'patch')], { cwd: join(this.#dir, 'tree'), env })
  }

  /** Returns the files and symlinks by their paths as latin1: mode of git, and content. */
  async files(): Promise<Map<string, string>> {
    const found = new Map<string, string>()
    const walk = async (dir: Buffer, prefix: Buffer): Promise<void> => {
      for (const name of await readdir(dir, { encoding: 'buffer' })) {
        const place = Buffer.concat([dir, Buffer.from('/'), name])
        const path = Buffer.concat([prefix, name])
        const info = await lstat(place)
        const key = path.toString('latin1')
        if (info.isDirectory()) await walk(place, Buffer.concat([path, Buffer.from('/')]))
        else if (info.isSymbolicLink())
          found.set(key, `link ${(await readlink(place, { encoding: 'buffer' })).toString('latin1')}`)
        else if (info.isFile()) {
          const mode = (info.mode & 0o100) === 0 ? '644' : '755'
          found.set(key, `${mode} ${(await readFile(place)).toString('latin1')}`)
        }
      }
    }
    await walk(Buffer.from(join(this.#dir, 'tree')), Buffer.alloc(0))
    return found
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true })
  }
}

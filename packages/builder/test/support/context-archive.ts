import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type Entry, readTar, writeTar } from '@holt/tar'
import { onTestFinished } from 'vitest'
import { type Context, openContext } from '../../src/context/open-context.ts'
import type { Selection } from '../../src/context/selection.ts'

const plain = { mode: 0o644, uid: 1000, gid: 1000, mtimeSecs: 1_700_000_000, mtimeNanos: 5 } as const

type Attributes = Partial<Pick<Entry, 'mode' | 'mtimeSecs' | 'uid'>>

/** Members of a context, for tests. */
export const member = {
  file: (path: string, text = '', attributes: Attributes = {}): Entry => ({
    ...plain,
    ...attributes,
    type: 'file',
    path,
    size: Buffer.byteLength(text),
    body: (async function* () {
      yield Buffer.from(text)
    })(),
  }),
  directory: (path: string, attributes: Attributes = {}): Entry => ({
    ...plain,
    mode: 0o755,
    ...attributes,
    type: 'directory',
    path,
  }),
  symlink: (path: string, linkTarget: string): Entry => ({ ...plain, type: 'symlink', path, linkTarget }),
  hardlink: (path: string, linkTarget: string): Entry => ({ ...plain, type: 'hardlink', path, linkTarget }),
}

/** A directory that the test has for itself. */
function ownDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holt-context-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A tar of members. */
export async function tarOf(members: Iterable<Entry>): Promise<Buffer> {
  return buffer(
    writeTar(
      (async function* () {
        yield* members
      })(),
    ),
  )
}

/** A context of members, read from a file as a build reads it. */
export async function contextOf(members: Iterable<Entry>): Promise<Context> {
  return contextOfBytes(await tarOf(members))
}

/** A context of an archive's bytes. */
export async function contextOfBytes(bytes: Uint8Array): Promise<Context> {
  const path = join(ownDirectory(), 'context')
  writeFileSync(path, bytes)
  return openContext({ path, sha256: 'of-the-upload' })
}

/** Files of a text each, with their directories. */
export function contextOfFiles(files: Readonly<Record<string, string>>): Promise<Context> {
  return contextOf(Object.entries(files).map(([path, text]) => member.file(path, text)))
}

/** The entries of a selection: `path -> what it is`. */
export async function listing(selection: Selection): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for await (const entry of readTar(selection.tar())) {
    const path = Buffer.from(entry.path).toString()
    const mode = (entry.mode & 0o7777).toString(8)
    if (entry.type === 'file') found[path] = `${mode} ${entry.body === undefined ? '' : await buffer(entry.body)}`
    else if (entry.type === 'directory') found[path] = `${mode} /`
    else if (entry.type === 'symlink') found[path] = `-> ${Buffer.from(entry.linkTarget)}`
    else if (entry.type === 'hardlink') found[path] = `= ${Buffer.from(entry.linkTarget)}`
  }
  return found
}

/** Names of a selection, in order. */
export async function names(selection: Selection): Promise<string[]> {
  return Object.keys(await listing(selection)).sort()
}

/** A tree on disk, for what only tar itself can pack. */
export function tarOfDisk(files: Readonly<Record<string, string>>, options: readonly string[] = []): Buffer {
  const directory = ownDirectory()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  return execFileSync('tar', ['-C', directory, ...options, '-cf', '-', '.'], { maxBuffer: 64 << 20 })
}

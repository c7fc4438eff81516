import { execFile } from 'node:child_process'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Long enough for a busy machine. */
const timeoutMs = 60_000

/** A member as a reader sees it. Names have one character per byte, and no trailing slash. */
export interface Listed {
  readonly name: string
  readonly type: 'file' | 'directory' | 'symlink' | 'hardlink' | 'other'
  readonly size: number
  readonly target: string
}

const program = `
import json, sys, tarfile
def text(value): return value.encode('utf-8', 'surrogateescape').decode('latin-1')
def kind(m):
    if m.isreg(): return 'file'
    return 'directory' if m.isdir() else 'symlink' if m.issym() else 'hardlink' if m.islnk() else 'other'
def members(path):
    try:
        with tarfile.open(path, 'r:') as archive:
            return [dict(name=text(m.name), type=kind(m), size=m.size if m.isreg() else 0,
                         target=text(m.linkname) if m.issym() or m.islnk() else '') for m in archive]
    except Exception: return None
print(json.dumps([members(f'{sys.argv[1]}/{n}') for n in range(int(sys.argv[2]))]))`

/**
 * Lists archives as Python's `tarfile` reads them; null for one that it cannot read. It silently
 * ends an archive at a damaged later header.
 */
export async function listWithPython(archives: readonly Uint8Array[]): Promise<readonly (readonly Listed[] | null)[]> {
  await using dir = await mkdtempDisposable(join(tmpdir(), 'holt-tar-'))
  for (const [index, archive] of archives.entries()) await writeFile(`${dir.path}/${index}`, archive)
  const args = ['-c', program, dir.path, String(archives.length)]
  const { stdout } = await promisify(execFile)('python3', args, { timeout: timeoutMs, maxBuffer: 1 << 28 })
  return JSON.parse(stdout)
}

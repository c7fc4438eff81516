/** A change of a file, compared with the last commit (`index`) or with the index (`worktree`). */
export type GitChange = 'modified' | 'added' | 'deleted' | 'renamed' | 'copied' | 'type_changed' | 'unmerged'

/** A file that differs from the last commit, or is not tracked. */
export interface GitStatusEntry {
  /** The path from the root of the repository. */
  readonly path: string
  /** The earlier path of a renamed or copied file; null for others. */
  readonly previous_path: string | null
  /** The change that the next commit will contain; null if there is none. */
  readonly index: GitChange | null
  /** The change that is not staged; null if there is none. */
  readonly worktree: GitChange | 'untracked' | null
}

/** The state of a working tree. */
export interface GitStatus {
  /** The current branch; null if no branch is checked out. */
  readonly branch: string | null
  /** The current commit; null before the first one. */
  readonly commit: string | null
  /** The upstream branch, such as `origin/main`; null if there is none. */
  readonly upstream: string | null
  /** The number of commits that the upstream lacks; 0 without an upstream. */
  readonly ahead: number
  /** The number of commits that the upstream has in addition; 0 without an upstream. */
  readonly behind: number
  /** True if nothing differs from the last commit, and no file is untracked. */
  readonly clean: boolean
  readonly entries: readonly GitStatusEntry[]
}

const changes: Readonly<Record<string, GitChange>> = {
  M: 'modified',
  A: 'added',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
  U: 'unmerged',
}

/**
 * The number of fields before the path, by the type of a line: `1` ordinary, `2` renamed or
 * copied, `u` unmerged, `?` untracked.
 */
const fieldsBeforePath: Readonly<Record<string, number>> = { '1': 8, '2': 9, u: 10, '?': 1 }

/**
 * Parses `git status --porcelain=v2 --branch -z` (git-status(1), Porcelain Format Version 2).
 * Unknown lines are left out, as git asks of readers.
 */
export function parseStatus(text: string): GitStatus {
  const headers = new Map<string, string>()
  const entries: GitStatusEntry[] = []
  const lines = text.split('\0')
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (line.startsWith('# ')) {
      const [name = '', ...rest] = line.slice(2).split(' ')
      headers.set(name, rest.join(' '))
      continue
    }
    const entry = parseEntry(line)
    if (entry === null) continue
    // The earlier path of a renamed file is a line of its own.
    entries.push(line.startsWith('2 ') ? { ...entry, previous_path: lines[++at] ?? null } : entry)
  }
  const [, ahead = '0', behind = '0'] = /^\+(\d+) -(\d+)$/.exec(headers.get('branch.ab') ?? '') ?? []
  return {
    branch: unless('(detached)', headers.get('branch.head')),
    commit: unless('(initial)', headers.get('branch.oid')),
    upstream: headers.get('branch.upstream') ?? null,
    ahead: Number(ahead),
    behind: Number(behind),
    clean: entries.length === 0,
    entries,
  }
}

function parseEntry(line: string): GitStatusEntry | null {
  const [type = '', state = ''] = line.split(' ', 2)
  const count = fieldsBeforePath[type]
  const path = count === undefined ? '' : line.split(' ').slice(count).join(' ')
  if (path === '') return null
  if (type === '?') return { path, previous_path: null, index: null, worktree: 'untracked' }
  if (type === 'u') return { path, previous_path: null, index: 'unmerged', worktree: 'unmerged' }
  return {
    path,
    previous_path: null,
    index: changes[state[0] ?? ''] ?? null,
    worktree: changes[state[1] ?? ''] ?? null,
  }
}

function unless(none: string, value: string | undefined): string | null {
  return value === undefined || value === none ? null : value
}

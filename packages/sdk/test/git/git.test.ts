import { join } from 'node:path'
import type { RuntimeNetwork } from '@holt/protocol'
import { expect, test } from 'vitest'
import { ProgressLines, withoutProgress } from '../../src/git/progress-lines.ts'
import { GitFailed } from '../../src/index.ts'
import { type LocalGit, openLocalGit, type ToldNetwork } from './local-git.ts'

const author = { name: 'Ada', email: 'ada@example.com' }
const held: RuntimeNetwork['secrets'][number] = {
  name: 'token',
  env_name: 'TOKEN',
  inside: false,
  hosts: ['git.example.com', '*.code.example.com'],
  header: 'authorization',
  available: true,
}

/** A directory with a bare repository `remote.git` that has one commit, and a clone `work`. */
async function openRepository(told: ToldNetwork = {}): Promise<LocalGit> {
  const local = await openLocalGit(told)
  await local.sh(`
    git init -q --bare -b main remote.git
    git clone -q remote.git first 2>&1
    cd first && git checkout -q -b main && echo one > file
    git add file && git -c user.name=a -c user.email=a@b commit -q -m one && git push -q origin main`)
  return local
}

async function failureOf(work: Promise<unknown>): Promise<GitFailed> {
  const error = await work.then(
    () => null,
    (failure: unknown) => failure,
  )
  expect(error).toBeInstanceOf(GitFailed)
  return error as GitFailed
}

test('a repository is cloned, changed, committed and pushed', async () => {
  await using local = await openRepository()
  const { git, directory, sh } = local
  const head = await git.clone('./remote.git', { path: 'work', branch: 'main' })
  expect(head).toEqual({
    path: join(directory, 'work'),
    branch: 'main',
    commit: expect.stringMatching(/^[0-9a-f]{40}$/),
  })
  await sh('cd work && echo two > file && echo new > "a b"')
  expect(await git.diff({ cwd: 'work' })).toEqual({ patch: expect.stringMatching(/-one\n\+two\n/), truncated: false })
  const made = await git.commit('it\'s "two"\n\nbody $HOME', { cwd: 'work', all: true, author })
  expect(made).toMatchObject({ branch: 'main' })
  expect(made.commit).not.toBe(head.commit)
  expect(await sh('cd work && git log -1 --format="%an %ae|%B"')).toBe(
    'Ada ada@example.com|it\'s "two"\n\nbody $HOME\n\n',
  )
  expect(await git.status({ cwd: 'work' })).toMatchObject({ clean: true, upstream: 'origin/main', ahead: 1, behind: 0 })
  await git.push({ cwd: 'work' })
  expect(await sh('git -C remote.git rev-parse main')).toBe(`${made.commit}\n`)
  expect(await git.status({ cwd: 'work' })).toMatchObject({ clean: true, ahead: 0 })
})

test('a clone and a push report their progress by lines, and a failure has no old states of a line', async () => {
  await using local = await openRepository()
  const { git, directory, sh } = local
  const lines: string[] = []
  const onProgress = (line: string) => lines.push(line)
  await git.clone(`file://${directory}/remote.git`, { path: 'work', onProgress })
  // Two programs of git write at once, so a line of one can end in that of the other.
  expect(lines[0]).toBe("Cloning into 'work'...")
  expect(lines.join('\n')).toMatch(/Receiving objects: +\d+% \(\d\/3\)/)
  expect(lines.filter((line) => /[\r\n\u001b]/.test(line))).toEqual([])
  await sh('cd work && echo two > file')
  await git.commit('two', { cwd: 'work', all: true, author })
  lines.length = 0
  await git.push({ cwd: 'work', onProgress })
  expect(lines.join('\n')).toMatch(/Writing objects: +\d+% \(\d\/3\)/)
  await sh('cd first && echo three > file && git -c user.name=a -c user.email=a@b commit -qam three')
  const failed = await failureOf(git.push({ cwd: 'first', onProgress }))
  expect(failed.reason).toBe('rejected')
  expect(failed.stderr).not.toContain('\r')
  lines.length = 0
  await git.clone('./remote.git', { path: 'quiet' })
  expect([lines, local.ran.at(-1)]).toEqual([[], expect.not.arrayContaining(['--progress'])])
})

test('each state of a line of progress is reported once, wherever the output is cut', () => {
  const output = 'a 1%\ra 100%\ra 100%, done.\nremote: b \u001b[K\n\r\n  \nlast'
  for (let size = 1; size < output.length; size += 1) {
    const lines: string[] = []
    const progress = new ProgressLines((line) => lines.push(line))
    for (let at = 0; at < output.length; at += size) progress.add(output.slice(at, at + size))
    progress.end()
    expect(lines, `pieces of ${size}`).toEqual(['a 1%', 'a 100%', 'a 100%, done.', 'remote: b', 'last'])
  }
  expect(withoutProgress(output)).toBe('a 100%, done.\nremote: b \u001b[K\n\n  \nlast')
})

test('a clone takes its directory from the address, and a depth', async () => {
  await using local = await openRepository()
  const { git, directory, sh } = local
  await sh(
    'cd first && echo 2 > file && git -c user.name=a -c user.email=a@b commit -qam two && git push -q origin main',
  )
  const head = await git.clone(`file://${directory}/remote.git/`, { depth: 1 })
  expect(head.path).toBe(join(directory, 'remote'))
  expect(await sh('git -C remote rev-list --count HEAD')).toBe('1\n')
})

test('an empty repository has no commit', async () => {
  await using local = await openLocalGit()
  await local.sh('git init -q --bare -b trunk empty.git')
  expect(await local.git.clone('./empty.git')).toMatchObject({ branch: 'trunk', commit: null })
})

test('a status names every kind of change', async () => {
  await using local = await openLocalGit()
  const { git, sh } = local
  await sh(`
    git init -q -b main w && cd w
    for f in kept changed removed 'to move' staged; do seq 20 | sed "s/^/$f/" > "$f"; done
    git add -A && git -c user.name=a -c user.email=a@b commit -q -m one
    echo x >> changed && rm removed && git mv 'to move' 'has moved' && echo y >> staged && git add staged
    echo z >> staged && echo new > added && git add added && printf u > "$(printf 'new\\nline')"`)
  const status = await git.status({ cwd: 'w' })
  const none = { previous_path: null }
  expect(status.entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    { ...none, path: 'added', index: 'added', worktree: null },
    { ...none, path: 'changed', index: null, worktree: 'modified' },
    { path: 'has moved', previous_path: 'to move', index: 'renamed', worktree: null },
    { ...none, path: 'new\nline', index: null, worktree: 'untracked' },
    { ...none, path: 'removed', index: null, worktree: 'deleted' },
    { ...none, path: 'staged', index: 'modified', worktree: 'modified' },
  ])
  expect(status).toMatchObject({ branch: 'main', upstream: null, ahead: 0, behind: 0, clean: false })
})

test('a status names conflicts, and a commit without a branch', async () => {
  await using local = await openLocalGit()
  const { git, sh } = local
  await sh(`
    git init -q -b main w && cd w && export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    echo 1 > f && git add f && git commit -q -m one && git checkout -q -b other
    echo 2 > f && git commit -q -a -m two && git checkout -q main
    echo 3 > f && git commit -q -a -m three && git checkout -q --detach
    git merge -q other || true`)
  expect(await git.status({ cwd: 'w' })).toMatchObject({
    branch: null,
    entries: [{ path: 'f', index: 'unmerged', worktree: 'unmerged' }],
  })
})

test('a diff compares commits, the index and paths, and says that it is cut', async () => {
  await using local = await openRepository()
  const { git, sh } = local
  await sh('cd first && echo two > file && echo b > other && git add other && git tag base')
  const cwd = 'first'
  expect((await git.diff({ cwd, staged: true })).patch).toContain('+b')
  expect((await git.diff({ cwd, staged: true })).patch).not.toContain('+two')
  expect((await git.diff({ cwd, from: 'base', paths: ['file'] })).patch).toContain('+two')
  expect((await git.diff({ cwd, from: 'base', to: 'HEAD' })).patch).toBe('')
  expect(await git.diff({ cwd, max_output_bytes: 10 })).toEqual({ patch: 'diff --git', truncated: true })
  expect((await failureOf(git.diff({ cwd, from: '--output=/tmp/holt-never' }))).reason).toBe('other')
  await expect(git.diff({ cwd, to: 'HEAD' })).rejects.toThrow('to needs from')
})

test('a commit stages only the given paths', async () => {
  await using local = await openRepository()
  const { git, sh } = local
  await sh('cd first && echo 2 > file && echo 3 > "-odd name"')
  await git.commit('odd', { cwd: 'first', paths: ['-odd name'], author })
  expect((await git.status({ cwd: 'first' })).entries.map(({ path }) => path)).toEqual(['file'])
})

test('failures have a reason and a remedy', async () => {
  await using local = await openRepository()
  const { git, sh } = local
  const cwd = 'first'
  expect(await failureOf(git.status())).toMatchObject({
    reason: 'not_a_repository',
    hint: expect.stringMatching(/cwd/),
  })
  expect(await failureOf(git.commit('x', { cwd, author }))).toMatchObject({
    reason: 'nothing_to_commit',
    message: expect.stringMatching(/nothing to commit/),
  })
  await sh('echo 2 > first/file')
  expect(await failureOf(git.commit('x', { cwd, all: true }))).toMatchObject({
    reason: 'no_identity',
    hint: expect.stringMatching(/author/),
  })
  await sh(`git clone -q remote.git second && cd second && echo 9 > file
    git -c user.name=a -c user.email=a@b commit -qam nine && git push -q`)
  await git.commit('x', { cwd, all: true, author })
  expect(await failureOf(git.push({ cwd }))).toMatchObject({ reason: 'rejected', hint: expect.stringMatching(/force/) })
  await sh('git -C first fetch -q')
  await git.push({ cwd, force: true })
})

test('a machine without git is told from a failure of git', async () => {
  await using local = await openLocalGit({ env: { PATH: '/nonexistent' } })
  expect(await failureOf(local.git.status())).toMatchObject({ reason: 'no_git', code: 'git_failed' })
  expect(await failureOf(local.git.clone('https://git.example.com/a.git'))).toMatchObject({ reason: 'no_git' })
})

test('the missing policy is named', async () => {
  await using local = await openLocalGit({ allowed: false })
  // Port 1 of loopback refuses the connection.
  const failed = await failureOf(local.git.clone('https://127.0.0.1:1/a.git'))
  expect(failed).toMatchObject({ reason: 'network', exit_code: 128 })
  expect(failed.message).toContain('the network policy of the runtime does not allow 127.0.0.1:1 (no_rule)')
  expect(failed.hint).toContain('holt net set RUNTIME --allow 127.0.0.1:1')
})

test('a push is one command, and asks for the address of the remote only to explain a failure', async () => {
  await using local = await openRepository({ allowed: false })
  const { git, ran, sh } = local
  const cwd = 'first'
  await sh('cd first && echo 2 > file && git -c user.name=a -c user.email=a@b commit -qam two')
  await git.push({ cwd })
  expect(ran).toHaveLength(1)
  await sh('git -C first remote add far https://127.0.0.1:1/a.git')
  const failed = await failureOf(git.push({ cwd, remote: 'far' }))
  expect(failed).toMatchObject({ reason: 'network', hint: expect.stringContaining('--allow 127.0.0.1:1') })
  expect(await failureOf(git.push({ cwd, remote: 'none' }))).toMatchObject({
    reason: 'other',
    message: expect.stringMatching(/^git push failed: fatal: 'none' does not appear to be a git repository/),
  })
  expect(await failureOf(git.push())).toMatchObject({ reason: 'not_a_repository' })
})

test('a host that the policy allows but nobody answers is told by the words of git', async () => {
  await using local = await openLocalGit()
  const failed = await failureOf(local.git.clone('https://127.0.0.1:1/a.git'))
  expect(failed).toMatchObject({ reason: 'network' })
  expect(failed.message).toMatch(/fatal: unable to access/)
})

const unusable: readonly (readonly [string, ToldNetwork, string, RegExp])[] = [
  ['missing', {}, 'https://git.example.com/a.git', /does not have the secret token. It has no secrets/],
  ['another one', { secrets: [{ ...held, name: 'other' }] }, 'https://git.example.com/a', /It has the secrets other/],
  ['deleted', { secrets: [{ ...held, available: false }] }, 'https://git.example.com/a', /was deleted/],
  ['for another host', { secrets: [held] }, 'https://github.com/a', /is not for github.com, but for git.example.com/],
  ['for another header', { secrets: [{ ...held, header: 'x-key' }] }, 'https://git.example.com/a', /header x-key/],
  ['sent without TLS', { secrets: [held] }, 'http://git.example.com/a', /begins with https/],
  ['beside a password', { secrets: [held] }, 'https://u:p@git.example.com/a', /contains a password/],
]
test.for(unusable)('a secret that is %s is refused before git runs', async ([, told, url, words]) => {
  await using local = await openLocalGit({ ...told, env: { PATH: '/nonexistent' } })
  const failed = await failureOf(local.git.clone(url, { secret: 'token' }))
  expect(failed).toMatchObject({ reason: 'credentials', exit_code: null })
  expect(failed.message).toMatch(words)
})

test('the token comes from the variable, and is in no argument and no file', async () => {
  await using local = await openLocalGit({ secrets: [held], env: { TOKEN: 'placeholder-1' } })
  const { git, sh } = local
  // A program in the place of git notes its arguments and asks the helper, as git does.
  await sh(`mkdir bin && cat > bin/git <<'END'
#!/bin/sh
printf '%s\\n' "$@" >> "$HOME/arguments"
for helper in "$@"; do case $helper in credential.helper=!*) sh -c "\${helper#credential.helper=!} get" >> "$HOME/helper";; esac; done
exit 1
END
chmod 755 bin/git`)
  await using noted = await openLocalGit({
    secrets: [held],
    env: { TOKEN: 'placeholder-1', HOME: local.directory, PATH: `${local.directory}/bin:${process.env.PATH}` },
  })
  await failureOf(noted.git.clone('https://x.code.example.com/a.git', { secret: 'token', username: "o'neil" }))
  expect(await sh('cat helper')).toBe("username=o'neil\npassword=placeholder-1\n")
  expect(await sh('cat arguments')).not.toContain('placeholder-1')
  expect(git).toBeDefined()
})

// Git, which is commands of the sandbox.
import assert from 'node:assert/strict'
import { check, finish, sdk } from './recorder.mjs'

const { Sandbox, GitUpstreamError } = sdk
const sandbox = await Sandbox.create({ timeoutMs: 900_000 })
const { git, files, commands } = sandbox
const run = async (line) => (await commands.run(line)).stdout.trim()

await check(
  'the settings of git are kept',
  { works: ['Git#configureUser', 'Git#setConfig', 'Git#getConfig'] },
  async () => {
    await git.configureUser('A Name', 'a@example.com')
    assert.equal(await git.getConfig('user.email'), 'a@example.com')
    await git.setConfig('pull.rebase', 'false')
    assert.equal(await run('git config --global pull.rebase'), 'false')
    assert.equal(await git.getConfig('none.such'), undefined)
  },
)

await check(
  'a repository is made and committed to',
  { works: ['Git#init', 'Git#add', 'Git#commit', 'Git#status'] },
  async () => {
    await git.init('repo', { initialBranch: 'trunk' })
    await files.write('repo/a', 'one\n')
    await files.write('repo/b', 'one\n')
    assert.equal((await git.status('repo')).untrackedCount, 2)
    await git.add('repo', { files: ['a'] })
    assert.equal((await git.status('repo')).stagedCount, 1)
    await git.add('repo', { all: true })
    await git.commit('repo', 'The first', { authorName: 'Other', authorEmail: 'o@example.com' })
    assert.equal(await run('git -C repo log -1 --format="%an %ae %s"'), 'Other o@example.com The first')
    await git.commit('repo', 'Nothing', { allowEmpty: true })
    const status = await git.status('repo')
    assert.deepEqual([status.currentBranch, status.isClean], ['trunk', true])
  },
)

await check(
  'branches are made, chosen and deleted',
  { works: ['Git#createBranch', 'Git#checkoutBranch', 'Git#branches', 'Git#deleteBranch'] },
  async () => {
    await git.createBranch('repo', 'side')
    assert.equal((await git.branches('repo')).currentBranch, 'side')
    await git.checkoutBranch('repo', 'trunk')
    const { branches, currentBranch } = await git.branches('repo')
    assert.deepEqual([branches.sort(), currentBranch], [['side', 'trunk'], 'trunk'])
    await git.deleteBranch('repo', 'side', { force: true })
    assert.deepEqual((await git.branches('repo')).branches, ['trunk'])
  },
)

await check('changes are taken back', { works: ['Git#restore', 'Git#reset'] }, async () => {
  await files.write('repo/a', 'two\n')
  await git.add('repo')
  await git.restore('repo', { paths: ['a'], staged: true })
  assert.equal((await git.status('repo')).hasStaged, false)
  await git.restore('repo', { paths: ['a'] })
  assert.equal(await files.read('repo/a'), 'one\n')
  await git.reset('repo', { mode: 'hard', target: 'HEAD~1' })
  assert.equal(await run('git -C repo log --format=%s'), 'The first')
})

await check(
  'commits go to another repository and back',
  { works: ['Git#remoteAdd', 'Git#remoteGet', 'Git#push', 'Git#clone', 'Git#pull', 'Git#init'] },
  async () => {
    await git.init('/home/user/bare.git', { bare: true, initialBranch: 'trunk' })
    await git.remoteAdd('repo', 'origin', 'file:///home/user/bare.git')
    assert.equal(await git.remoteGet('repo', 'origin'), 'file:///home/user/bare.git')
    assert.equal(await git.remoteGet('repo', 'none'), undefined)
    await assert.rejects(git.pull('repo'), GitUpstreamError)
    await git.push('repo', { remote: 'origin', branch: 'trunk' })
    await git.clone('file:///home/user/bare.git', { path: 'copy', branch: 'trunk', depth: 1 })
    assert.equal(await files.read('copy/b'), 'one\n')
    await files.write('repo/c', 'new\n')
    await git.add('repo')
    await git.commit('repo', 'The second')
    await git.push('repo')
    await git.pull('copy')
    assert.equal(await files.read('copy/c'), 'new\n')
  },
)

await check('credentials are stored for a host', { works: ['Git#dangerouslyAuthenticate'] }, async () => {
  await git.dangerouslyAuthenticate({ username: 'me', password: 'secret', host: 'git.example.com' })
  const filled = await run("printf 'protocol=https\\nhost=git.example.com\\n\\n' | git credential fill")
  assert.match(filled, /username=me\npassword=secret/)
})

await sandbox.kill()
await finish()

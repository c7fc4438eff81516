import { type GitFailed, Holt, type Runtime } from '@holt/sdk'
import { afterAll, beforeAll, expect, it } from 'vitest'

import { describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { fetchOnce } from './support/fetch-once.ts'
import { McpAgent, makeKey, textOf, workScopes } from './support/mcp-agent.ts'
import { gitHost, gitToken } from './support/rig/git-host.ts'

// The client's git against a private repository: the token stays outside of the runtime.

const url = `https://${gitHost}/team/project.git`
const author = { name: 'Ada', email: 'ada@example.com' }

describeClasses('git', (isolation) => {
  const holt = new Holt({ url: service.url, apiKey: service.key, fetch: fetchOnce })
  const names = { good: `code-${isolation}`, wrong: `code-wrong-${isolation}` }
  let runtime: Runtime

  const failureOf = async (work: Promise<unknown>): Promise<GitFailed> => {
    const failed = await work.then(
      () => null,
      (error: GitFailed) => error,
    )
    expect(failed).toMatchObject({ code: 'git_failed' })
    return failed as GitFailed
  }

  beforeAll(async () => {
    const hosts = [gitHost]
    await holt.secrets.create({ name: names.good, value: gitToken, hosts, env_name: 'CODE_TOKEN' })
    await holt.secrets.create({ name: names.wrong, value: 'not-the-token-of-it', hosts, env_name: 'WRONG_TOKEN' })
    runtime = await holt.runtimes.create({
      isolation,
      secrets: Object.values(names),
      network_policy: { allow: [{ host: gitHost }] },
      timeout_secs: 600,
    })
  })
  afterAll(async () => {
    await runtime?.delete()
    for (const name of Object.values(names)) await holt.secrets.delete(name)
  })

  it('clones a private repository, commits and pushes, with a token that stays outside', async () => {
    const secret = names.good
    const lines: string[] = []
    const onProgress = (line: string) => lines.push(line)
    const { path, branch } = await runtime.git.clone(url, { secret, path: '/workspace/project', depth: 1, onProgress })
    expect(lines.join('\n')).toMatch(/Receiving objects: +\d+% \(\d+\/\d+\)/)
    expect({ path, branch }).toEqual({ path: '/workspace/project', branch: 'main' })
    const cwd = path
    await runtime.files.write(`${path}/README`, `written in ${isolation}\n`)
    expect(await runtime.git.status({ cwd })).toMatchObject({ clean: false, entries: [{ path: 'README' }] })
    expect((await runtime.git.diff({ cwd })).patch).toContain(`+written in ${isolation}`)
    const made = await runtime.git.commit('Change the page', { cwd, all: true, author })
    lines.length = 0
    await runtime.git.push({ cwd, secret, onProgress })
    expect(lines.join('\n')).toMatch(/Writing objects: +\d+% \(\d+\/\d+\)/)
    expect(await runtime.git.status({ cwd })).toMatchObject({ clean: true, ahead: 0, commit: made.commit })
    const again = await runtime.git.clone(url, { secret, path: '/tmp/again' })
    expect(again.commit).toBe(made.commit)
    const { stdout } = await runtime.commands.run('env; cat /workspace/project/.git/config')
    expect(stdout).toContain('CODE_TOKEN=holt-placeholder-')
    expect(stdout).not.toContain(gitToken)
    expect(stdout).not.toMatch(/helper|extraheader/i)
  })

  it('is the work of an agent through MCP, with a token that stays outside', async () => {
    const { runtime_id } = runtime
    await using agent = await McpAgent.connect('stdio', await makeKey(...workScopes), ['--runtime', runtime_id])
    const path = '/workspace/by-agent'
    const secret = names.good
    await agent.use('git_clone', { url, secret, path, depth: 1 })
    await agent.use('write_file', { path: `${path}/README`, content: `written by an agent in ${isolation}\n` })
    expect(await agent.use('git_status', { path })).toMatch(/modified +README$/)
    expect(await agent.use('git_diff', { path })).toContain(`+written by an agent in ${isolation}`)
    const made = JSON.parse(await agent.use('git_commit', { path, message: 'Change the page', all: true, author }))
    expect(JSON.parse(await agent.use('git_push', { path, secret }))).toMatchObject({ commit: made.commit })
    const without = textOf(await agent.call('git_push', { path }))
    expect(without).toMatch(/code: git_failed \(credentials\)\nhint: Ask the person/)
    const denied = textOf(await agent.call('git_clone', { url: 'https://db.example.com/a.git' }))
    expect(denied).toMatch(/does not allow db\.example\.com:443[\s\S]*\nhint: Ask the person/)
    expect([without, denied].filter((text) => text.includes(gitToken))).toEqual([])
  })

  it('names a missing secret, and one that the host refuses', async () => {
    expect(await failureOf(runtime.git.clone(url, { path: '/tmp/none' }))).toMatchObject({
      reason: 'credentials',
      hint: expect.stringContaining(`holt secret set NAME --host ${gitHost}`),
    })
    expect(await failureOf(runtime.git.clone(url, { path: '/tmp/none', secret: 'absent' }))).toMatchObject({
      reason: 'credentials',
      message: expect.stringMatching(/does not have the secret absent/),
    })
    const refused = await failureOf(runtime.git.clone(url, { path: '/tmp/none', secret: names.wrong }))
    expect(refused).toMatchObject({ reason: 'credentials', hint: expect.stringContaining(names.wrong) })
  })

  it('names a missing policy', async () => {
    const failed = await failureOf(runtime.git.clone('https://db.example.com/a.git'))
    expect(failed).toMatchObject({ reason: 'network' })
    expect(failed.message).toContain('does not allow db.example.com:443')
  })
})

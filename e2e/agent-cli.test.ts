import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { NewKey } from '@holt/protocol'
import { installPinned } from '@holt/testkit'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { call, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { repairProject } from './support/repair-project.ts'
import { ScriptedModel } from './support/scripted-model.ts'
import { repository } from './support/service-process.ts'

// A vendor's own agent, with the configuration of docs/mcp.md and a model that follows a script.

const run = promisify(execFile)
const pinned = join(import.meta.dirname, 'support/agent-cli')

/** The program is some hundred MiB. */
const installTimeoutMs = 6 * 60_000
/** The job is a dozen calls, and the machine may be busy. */
const jobTimeoutMs = 5 * 60_000

/** The tables of the page for people, by the names of the servers in them. */
const servers = ['holt', 'holt-http'] as const

let codex: string
beforeAll(async () => {
  codex = join(await installPinned(pinned), '.bin/codex')
}, installTimeoutMs)

/** Returns the table of a server as docs/mcp.md has it, for the service of this run. */
async function documented(server: string): Promise<string> {
  const page = await readFile(join(repository, 'docs/mcp.md'), 'utf8')
  const block = /```toml\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const table = block.split(/\n(?=\[)/).find((one) => one.startsWith(`[mcp_servers.${server}]\n`))
  if (table === undefined) throw new Error(`docs/mcp.md has no table of ${server}`)
  const program = join(repository, 'packages/cli/bin/holt')
  return table
    .replace('command = "holt"', `command = "${program}"`)
    .replace('env_vars = ["HOLT_API_KEY"]', 'env_vars = ["HOLT_API_KEY", "HOLT_URL"]')
    .replace('http://127.0.0.1:4658', service.url)
}

async function writeConfiguration(home: string, model: ScriptedModel, server: string): Promise<void> {
  await mkdir(join(home, '.codex'))
  const own = `
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "Scripted"
base_url = "${model.url}"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
`
  // A busy machine starts slowly, and the first question must not come before the tools.
  const startUp = 'startup_timeout_sec = 120\nrequired = true\n'
  await writeFile(join(home, '.codex/config.toml'), `${own}\n${(await documented(server)).trim()}\n${startUp}`)
}

it('is the version of the template', async () => {
  const { dependencies } = JSON.parse(await readFile(join(pinned, 'package.json'), 'utf8'))
  const dockerfile = await readFile(join(repository, 'templates/agents/codex/Dockerfile'), 'utf8')
  expect(dockerfile).toContain(`@openai/codex@${dependencies['@openai/codex']} `)
})

describeClasses('an agent of a vendor', (isolation) => {
  it.each(servers)(
    'repairs the project of the quickstart through %s alone',
    async (server) => {
      const json = { name: `agent-cli-${isolation}-${server}`, scopes: ['runtime:read', 'runtime:write'] }
      const { key, key_id } = success(await call('POST', '/v1/agents/key', { json }), 201, NewKey)
      const home = await mkdtemp(join(tmpdir(), 'holt-agent-'))
      onTestFinished(async () => {
        await call('DELETE', `/v1/agents/key/${key_id}`)
        await rm(home, { recursive: true, force: true })
      })
      await using model = await ScriptedModel.start()
      await writeConfiguration(home, model, server)
      const env = { PATH: process.env.PATH, HOME: home, SCRIPTED_KEY: 'x', HOLT_URL: service.url, HOLT_API_KEY: key }
      const args = ['exec', '--strict-config', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
      const agent = run(codex, [...args, '--json', 'Repair the project.'], {
        ...{ cwd: home, env, timeout: jobTimeoutMs, maxBuffer: 2 ** 26 },
      })
      agent.child.stdin?.end()
      const job = repairProject((name, fields) => model.use(name, fields), isolation).then(() => model.say('Repaired.'))
      const [{ stdout }] = await Promise.all([agent, Promise.race([job, agent])])
      await job
      const events = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const items = events.filter(({ type }) => type === 'item.completed').map(({ item }) => item)
      const calls = items.filter(({ type }) => type === 'mcp_tool_call')
      expect(calls.length).toBeGreaterThan(8)
      expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 'completed'))
      expect(items.filter(({ type }) => type === 'command_execution')).toEqual([])
      expect(items.at(-1)).toMatchObject({ type: 'agent_message', text: 'Repaired.' })
    },
    jobTimeoutMs,
  )
})

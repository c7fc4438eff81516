import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runHolt } from '../support/run-holt.ts'

// The configuration files of agents in docs/mcp.md.

const page = readFileSync(fileURLToPath(new URL('../../../../docs/mcp.md', import.meta.url)), 'utf8')

/** A server as one of the formats names it. */
interface Server {
  readonly command?: string | readonly string[]
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string>>
  readonly env_vars?: readonly string[]
  readonly url?: string
  readonly httpUrl?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly bearer_token_env_var?: string
}

/** The keys under which the formats have their servers. */
const tables = ['mcpServers', 'mcp_servers', 'servers', 'mcp'] as const

function parseToml(text: string): unknown {
  const program = 'import json, sys, tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))'
  return JSON.parse(execFileSync('python3', ['-c', program], { input: text, encoding: 'utf8', timeout: 30_000 }))
}

/** Returns the servers of each configuration of the page, by its heading. */
function documented(): readonly { readonly name: string; readonly server: Server }[] {
  return page.split(/^## /m).flatMap((section) => {
    const [heading = ''] = section.split('\n', 1)
    return [...section.matchAll(/```(json|toml)\n([\s\S]*?)```/g)].flatMap(([, format, text = '']) => {
      const file = (format === 'toml' ? parseToml(text) : JSON.parse(text)) as Record<string, Record<string, Server>>
      const table = tables.find((one) => file[one] !== undefined)
      if (table === undefined) throw new Error(`${heading} has no servers`)
      return Object.entries(file[table] ?? {}).map(([name, server]) => ({ name: `${heading}: ${name}`, server }))
    })
  })
}

const servers = documented()
const local = servers.filter(({ server }) => server.command !== undefined)
const remote = servers.filter(({ server }) => server.command === undefined)

test('the page has the agents of the templates, and others', () => {
  const headings = new Set(servers.map(({ name }) => name.split(':')[0]))
  for (const agent of ['Claude Code', 'Codex', 'Gemini CLI', 'opencode']) expect(headings).toContain(agent)
  expect(local.length + remote.length).toBe(servers.length)
  expect(remote.length).toBeGreaterThan(4)
})

test.each(local)('$name starts holt mcp with options that exist, and with a key', async ({ server }) => {
  const [command, ...args] = [server.command ?? []].flat().concat(server.args ?? [])
  expect([command, args[0]]).toEqual(['holt', 'mcp'])
  const names = server.env_vars ?? Object.keys(server.env ?? server.environment ?? {})
  expect(names).toContain('HOLT_API_KEY')
  // Wrong options are code 2, before the missing key is found.
  const ended = await runHolt(args, { env: { HOLT_URL: 'http://127.0.0.1:1', HOLT_API_KEY: 'holt_x' } })
  expect(ended, ended.stderr).toMatchObject({ code: 1, stdout: '' })
})

test.each(remote)('$name names the endpoint, and takes the key from outside of the file', ({ server }) => {
  expect(new URL(server.url ?? server.httpUrl ?? '').pathname).toBe('/mcp')
  const key = server.headers?.Authorization ?? `Bearer $${server.bearer_token_env_var}`
  expect(key).toMatch(
    /^Bearer (?:\$\{HOLT_API_KEY\}|\$HOLT_API_KEY|\{env:HOLT_API_KEY\}|\$\{env:HOLT_API_KEY\}|\$\{input:holt-key\})$/,
  )
})

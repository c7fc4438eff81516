import { type Holt, HoltError } from '@holt/sdk'

/** Sample data of a service. Disposing of it removes it. */
export interface SampleData extends AsyncDisposable {
  /** A runtime with commands, files, forks, a port and denied connections. */
  readonly runtimeId: string
  /** A command of that runtime, with output. */
  readonly commandId: string
  /** A build with several steps. */
  readonly buildId: string
  /** A webhook without deliveries. */
  readonly webhookId: string
}

/** The label of everything that is made here. */
const metadata = { made: 'for-pictures' }

/** The name of the template, of the policy and of others that have one name. */
export const sampleNames = { template: 'search-tools', policy: 'packages' } as const

const dockerfile = `FROM holt/base-small
WORKDIR /srv
RUN python -c "print('checked')"
ENV READY=yes
CMD ["python", "search.py"]
`

const files: Readonly<Record<string, string>> = {
  'README.md': '# Search\n\nFinds things.\n',
  'search.py': `"""Finds the lines of a text that have a word."""

import re


def find(text: str, word: str) -> list[str]:
    pattern = re.compile(rf"\\b{re.escape(word)}\\b", re.IGNORECASE)
    return [line for line in text.splitlines() if pattern.search(line)]


if __name__ == "__main__":
    for line in find("One line.\\nAnother line.\\nNothing.", "line"):
        print(line)
`,
  'data/words.txt': 'one\ntwo\nthree\n',
}

const server = `import http.server
http.server.HTTPServer(("", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()`

/** Makes runtimes, forks, a snapshot, a template and resources, as a project in use has them. */
export async function makeSampleData(holt: Holt): Promise<SampleData> {
  await using made = new AsyncDisposableStack()
  const webhookId = await makeResources(holt, made)
  const { runtimeId, commandId } = await makeAgent(holt, made)
  const crawler = made.use(
    await holt.runtimes.create({ name: 'crawler', metadata: { ...metadata, team: 'mail' }, idle_timeout_secs: 600 }),
  )
  await crawler.pause().catch(refusedHere)
  made.use(await holt.runtimes.create({ name: 'nightly', metadata, timeout_secs: 900, on_timeout: 'terminate' }))
  const build = await holt.builds.create({ name: sampleNames.template, dockerfile, start_cmd: 'sleep infinity' })
  made.defer(() => holt.templates.delete(build.template_id))
  await build.wait().catch(failedBuild)
  const owned = made.move()
  const ids = { runtimeId, commandId, buildId: build.build_id, webhookId }
  return { ...ids, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Makes what runtimes use, and what follows them. Returns the id of the webhook. */
async function makeResources(holt: Holt, made: AsyncDisposableStack): Promise<string> {
  const policy = await holt.policies.create({
    name: sampleNames.policy,
    include: ['npm', 'pypi'],
    allow: [{ host: 'api.example.com', methods: ['GET'] }],
  })
  made.defer(() => holt.policies.delete(policy.policy_id))
  const value = 'not-a-real-key'
  const secret = await holt.secrets.create({ name: 'model-vendor', value, hosts: ['api.example.com'] })
  made.defer(() => holt.secrets.delete(secret.secret_id))
  const project = await holt.projects.create({ name: 'team', quotas: { runtimes: 20, memory_mib: 65_536 } })
  made.defer(() => holt.projects.delete(project.project_id))
  const key = await holt.keys.create({ name: 'ci', scopes: ['runtime:read', 'runtime:write'] })
  made.defer(() => holt.keys.revoke(key.key_id))
  const webhook = await holt.webhooks.create({
    url: 'https://hooks.example.com/holt',
    types: ['template.*'],
    description: 'tells the team of new templates',
  })
  made.defer(() => holt.webhooks.delete(webhook.webhook_id))
  return webhook.webhook_id
}

/** Makes a runtime with something on each of its tabs. */
async function makeAgent(holt: Holt, made: AsyncDisposableStack) {
  const agent = made.use(
    await holt.runtimes.create({
      name: 'agent',
      metadata: { ...metadata, team: 'search' },
      network_policy: sampleNames.policy,
      secrets: ['model-vendor'],
      env: { LOG_LEVEL: 'info' },
    }),
  )
  for (const [path, text] of Object.entries(files)) await agent.files.write(`/workspace/${path}`, text)
  const found = await agent.commands.run('python search.py', { cwd: '/workspace' })
  await agent.commands.run('curl -sS --max-time 5 https://example.com; exit 7')
  await agent.commands.start(`python -c '${server}'`, { timeout_secs: 0 })
  const snapshot = await agent.snapshot({ name: 'before-the-upgrade' }).catch(refusedHere)
  if (snapshot !== null) made.defer(() => holt.snapshots.delete(snapshot.snapshot_id))
  const fork = await agent.fork({ count: 3, metadata: { ...metadata, team: 'search', try: 'yes' } }).catch(refusedHere)
  if (fork !== null) made.use(fork)
  return { runtimeId: agent.runtime_id, commandId: found.command_id }
}

/** The machine may not have what an action needs. The pictures are without it then. */
function refusedHere(error: unknown): null {
  if (error instanceof HoltError && error.code === 'not_supported_here') return null
  throw error
}

/** A failed build is shown as such. */
function failedBuild(error: unknown): void {
  if (!(error instanceof HoltError && error.code === 'build_failed')) throw error
}

import { type Holt, HoltError } from '@holt/sdk'

/** Sample data of a service. Disposing of it removes it. */
export interface SampleData extends AsyncDisposable {
  /** A runtime with commands, files, forks and a port. */
  readonly runtimeId: string
}

/** The label of everything that is made here. */
const metadata = { made: 'for-pictures' }

const dockerfile = `FROM holt/base-small
WORKDIR /srv
RUN python -c "print('checked')"
ENV READY=yes
`

const program = `import http.server
http.server.HTTPServer(("", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()`

/** Makes runtimes, forks, a snapshot, a template and resources, as a project in use has them. */
export async function makeSampleData(holt: Holt): Promise<SampleData> {
  await using made = new AsyncDisposableStack()
  const policy = await holt.policies.create({ name: 'packages', include: ['npm', 'pypi'] })
  made.defer(() => holt.policies.delete(policy.policy_id))
  const secret = await holt.secrets.create({
    name: 'model-vendor',
    value: 'not-a-real-key',
    hosts: ['api.example.com'],
  })
  made.defer(() => holt.secrets.delete(secret.secret_id))
  const agent = made.use(
    await holt.runtimes.create({
      name: 'agent',
      metadata: { ...metadata, team: 'search' },
      network_policy: 'packages',
    }),
  )
  await agent.files.write('/workspace/README.md', '# Search\n\nFinds things.\n')
  await agent.files.write(
    '/workspace/search.py',
    'def find(items, wanted):\n    return [each for each in items if wanted in each]\n',
  )
  await agent.commands.run("python -c \"import search; print(search.find(['a', 'ab'], 'b'))\"", { cwd: '/workspace' })
  await agent.commands.run('curl -sS --max-time 5 https://example.com; exit 7')
  await agent.commands.start(`python -c '${program}'`, { timeout_secs: 0 })
  const snapshot = await agent.snapshot({ name: 'before-the-upgrade' }).catch(refusedHere)
  if (snapshot !== null) made.defer(() => holt.snapshots.delete(snapshot.snapshot_id))
  const fork = await agent.fork({ count: 3, metadata: { ...metadata, team: 'search', try: 'yes' } }).catch(refusedHere)
  if (fork !== null) made.use(fork)
  const crawler = made.use(
    await holt.runtimes.create({ name: 'crawler', metadata: { ...metadata, team: 'mail' }, idle_timeout_secs: 600 }),
  )
  await crawler.pause().catch(refusedHere)
  made.use(await holt.runtimes.create({ name: 'nightly', metadata, timeout_secs: 900, on_timeout: 'terminate' }))
  const build = await holt.builds.create({ name: 'search-tools', dockerfile })
  made.defer(() => holt.templates.delete(build.template_id))
  await build.wait().catch(failedBuild)
  const owned = made.move()
  return { runtimeId: agent.runtime_id, [Symbol.asyncDispose]: () => owned.disposeAsync() }
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

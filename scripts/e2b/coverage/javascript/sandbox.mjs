// The life of sandboxes: create, connect, lists, time, pause, snapshots, forks, addresses.
import assert from 'node:assert/strict'
import { check, finish, recordInstance, sdk, until } from './recorder.mjs'

const { Sandbox, SandboxNotFoundError, E2B, ConnectionConfig } = sdk
const metadata = { 'a b': 'c&d', run: crypto.randomUUID() }
const sandbox = await Sandbox.create('base', { metadata, envs: { GREETING: 'hello' }, timeoutMs: 600_000 })
const id = sandbox.sandboxId
recordInstance('SandboxPaginator', Sandbox.list())
recordInstance('SnapshotPaginator', Sandbox.listSnapshots())

const idsOf = async (pages) => {
  const found = []
  while (pages.hasNext) found.push(...(await pages.nextItems()).map(({ sandboxId }) => sandboxId))
  return found
}
const near = (date, ms) => Math.abs(date.getTime() - (Date.now() + ms)) < 60_000

await check(
  'a create makes what it was asked for',
  { works: ['Sandbox.create', 'Sandbox.getInfo', 'Sandbox#getInfo', 'Sandbox.getFullInfo'] },
  async () => {
    const made = await Sandbox.create({
      metadata: { other: 'x' },
      envs: { A: 'b c' },
      timeoutMs: 240_000,
      secure: true,
    })
    assert.equal((await made.commands.run('echo "$A"')).stdout, 'b c\n')
    const info = await made.getInfo()
    assert.deepEqual(info.metadata, { other: 'x' })
    assert.ok(near(info.endAt, 240_000), `it ends at ${info.endAt}`)
    assert.equal(info.state, 'running')
    assert.equal(info.name, 'base-small')
    assert.deepEqual(info.lifecycle, { onTimeout: 'kill', autoResume: false })
    assert.ok(info.cpuCount >= 1 && info.memoryMB >= 128)
    assert.deepEqual(await Sandbox.getInfo(made.sandboxId), info)
    assert.equal((await Sandbox.getFullInfo(made.sandboxId)).sandboxId, made.sandboxId)
    await made.kill()
    await assert.rejects(Sandbox.getInfo(made.sandboxId), SandboxNotFoundError)
  },
)

await check('an unknown template is refused by its name', { works: ['Sandbox.create'] }, async () => {
  await assert.rejects(Sandbox.create('no-such-template'), /404.*no-such-template/)
})

await check(
  'what a create cannot have is refused',
  {
    differs: {
      'Sandbox.create':
        '`iam`, `volumeMounts`, `network.rules`, `network.egressProxy` and `network.httpsPorts` are refused (400); `mcp` needs a template `mcp-gateway` of your own (404)',
    },
  },
  async () => {
    for (const [options, status] of [
      [{ iam: { tokens: { a: { audience: 'x', tokenType: 'JWT-SVID' } } } }, 400],
      [{ volumeMounts: { '/data': 'volume' } }, 400],
      [{ network: { rules: { 'example.com': [{ transform: { headers: { A: 'b' } } }] } } }, 400],
      [{ network: { egressProxy: { address: '198.51.100.1:1080' } } }, 400],
      [{ network: { httpsPorts: [8443] } }, 400],
      [{ mcp: { exa: { apiKey: 'x' } } }, 404],
    ])
      await assert.rejects(Sandbox.create(options), new RegExp(`${status}: `), JSON.stringify(options))
  },
)

await check('a sandbox ends at its deadline', { works: ['Sandbox.create', 'Sandbox#isRunning'] }, async () => {
  const made = await Sandbox.create({ timeoutMs: 3_000 })
  assert.equal(await made.isRunning(), true)
  await until(async () => !(await made.isRunning()))
  await assert.rejects(made.getInfo(), SandboxNotFoundError)
})

await check(
  'a sandbox pauses at its deadline, and a request resumes it',
  { works: ['Sandbox.create', 'Sandbox.getInfo'] },
  async () => {
    const made = await Sandbox.create({ timeoutMs: 4_000, lifecycle: { onTimeout: 'pause', autoResume: true } })
    await made.files.write('kept', 'x')
    assert.deepEqual((await made.getInfo()).lifecycle, { onTimeout: 'pause', autoResume: true })
    await until(async () => (await Sandbox.getInfo(made.sandboxId)).state === 'paused')
    assert.equal(await made.files.read('kept'), 'x')
    await made.kill()
  },
)

await check(
  'lists have the filters of their query',
  { works: ['Sandbox.list', 'SandboxPaginator#nextItems'] },
  async () => {
    assert.deepEqual(await idsOf(Sandbox.list({ query: { metadata } })), [id])
    assert.deepEqual(await idsOf(Sandbox.list({ query: { metadata, state: ['paused'] } })), [])
    assert.deepEqual(await idsOf(Sandbox.list({ query: { metadata, template: 'base-small' } })), [id])
    assert.deepEqual(
      await idsOf(Sandbox.list({ query: { metadata, startedAfter: new Date(Date.now() + 60_000) } })),
      [],
    )
    const other = await Sandbox.create({ metadata: { run: metadata.run } })
    const both = { metadata: { run: metadata.run } }
    assert.deepEqual(await idsOf(Sandbox.list({ query: both, limit: 1, order: 'asc' })), [id, other.sandboxId])
    assert.deepEqual(await idsOf(Sandbox.list({ query: both, limit: 1, order: 'desc' })), [other.sandboxId, id])
    await other.kill()
  },
)

await check('a connect finds a sandbox that runs', { works: ['Sandbox.connect', 'Sandbox#connect'] }, async () => {
  const again = await Sandbox.connect(id, { timeoutMs: 900_000 })
  assert.equal((await again.commands.run('echo $GREETING')).stdout, 'hello\n')
  assert.ok(near((await again.getInfo()).endAt, 900_000))
  assert.equal((await again.connect({ timeoutMs: 60_000 })).sandboxId, id)
  assert.ok(near((await again.getInfo()).endAt, 900_000), 'a connect shortened the life')
  await assert.rejects(Sandbox.connect('rt00000000000000000000'), SandboxNotFoundError)
})

await check('the deadline moves', { works: ['Sandbox.setTimeout', 'Sandbox#setTimeout'] }, async () => {
  await sandbox.setTimeout(1_200_000)
  assert.ok(near((await sandbox.getInfo()).endAt, 1_200_000))
  await Sandbox.setTimeout(id, 600_000)
  assert.ok(near((await sandbox.getInfo()).endAt, 600_000))
})

await check(
  'a pause keeps programs and files, and a connect brings them back',
  { works: ['Sandbox.pause', 'Sandbox#pause', 'Sandbox.betaPause', 'Sandbox#betaPause', 'Sandbox.connect'] },
  async () => {
    const made = await Sandbox.create()
    const { pid } = await made.commands.run('sleep 1000', { background: true })
    assert.equal(await made.pause(), true)
    assert.equal(await made.pause(), false)
    assert.equal(await made.isRunning(), false)
    assert.equal((await Sandbox.getInfo(made.sandboxId)).state, 'paused')
    for (const pause of [
      () => made.betaPause(),
      () => Sandbox.pause(made.sandboxId),
      () => Sandbox.betaPause(made.sandboxId),
    ]) {
      const again = await Sandbox.connect(made.sandboxId)
      assert.ok((await again.commands.list()).some((process) => process.pid === pid))
      assert.equal(await pause(), true)
    }
    assert.equal(await made.kill(), true)
    await assert.rejects(made.pause(), SandboxNotFoundError)
  },
)

await check(
  'a pause of the files alone and a reboot keep the files',
  {
    works: [
      'Sandbox#pause',
      'Sandbox.pause',
      'Sandbox#betaPause',
      'Sandbox.betaPause',
      'Sandbox.connect',
      'Sandbox#connect',
    ],
  },
  async () => {
    const made = await Sandbox.create()
    await made.files.write('kept', 'over a boot')
    for (const pause of [
      () => made.pause({ keepMemory: false }),
      () => Sandbox.pause(made.sandboxId, { keepMemory: false }),
      () => made.betaPause({ keepMemory: false }),
      () => Sandbox.betaPause(made.sandboxId, { keepMemory: false }),
      () => made.pause(),
    ]) {
      const { pid } = await made.commands.run('sleep 1000', { background: true })
      await pause()
      await made.connect({ onResume: 'reboot' })
      const again = await Sandbox.connect(made.sandboxId, { onResume: 'reboot' })
      assert.ok(!(await again.commands.list()).some((process) => process.pid === pid))
      assert.equal(await again.files.read('kept'), 'over a boot')
    }
    assert.equal(await made.kill(), true)
  },
)

await check(
  'a snapshot is a template, and is listed until it is deleted',
  {
    works: [
      'Sandbox.createSnapshot',
      'Sandbox#createSnapshot',
      'Sandbox.listSnapshots',
      'Sandbox#listSnapshots',
      'SnapshotPaginator#nextItems',
      'Sandbox.deleteSnapshot',
    ],
  },
  async () => {
    await sandbox.files.write('state', 'of the snapshot')
    const { snapshotId } = await sandbox.createSnapshot()
    const { snapshotId: second, names } = await Sandbox.createSnapshot(id, { name: `kept-${metadata.run}` })
    assert.ok(
      names.some((name) => name.includes(`kept-${metadata.run}`)),
      `${names}`,
    )
    const other = await Sandbox.create(snapshotId)
    assert.equal(await other.files.read('state'), 'of the snapshot')
    await other.kill()
    const listed = async (pages) => {
      const found = []
      while (pages.hasNext) found.push(...(await pages.nextItems()).map((one) => one.snapshotId))
      return found.sort()
    }
    assert.deepEqual(await listed(sandbox.listSnapshots({ limit: 1 })), [snapshotId, second].sort())
    assert.deepEqual(await listed(Sandbox.listSnapshots({ sandboxId: id })), [snapshotId, second].sort())
    assert.deepEqual(await listed(Sandbox.listSnapshots({ sandboxId: id, name: `kept-${metadata.run}` })), [second])
    assert.equal(await Sandbox.deleteSnapshot(snapshotId), true)
    assert.equal(await Sandbox.deleteSnapshot(snapshotId), false)
    assert.equal(await Sandbox.deleteSnapshot(second), true)
    assert.deepEqual(await listed(sandbox.listSnapshots()), [])
  },
)

await check(
  'forks have the files and the programs of their source',
  { works: ['Sandbox.fork', 'Sandbox#fork'] },
  async () => {
    await sandbox.files.write('common', 'x')
    const forks = [...(await sandbox.fork({ count: 2, timeoutMs: 120_000 })), ...(await Sandbox.fork(id))]
    assert.equal(forks.length, 3)
    for (const fork of forks) {
      assert.ok(!(fork instanceof Error), String(fork))
      assert.equal(await fork.files.read('common'), 'x')
      assert.notEqual(fork.sandboxId, id)
      await fork.kill()
    }
  },
)

await check('metrics have the use of now', { works: ['Sandbox.getMetrics', 'Sandbox#getMetrics'] }, async () => {
  const metrics = await sandbox.getMetrics()
  assert.ok(metrics.length > 0)
  const { cpuCount, memUsed, memTotal, diskTotal, diskUsed } = metrics.at(-1)
  assert.ok(
    cpuCount >= 1 && memUsed > 0 && memTotal >= memUsed && diskTotal >= diskUsed,
    JSON.stringify(metrics.at(-1)),
  )
  const start = new Date(Date.now() - 3_600_000)
  assert.ok((await Sandbox.getMetrics(id, { start, end: new Date() })).length > 0)
  assert.deepEqual(await sandbox.getMetrics({ start: new Date(0), end: new Date(1000) }), [])
})

await check(
  'the network of a running sandbox changes',
  { works: ['Sandbox.updateNetwork', 'Sandbox#updateNetwork'] },
  async () => {
    assert.equal((await sandbox.getInfo()).allowInternetAccess, false)
    await sandbox.updateNetwork({ allowInternetAccess: true })
    assert.equal((await sandbox.getInfo()).allowInternetAccess, true)
    await Sandbox.updateNetwork(id, { allowOut: ['example.com'], denyOut: [sdk.ALL_TRAFFIC] })
    const { network } = await sandbox.getInfo()
    assert.deepEqual([network.allowOut, network.denyOut], [['example.com'], [sdk.ALL_TRAFFIC]])
    await sandbox.updateNetwork({ denyOut: ['203.0.113.0/24'] })
    assert.deepEqual((await sandbox.getInfo()).network.denyOut, ['203.0.113.0/24'])
    await sandbox.updateNetwork({ allowInternetAccess: false })
  },
)

const rules = '`rules` and `egressProxy` are refused (400)'
await check(
  'what a change of the network cannot have is refused',
  { differs: { 'Sandbox.updateNetwork': rules, 'Sandbox#updateNetwork': rules } },
  async () => {
    await assert.rejects(sandbox.updateNetwork({ egressProxy: { address: '198.51.100.1:1080' } }), /400: /)
    await assert.rejects(
      Sandbox.updateNetwork(id, { rules: { 'example.com': [{ transform: { headers: { A: 'b' } } }] } }),
      /400: /,
    )
  },
)

await check('the host of a port answers', { works: ['Sandbox#getHost', 'ConnectionConfig#getHost'] }, async () => {
  await sandbox.commands.run('echo served >index.html && python3 -m http.server 3000', { background: true })
  await until(async () => (await fetch(`https://${sandbox.getHost(3000)}/index.html`)).status === 200)
  assert.equal(await (await fetch(`https://${sandbox.getHost(3000)}/index.html`)).text(), 'served\n')
})

await check('ports that are not public need the token', { works: ['Sandbox.create', 'Sandbox#getHost'] }, async () => {
  // The service replaces the placeholder of the port.
  const made = await Sandbox.create({
    network: { allowPublicTraffic: false, maskRequestHost: 'inside:$'.concat('{PORT}') },
  })
  const server = `from http.server import *
class H(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(self.headers['Host'].encode())
HTTPServer(('', 3000), H).serve_forever()`
  await made.files.write('server.py', server)
  await made.commands.run('python3 server.py', { background: true })
  const headers = { 'E2B-Traffic-Access-Token': made.trafficAccessToken }
  const ask = (init) => fetch(`https://${made.getHost(3000)}/`, init)
  await until(async () => (await ask({ headers })).status === 200)
  assert.equal((await ask()).status, 403)
  assert.equal(await (await ask({ headers })).text(), 'inside:3000')
  await made.kill()
})

await check('signed addresses read and write', { works: ['Sandbox#downloadUrl', 'Sandbox#uploadUrl'] }, async () => {
  await sandbox.files.write('signed.txt', 'secret')
  const url = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 60 })
  assert.equal(await (await fetch(url)).text(), 'secret')
  assert.equal((await fetch(await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: -5 }))).status, 401)
  const form = new FormData()
  form.append('file', new Blob(['new']), 'signed.txt')
  assert.equal((await fetch(await sandbox.uploadUrl('signed.txt'), { method: 'POST', body: form })).status, 200)
  assert.equal(await sandbox.files.read('signed.txt'), 'new')
  const ofRoot = await sandbox.downloadUrl('/root/.bashrc', { user: 'root' })
  assert.equal((await fetch(ofRoot)).status, 200)
})

await check('a signature is that of an address', { works: ['getSignature'] }, async () => {
  await sandbox.files.write('by-hand.txt', 'x')
  const url = new URL(await sandbox.downloadUrl('by-hand.txt'))
  const { signature, expiration } = await sdk.getSignature({
    path: 'by-hand.txt',
    operation: 'read',
    user: url.searchParams.get('username') ?? undefined,
    expirationInSeconds: 30,
    envdAccessToken: sandbox.envdAccessToken,
  })
  url.searchParams.set('signature', signature)
  url.searchParams.set('signature_expiration', String(expiration))
  assert.equal(await (await fetch(url)).text(), 'x')
})

const gateway = 'no template `mcp-gateway` comes with Holt; with one of your own, the method does what it does at E2B'
await check(
  'the MCP gateway of a template of your own has its address and token',
  { differs: { 'Sandbox#getMcpUrl': gateway, 'Sandbox#getMcpToken': gateway } },
  async () => {
    assert.equal(sandbox.getMcpUrl(), `https://50005-${id}.${process.env.E2B_DOMAIN}/mcp`)
    await assert.rejects(sandbox.getMcpToken(), /does not exist/)
    await sandbox.files.write('/etc/mcp-gateway/.token', 'the token', { user: 'root' })
    assert.equal(await sandbox.getMcpToken(), 'the token')
  },
)

await check(
  'a client has its own connection',
  {
    works: [
      'ConnectionConfig.setIntegration',
      'ConnectionConfig.mergeOpts',
      'ConnectionConfig#getSignal',
      'ConnectionConfig#getSandboxUrl',
      'ConnectionConfig#getSandboxDirectUrl',
      'Sandbox.getInfo',
    ],
  },
  async () => {
    ConnectionConfig.setIntegration('coverage/1')
    const bound = new E2B(ConnectionConfig.mergeOpts({ apiKey: 'none' }, { apiKey: process.env.E2B_API_KEY }))
    assert.equal((await bound.Sandbox.getInfo(id)).sandboxId, id)
    ConnectionConfig.setIntegration(undefined)
    const config = new ConnectionConfig()
    const options = { sandboxDomain: process.env.E2B_DOMAIN, envdPort: 49983 }
    const url = config.getSandboxUrl(id, options)
    assert.equal(config.getSandboxDirectUrl(id, options), url)
    assert.equal((await fetch(`${url}/health`, { signal: config.getSignal(10_000) })).status, 204)
  },
)

await check('the client of the interface makes requests', { works: ['Sandbox.getInfo'] }, async () => {
  const { api } = new sdk.ApiClient(new ConnectionConfig())
  const { data } = await api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID: id } } })
  assert.equal(data.sandboxID, (await Sandbox.getInfo(id)).sandboxId)
})

await check(
  'a kill ends a sandbox, once',
  { works: ['Sandbox.kill', 'Sandbox#kill', 'Sandbox#isRunning'] },
  async () => {
    assert.equal(await sandbox.kill(), true)
    assert.equal(await sandbox.kill(), false)
    assert.equal(await Sandbox.kill(id), false)
    assert.equal(await sandbox.isRunning(), false)
    const other = await Sandbox.create()
    assert.equal(await Sandbox.kill(other.sandboxId), true)
  },
)

await finish()

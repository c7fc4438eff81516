// A program: starts a service over a fake engine, makes a runtime, and prints the modules that were
// loaded, as JSON. With the argument `fleet`, the service is a host of a fleet.
import { registerHooks } from 'node:module'
import { argv } from 'node:process'

const loaded = new Set<string>()
registerHooks({
  load: (url, context, next) => {
    loaded.add(url)
    return next(url, context)
  },
})

const [, , stateDir = '', kind] = argv
const { createServer, parseConfig } = await import('../../src/index.ts')
// The daemon itself needs a machine with an engine. Its modules are loaded all the same.
await import('../../src/daemon/serve.ts')
const { FakeEngine } = await import('@holt/engine-testkit/fake')
const { databasePath, openStore } = await import('../../src/foundation/store/open-store.ts')

const { unhurriedFleet } = await import('./unhurried-fleet.ts')
const alone = parseConfig({ HOLT_STATE_DIR: stateDir, HOLT_PORT: '0', HOLT_POOL_MAX: '0' })
const config =
  kind === 'fleet' ? { ...alone, fleet: unhurriedFleet(), peerAddress: { host: '127.0.0.1', port: 0 } } : alone
const quiet = () => undefined
const nowhere = () => Promise.reject(new Error('nothing is outside'))
const { RecordingGateway } = await import('./recording-gateway.ts')
const server = await createServer({
  config,
  engine: new FakeEngine(),
  store: await openStore({ type: 'sqlite', path: databasePath(stateDir) }),
  baseSource: null,
  log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  outside: {
    gateway: new RecordingGateway(),
    dialTls: nowhere,
    dialWebhook: nowhere,
    registryNetwork: { connect: nowhere },
  },
})
const headers = { authorization: `Bearer ${server.adminKey}` }
for (const path of ['/v1/agents/runtime', '/v1/agents/host', '/v1/agents/event', '/metrics', '/readyz'])
  await fetch(`${server.url}${path}`, { headers }).then((answer) => answer.text())
await server.close()
process.stdout.write(JSON.stringify([...loaded]))

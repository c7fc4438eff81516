// A program: a host of a fleet over a fake engine, so that only the service works. It prints its
// address and key as JSON, and ends with its input.
import { argv, stdin, stdout } from 'node:process'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { makeId } from '@holt/protocol'
import { type BaseSource, createServer, parseConfig } from '../../packages/server/src/index.ts'

const [, , stateDir = '', databaseUrl = ''] = argv

/** A base tree of a few bytes. */
const source: BaseSource = {
  name: 'the bench',
  digest: async () => 'bench-1',
  make: async () => ({
    tar: (async function* () {
      yield Buffer.from('a tree')
    })(),
    origin: 'the bench',
    env: { PATH: '/bin' },
    user: 'user',
    workdir: '/workspace',
    facts: {},
    [Symbol.asyncDispose]: async () => {},
  }),
}

const engine = new FakeEngine()
const quiet = () => undefined
const nowhere = () => Promise.reject(new Error('nothing is outside'))
const egress = { openConnections: 0, traffic: { sent: 0, received: 0 } }
const settings = {
  HOLT_STATE_DIR: stateDir,
  HOLT_DATABASE_URL: databaseUrl,
  HOLT_PORT: '0',
  HOLT_POOL_MAX: '0',
  HOLT_FLEET: '1',
  HOLT_PEER_ADDRESS: '127.0.0.1',
  HOLT_OBJECT_STORE: `file://${stateDir}/../objects`,
}
const server = await createServer({
  // Any free port, which the settings do not allow.
  config: { ...parseConfig(settings), peerAddress: { host: '127.0.0.1', port: 0 } },
  engine,
  host: { hostId: makeId('host'), checks: async () => ({ checks: [], checkedAt: Date.now() }) },
  baseSource: source,
  log: { debug: quiet, info: quiet, warn: quiet, error: console.error },
  outside: {
    gateway: {
      attach: () => ({
        ...egress,
        accept: quiet,
        update: quiet,
        test: () => Promise.reject(new Error('nothing is outside')),
        resetConnections: quiet,
        close: quiet,
      }),
    },
    dialTls: nowhere,
    dialWebhook: nowhere,
    registryNetwork: { connect: nowhere },
  },
})
await server.templatesMade
stdout.write(`${JSON.stringify({ url: server.url, key: server.adminKey })}\n`)
stdin.resume().on('end', () => process.exit(0))

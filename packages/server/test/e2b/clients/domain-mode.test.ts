import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort, publishedClients } from '@holt/testkit'
import { expect, test } from 'vitest'
import { startE2bPortServer } from '../../support/e2b-ports.ts'
import { newCertificate } from '../../support/secure-visitor.ts'

/** The time for a package to be installed and for its program, in milliseconds. */
const limit = { timeout: 300_000 }
const programTimeoutMs = 60_000

/** Lets Node find names below localhost, where the system does not. */
const names = fileURLToPath(new URL('../../../../../scripts/e2b/localhost-names.mjs', import.meta.url))

/** A service with TLS, and the variables of its clients. */
async function start() {
  const { certFile, keyFile, authorityFile, bundleFile } = await newCertificate()
  const port = String(await freePort())
  const domain = `holt.localhost:${port}`
  const server = await startE2bPortServer({
    HOLT_E2B_DOMAIN: domain,
    HOLT_E2B_TLS_CERT: certFile,
    HOLT_E2B_TLS_KEY: keyFile,
    HOLT_E2B_TLS_PORT: port,
  })
  const body = { name: 'a client', format: 'e2b' }
  const { key } = (await server.ask('POST', '/v1/agents/key', { json: body })).json
  const env = {
    PATH: process.env.PATH,
    E2B_API_KEY: key,
    E2B_DOMAIN: domain,
    NODE_EXTRA_CA_CERTS: authorityFile,
    NODE_OPTIONS: `--import=${names}`,
    SSL_CERT_FILE: bundleFile,
  }
  const run = async (command: string, args: readonly string[]) =>
    JSON.parse((await promisify(execFile)(command, [...args], { env, timeout: programTimeoutMs })).stdout)
  return { domain, run }
}

const inJavaScript = `
const { Sandbox } = await import(process.argv[1])
const sandbox = await Sandbox.create('base')
const host = sandbox.getHost(3000)
const visit = await fetch('https://' + host)
console.log(JSON.stringify({
  host: host.replace(sandbox.sandboxId, 'ID'),
  runs: await sandbox.isRunning(),
  visit: [visit.status, (await visit.json()).message],
  killed: [await sandbox.kill(), await sandbox.kill()],
  gone: (await (await fetch('https://' + host)).json()).message,
}))
`

const inPython = `
import json
from e2b import Sandbox
sandbox = Sandbox.create('base')
host = sandbox.get_host(3000).replace(sandbox.sandbox_id, 'ID')
runs = sandbox.is_running()
killed = [sandbox.kill(), sandbox.kill()]
print(json.dumps({'host': host, 'runs': runs, 'killed': killed, 'gone': not sandbox.is_running()}))
`

test('JavaScript finds the service by names, and trusts the authority that it is given', limit, async () => {
  const { domain, run } = await start()
  const module = join(await publishedClients('javascript-sdk'), 'node_modules/e2b/dist/index.mjs')
  const answer = await run('node', ['--input-type=module', '--eval', inJavaScript, module])
  expect(answer).toEqual({
    host: `3000-ID.${domain}`,
    runs: true,
    visit: [502, 'The sandbox is running but port is not open'],
    killed: [true, false],
    gone: 'The sandbox was not found',
  })
})

test('Python finds the service by names, and trusts the bundle that it is given', limit, async () => {
  const { domain, run } = await start()
  const python = join(await publishedClients('python-sdk'), 'bin/python')
  const answer = await run(python, ['-c', inPython])
  expect(answer).toEqual({ host: `3000-ID.${domain}`, runs: true, killed: [true, false], gone: true })
})

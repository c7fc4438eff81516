// The Internet of the tests: runs inside their own network namespace, and remembers everything that
// arrives.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { rename, writeFile } from 'node:fs/promises'
import { createServer as createControl } from 'node:http'
import { join } from 'node:path'
import { startDnsServer, type ZoneEntry } from '@holt/egress/testing'
import { startGitHost } from './git-host.ts'
import { startHttpHosts } from './http-hosts.ts'
import type { ArrivedConnection, ArrivedRequest, ToldFacts } from './records.ts'
import { makeRegistries } from './registries.ts'
import { startTcpHosts } from './tcp-hosts.ts'

/**
 * Outside the range from which the kernel takes free ports: a test that listens on one on the host
 * must not hit on it.
 */
const dnsPort = 5300

const [directory = '', listedAddress = '', unlistedAddress = '', hostAddress = ''] = process.argv.slice(2)

const requests: ArrivedRequest[] = []
const connections: ArrivedConnection[] = []
const datagrams: string[] = []
let rebinds = 0

const here = { A: [listedAddress] }
const zone: Record<string, ZoneEntry> = {
  'api.example.com': here,
  'other.example.com': here,
  'plain.example.com': here,
  'deep.api.example.com': here,
  'example.com': here,
  'wild.example.com': here,
  'sub.wild.example.com': here,
  'deep.sub.wild.example.com': here,
  'notwild.example.com': here,
  'cut.example.com': here,
  'db.example.com': here,
  'git.example.com': here,
  'code.example.com': here,
  // Asked for anew each time: a test has them be the real ones for a while.
  'pypi.org': { ...here, ttlSecs: 0 },
  'files.pythonhosted.org': { ...here, ttlSecs: 0 },
  'registry.npmjs.org': { ...here, ttlSecs: 0 },
  'mismatch.example.com': here,
  'token.example.com': here,
  'login.example.com': here,
  'unlisted.example.com': { A: [unlistedAddress] },
  'metadata.example.com': { A: ['169.254.169.254'] },
  'loopback.example.com': { A: ['127.0.0.1'] },
  'mapped.example.com': { AAAA: ['::ffff:127.0.0.1'] },
  'private.example.com': { A: ['10.0.0.1'] },
  'unspecified.example.com': { A: ['0.0.0.0'] },
  'synthetic.example.com': { A: ['198.18.0.1'] },
  'gateway.example.com': { A: [hostAddress] },
  'alias.example.com': { CNAME: 'loopback.example.com' },
  // The first answer is fine, every later one is the host's loopback.
  'rebind.example.com': { A: () => (rebinds++ === 0 ? [listedAddress] : ['127.0.0.1']), ttlSecs: 0 },
}

const dns = await startDnsServer(zone, listedAddress, dnsPort)
const registries = await makeRegistries(join(directory, 'registries'))
const { caFile } = await startHttpHosts({
  directory,
  addresses: [listedAddress, unlistedAddress],
  registries,
  answerGit: await startGitHost(join(directory, 'git')),
  onRequest: (request) => requests.push(request),
  onConnection: (connection) => connections.push(connection),
})
await startTcpHosts([listedAddress, unlistedAddress], (connection) => connections.push(connection))
for (const port of [443, 5353, 9999]) {
  const udp = createSocket('udp4')
  udp.on('message', (message) => datagrams.push(`${port} ${message.toString('hex').slice(0, 200)}`))
  udp.bind(port, listedAddress)
  await once(udp, 'listening')
}

const controlSocket = join(directory, 'control.sock')
const control = createControl((request, response) => {
  if (request.method === 'PUT') {
    const [, name = '', ...addresses] = (request.url ?? '').split('/')
    dns.zone[name] = { A: addresses, ttlSecs: 0 }
  }
  if (request.method === 'POST') {
    for (const list of [requests, connections, datagrams, dns.queries]) list.length = 0
    rebinds = 0
  }
  response.end(JSON.stringify({ queries: dns.queries, connections, requests, datagrams }))
})
control.listen(controlSocket)
await once(control, 'listening')
const facts: ToldFacts = {
  resolver: dns.address,
  caFile,
  controlSocket,
  listedAddress,
  unlistedAddress,
  hostAddress,
}
await writeFile(join(directory, 'facts.json.new'), JSON.stringify(facts))
await rename(join(directory, 'facts.json.new'), join(directory, 'facts.json'))

// A WebSocket to a server inside a runtime: with the token in the address, and in a header.
//
//   npx node examples/websocket/open.ts
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Holt } from '@holt/sdk'

const holt = new Holt() // HOLT_URL and HOLT_API_KEY, else what `holt up` left on this machine
await using runtime = await holt.runtimes.create()
await runtime.files.write('/tmp/echo-server.mjs', await readFile(new URL('echo-server.mjs', import.meta.url)))
await runtime.commands.start(['node', '/tmp/echo-server.mjs', '8000'])
const { path_url, token } = await runtime.ports.get(8000, { wait_secs: 60 })

const socket = new WebSocket(await runtime.ports.webSocketUrl(8000, '/feed'))
console.log(await echoed(socket, 'by the address'))

// Node's own option: browsers have no headers for a WebSocket.
const headers = { 'x-holt-port-token': token }
const other = new WebSocket(`${path_url.replace('http', 'ws')}feed`, { headers })
console.log(await echoed(other, 'by the header'))

async function echoed(connection: WebSocket, message: string): Promise<string> {
  await once(connection, 'open')
  connection.send(message)
  const [{ data }] = (await once(connection, 'message')) as [MessageEvent]
  connection.close()
  return `came back: ${data}`
}

import { createReadStream, createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

// The minimal file server: Node's `pipe` between a request and a file. PUT writes a temporary file
// and renames it, as Holt does. There is no key, no isolation and no validation. The argument is
// the directory. It prints its port to stdout.

const [dir = '.'] = process.argv.slice(2)

const server = createServer(async (request, response) => {
  const path = join(dir, basename(request.url ?? ''))
  try {
    if (request.method === 'PUT') {
      await pipeline(request, createWriteStream(`${path}.part`))
      await rename(`${path}.part`, path)
      response.end('{}')
    } else {
      await pipeline(createReadStream(path), response)
    }
  } catch {
    response.destroy() // The bench counts this as a failure.
  }
})

server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))

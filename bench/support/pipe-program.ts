import { createReadStream, createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

// The least that a server of files can be: Node's `pipe` between a request and a file. PUT writes
// beside the file and renames, as Holt does; there is no key, no isolation and no check of
// anything. Arguments: the directory. It says its port on stdout.

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
    response.destroy() // The bench sees that, and counts a failure.
  }
})

server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))

import { HoltError, outputBytes } from '@holt/sdk'
import { type McpServer, type ReadResourceResult, ResourceTemplate } from '@modelcontextprotocol/server'
import { imageType, isBinary } from '../results/image-type.ts'
import { grouped } from '../results/results.ts'
import type { Session } from '../session/session.ts'
import { guide } from './guide.ts'

/** The largest file and the longest output that a resource returns. */
const maxResourceBytes = 1024 * 1024

/** Adds the resources that the key of a session may read. */
export function addResources(server: McpServer, session: Session): void {
  server.registerResource(
    'docs',
    'holt://docs',
    { title: 'Holt for agents', description: 'How to use the tools of Holt.', mimeType: 'text/markdown' },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/markdown', text: guide }] }),
  )
  if (session.allows(['getRuntime', 'readFile']))
    server.registerResource(
      'file',
      new ResourceTemplate('holt://runtimes/{runtime}/files/{+path}', { list: undefined }),
      { title: 'A file of a runtime', description: 'A file of at most 1 MiB, as text or as bytes.' },
      (uri, { runtime, path }, { mcpReq }) => readFile(session, { uri, runtime, path, signal: mcpReq.signal }),
    )
  if (session.allows(['getRuntime', 'getCommand', 'readOutput']))
    server.registerResource(
      'output',
      new ResourceTemplate('holt://runtimes/{runtime}/commands/{command}/output', { list: undefined }),
      { title: 'The output of a command', description: 'Stdout and stderr as written, as far as they are kept.' },
      (uri, { runtime, command }, { mcpReq }) =>
        readOutput(session, { uri, runtime, path: command, signal: mcpReq.signal }),
    )
}

/** A read of a resource below a runtime. */
interface Reading {
  readonly uri: URL
  readonly runtime: string | string[] | undefined
  /** The path of the file, or the id of the command. */
  readonly path: string | string[] | undefined
  readonly signal: AbortSignal
}

async function readFile(session: Session, { uri, runtime, path, signal }: Reading): Promise<ReadResourceResult> {
  const { files } = await session.runtime(decoded(runtime), signal)
  const bytes = await files.read(`/${decoded(path)}`, { end: maxResourceBytes + 1, signal })
  if (bytes.length > maxResourceBytes)
    throw new HoltError('too_large', `The file has more than ${grouped(maxResourceBytes)} bytes.`, {
      hint: 'Read parts of it with the tool read_file.',
    })
  const type = imageType(bytes)
  if (type === null && !isBinary(bytes)) return textOf(uri, bytes)
  const blob = Buffer.from(bytes).toString('base64')
  return { contents: [{ uri: uri.href, mimeType: type ?? 'application/octet-stream', blob }] }
}

async function readOutput(session: Session, { uri, runtime, path, signal }: Reading): Promise<ReadResourceResult> {
  const { commands } = await session.runtime(decoded(runtime), signal)
  const command = await commands.get(decoded(path), { signal })
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const item of command.output({ follow: false, signal })) {
    if (item.type !== 'stdout' && item.type !== 'stderr') continue
    const piece = outputBytes(item)
    pieces.push(piece)
    bytes += piece.length
    if (bytes >= maxResourceBytes) break
  }
  return textOf(uri, Buffer.concat(pieces).subarray(0, maxResourceBytes))
}

function textOf(uri: URL, bytes: Uint8Array): ReadResourceResult {
  return { contents: [{ uri: uri.href, mimeType: 'text/plain', text: new TextDecoder().decode(bytes) }] }
}

function decoded(variable: string | string[] | undefined): string {
  return decodeURIComponent([variable ?? ''].flat().join('/'))
}

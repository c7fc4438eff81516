import { portTokenField } from '@holt/protocol'
import type { Port, Runtime } from '@holt/sdk'
import { type Command, InvalidArgumentError } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { port as portArgument, seconds } from '../arguments/parse.ts'
import { connect } from '../connection/connect.ts'
import { print, printJson, say } from '../output/print.ts'
import { printTable } from '../output/table.ts'
import { type Forwarding, forwardPort } from '../ports/forward-port.ts'
import { openInBrowser } from '../ports/open-in-browser.ts'
import { shellWord } from '../shell/shell-word.ts'
import { act, UsageError } from '../verb/verb.ts'

interface PortOptions {
  readonly public?: boolean
  readonly private?: boolean
  readonly rotate?: boolean
  readonly wait?: number
  readonly expires?: number
  readonly open?: boolean
  readonly path?: boolean
  readonly forward?: Forwarding
  readonly quiet?: boolean
  readonly json?: boolean
}

const examples = `
Examples:
  holt port mine                      list the ports with a listener
  curl "$(holt port mine 3000)"       for curl and browsers; the address has a token that is valid for 24 hours
  holt port mine 3000 --path          an address for all programs, such as Node and Python
  holt port mine 3000 --wait 30       waits for a listener; fails if there is none
  holt port mine 3000 --public        everyone who knows the address has access; --private ends that
  holt port mine 3000 --rotate        revokes earlier tokens, and cuts open connections
  holt port mine --forward 8080:3000  127.0.0.1:8080 is port 3000 of the runtime, for any TCP, until Ctrl-C`

/** Adds `holt port`, which gives access to programs that listen in a runtime. */
export function addPort(program: Command): void {
  const command = program
    .command('port')
    .description('reach a server in a runtime: print its address, or forward a port of this machine')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('[port]', 'the port inside (default: list the ports with a listener)', portArgument)
    .option('--public', 'give access without a token to everyone who knows the address')
    .option('--private', 'require a token (the default)')
    .option('--rotate', 'revoke earlier tokens and cut open connections')
    .option('--wait <duration>', 'wait until the port has a listener', seconds)
    .option('--expires <duration>', 'how long the token is valid (default: 24 hours)', seconds)
    .option('--open', 'open the address in the browser of this machine')
    .option('--path', 'print the address below that of the service, for programs that do not resolve *.localhost')
    .option('--forward <[local:]port>', 'listen on 127.0.0.1:LOCAL and carry its connections to the port', forwarding)
    .option('-q, --quiet', 'only the port numbers')
    .option('--json', 'print the port as JSON')
    .addHelpText('after', examples)
  act(command, reachPort)
}

async function reachPort(text: string, port: number | undefined, options: PortOptions): Promise<number> {
  if (options.public === true && options.private === true) throw new UsageError('Give one of --public and --private')
  const runtime = await findRuntime(connect(), text)
  if (options.forward !== undefined) return forwardPort(runtime, options.forward)
  if (port === undefined) {
    const changing = ['public', 'private', 'rotate', 'wait', 'expires', 'open', 'path'] as const
    const given = changing.find((name) => options[name] !== undefined)
    if (given !== undefined)
      throw new UsageError(`--${given} needs a port: holt port ${shellWord(text)} PORT --${given}`)
    return listPorts(runtime, options)
  }
  return showPort(runtime, port, options)
}

async function showPort(runtime: Runtime, port: number, options: PortOptions): Promise<number> {
  if (options.rotate === true) await runtime.ports.rotate(port)
  if (options.public === true || options.private === true) await runtime.ports.setPublic(port, options.public === true)
  const expiry = options.expires === undefined ? {} : { expires_in_secs: options.expires }
  const found = await runtime.ports.get(port, { wait_secs: options.wait ?? 0, ...expiry })
  if (options.json === true) printJson(found)
  else print(addressOf(found, options))
  if (!found.listening) say(`Nothing listens on port ${port} yet.`)
  // Every user of this machine sees the arguments of the program that opens the browser.
  if (options.open === true && found.listening)
    openInBrowser(addressOf(await runtime.ports.get(port, { ...expiry, once: true }), options))
  return options.wait !== undefined && !found.listening ? 1 : 0
}

async function listPorts(runtime: Runtime, { quiet, json }: PortOptions): Promise<number> {
  const ports = await runtime.ports.list()
  if (json === true) printJson({ data: ports })
  else if (quiet === true) for (const one of ports) print(String(one.port))
  else if (ports.length === 0) say('Nothing listens.')
  else {
    printTable(ports, [
      ['PORT', (one) => String(one.port)],
      ['ACCESS', (one) => (one.public ? 'public' : 'private')],
      ['LISTENING', (one) => (one.listening ? 'yes' : 'no')],
    ])
  }
  return 0
}

/** Returns the address that works by itself, without a header or a cookie. */
function addressOf({ url, path_url, token, public: isPublic }: Port, { path = false }: PortOptions): string {
  const address = path ? path_url : url
  return isPublic ? address : `${address}?${portTokenField}=${token}`
}

function forwarding(text: string): Forwarding {
  const [, local, remote = ''] = /^(?:(\d+):)?(\d+)$/.exec(text) ?? []
  if (remote === '') throw new InvalidArgumentError('It must be LOCAL:PORT or PORT.')
  const port = portArgument(remote)
  return { local: local === undefined ? port : local === '0' ? 0 : portArgument(local), port }
}

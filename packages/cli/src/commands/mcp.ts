import type { NewRuntime } from '@holt/sdk'
import type { Command } from 'commander'
import { addCreateOptions, type CreateOptions, createBody } from '../arguments/create-options.ts'
import { addDeadlineOptions, type DeadlineOptions, deadlineFields } from '../arguments/deadline-options.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import { say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { Interrupts } from '../verb/interrupts.ts'
import { act, UsageError } from '../verb/verb.ts'
import { version } from '../verb/version.ts'

interface McpOptions extends CreateOptions, DeadlineOptions {
  readonly runtime?: string
  readonly own?: boolean
}

const examples = `
The server offers the tools that the scopes of the key allow. It speaks over stdin and stdout, so an agent starts it. With
--runtime or --own, it offers only tools for that one runtime. The other options are for the runtime of --own.

Examples:
  claude mcp add holt -- holt mcp
  claude mcp add holt -- holt mcp --own -t base-medium --include pypi
  codex mcp add holt -- holt mcp --runtime mine
  HOLT_API_KEY=$(holt key create agent --scope runtime:read runtime:write) holt mcp

docs/mcp.md has the configuration files of common agents, and what an agent can do with the key.`

/** Adds `holt mcp`, a server of the Model Context Protocol. */
export function addMcp(program: Command): void {
  const command = program
    .command('mcp')
    .description('give an agent tools for runtimes: a server of the Model Context Protocol, over stdin and stdout')
    .option('--runtime <runtime>', 'only this runtime: id, beginning of an id, or name')
    .option('--own', 'only a runtime of its own: made at the first use, and deleted at the end')
  addDeadlineOptions(addCreateOptions(command), { of: 'made' }).addHelpText('after', examples)
  act(command, serve)
}

async function serve(options: McpOptions): Promise<number> {
  const body = { ...createBody(options), ...deadlineFields(options) }
  if (options.runtime !== undefined && options.own === true)
    throw new UsageError('Give one of --runtime and --own, not both')
  if (options.own !== true && Object.keys(body).length > 0)
    throw new UsageError('Options of a new runtime need --own, which makes one')
  using interrupts = new Interrupts()
  // Loaded here: no other command needs the protocol and its schemas.
  const { serveStdio } = await import('@holt/mcp')
  await using opened = await openSession(options, body)
  if (process.stdin.isTTY) say('holt: an agent starts this command and speaks to it: holt mcp --help')
  const connection = serveStdio(opened.session, { version }, ({ message }) => say(`holt: ${printable(message)}`))
  await endOf(interrupts)
  await connection.close()
  return interrupts.endCode
}

/** Opens the session. Disposing of the result deletes a runtime of its own. */
async function openSession({ runtime, own }: McpOptions, body: NewRuntime) {
  const { existingRuntime, OwnRuntime, Session } = await import('@holt/mcp')
  const holt = connect()
  const { key } = await holt.whoami()
  const ownRuntime = own === true ? new OwnRuntime(holt, body) : null
  const named = runtime === undefined ? null : existingRuntime(holt, (await findRuntime(holt, runtime)).runtime_id)
  return {
    session: new Session({ holt, scopes: new Set(key.scopes), bound: ownRuntime ?? named }),
    [Symbol.asyncDispose]: async () => ownRuntime?.[Symbol.asyncDispose](),
  }
}

/** Waits until the agent closes stdin, or a signal ends the command. */
function endOf(interrupts: Interrupts): Promise<void> {
  return new Promise((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve)
    interrupts.passOn(async () => resolve())
  })
}

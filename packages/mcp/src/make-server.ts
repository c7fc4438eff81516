import { McpServer, type ServerContext } from '@modelcontextprotocol/server'
import { addResources } from './resources/add-resources.ts'
import { boundResult } from './results/bound-result.ts'
import { errorResult } from './results/error-result.ts'
import { oneLine } from './results/results.ts'
import type { Session } from './session/session.ts'
import { allTools } from './tools/all-tools.ts'
import type { TellProgress, Tool } from './tools/tool.ts'

const instructions = {
  free: 'Holt runs untrusted code in runtimes: isolated Linux machines. Create one with create_runtime, work in it with run_command and the file tools, and delete it at the end. The resource holt://docs says more.',
  bound:
    'Holt runs untrusted code in an isolated Linux machine, the runtime of this session. Work in it with run_command and the file tools. The resource holt://docs says more.',
}

/** The name and the version that clients are told. */
export interface ServerFacts {
  readonly version: string
}

/** Makes a server of the protocol with the tools and resources that a session may use. */
export function makeServer(session: Session, { version }: ServerFacts): McpServer {
  const server = new McpServer(
    { name: 'holt', title: 'Holt', version },
    { instructions: session.isBound ? instructions.bound : instructions.free },
  )
  for (const tool of toolsOf(session)) addTool(server, session, tool)
  addResources(server, session)
  return server
}

/** Returns the tools that the key of a session may use, and that are of use to it. */
function toolsOf(session: Session): readonly Tool[] {
  return allTools.filter((tool) => session.allows(tool.routes) && (tool.forBound || !session.isBound))
}

function addTool(server: McpServer, session: Session, tool: Tool): void {
  const { name, title, description, annotations } = tool
  const inputSchema = session.isBound ? tool.bound : tool.free
  server.registerTool(name, { title, description, annotations, inputSchema }, async (args, context) => {
    const progress = new Progress(context)
    const call = { session, signal: context.mcpReq.signal, tellProgress: progress.tell }
    try {
      const result = await tool.run(args, call)
      await progress.sent
      return boundResult(result)
    } catch (error) {
      // Nobody waits for the result of a cancelled call.
      context.mcpReq.signal.throwIfAborted()
      return boundResult(errorResult(error))
    }
  })
}

/**
 * The reports to the client of a call, if it has asked for them. A report that cannot be sent is
 * dropped: the connection is gone, and the call ends with it.
 */
class Progress {
  /** Resolves when the reports so far are sent. A client ignores those behind the result. */
  sent: Promise<unknown> = Promise.resolve()
  readonly #context: ServerContext
  #last = 0

  constructor(context: ServerContext) {
    this.#context = context
  }

  readonly tell: TellProgress = (message, how) => {
    const { mcpReq } = this.#context
    const progressToken = mcpReq._meta?.progressToken
    if (progressToken === undefined) return
    // The protocol wants each value above the one before.
    this.#last = Math.max(this.#last + 1e-3, how?.done ?? this.#last + 1)
    const total = how?.total === undefined ? {} : { total: how.total }
    const params = { progressToken, progress: this.#last, message: oneLine(message), ...total }
    const sending = mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
    this.sent = Promise.all([this.sent, sending])
  }
}

import { McpServer, type ServerContext } from '@modelcontextprotocol/server'
import { addResources } from './resources/add-resources.ts'
import { errorResult } from './results/error-result.ts'
import type { Session } from './session/session.ts'
import { allTools } from './tools/all-tools.ts'
import type { TellProgress, Tool, ToolCall } from './tools/tool.ts'

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
    try {
      return await tool.run(args, callOf(session, context))
    } catch (error) {
      // Nobody waits for the result of a cancelled call.
      context.mcpReq.signal.throwIfAborted()
      return errorResult(error)
    }
  })
}

function callOf(session: Session, context: ServerContext): ToolCall {
  return { session, signal: context.mcpReq.signal, tellProgress: progressOf(context) }
}

/**
 * Returns the function that reports progress to the client of a call, if it has asked for that. A
 * report that cannot be sent is dropped: the connection is gone, and the call ends with it.
 */
function progressOf({ mcpReq }: ServerContext): TellProgress {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return () => undefined
  let last = 0
  return (message, how) => {
    // The protocol wants each value above the one before.
    last = Math.max(last + 1e-3, how?.done ?? last + 1)
    const total = how?.total === undefined ? {} : { total: how.total }
    const params = { progressToken, progress: last, message, ...total }
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}

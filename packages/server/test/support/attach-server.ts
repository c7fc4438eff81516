import type { ServerOptions } from '../../src/index.ts'
import { attach, type Refused, TestAttachment } from './attach.ts'
import { startTestServer } from './start-test-server.ts'

/** A server with a runtime, and what starts commands in it and attaches to them. */
export async function startAttachServer(options: Partial<ServerOptions> = {}, runtime: object = {}) {
  const server = await startTestServer(options)
  const { ask, makeRuntime } = server
  const path = `/v1/agents/runtime/${await makeRuntime(runtime)}`
  const commands = `${path}/commands`
  const open = async (commandId: string, query = '', how: Parameters<typeof attach>[1] = {}) => {
    const url = `${server.server.url}${commands}/${commandId}/attach${query}`
    return attach(url, { key: server.server.adminKey, ...how })
  }
  return {
    ...server,
    /** Of the runtime, and of its commands. */
    path,
    commands,
    start: async (body: object): Promise<string> =>
      (await ask('POST', commands, { json: { background: true, ...body } })).json.command_id,
    open,
    attached: async (...args: Parameters<typeof open>): Promise<TestAttachment> => {
      const answer = await open(...args)
      if (answer instanceof TestAttachment) return answer
      throw new Error(JSON.stringify(answer))
    },
    refused: async (...args: Parameters<typeof open>): Promise<Refused> => {
      const answer = await open(...args)
      if (answer instanceof TestAttachment) throw new Error('it was let in')
      return answer
    },
  }
}

import type { TestServer } from './start-test-server.ts'

/** Ways to look and act inside the runtimes of a test server. */
export function inside({ ask }: Pick<TestServer, 'ask'>) {
  const base = (id: string) => `/v1/agents/runtime/${id}`
  return {
    write: async (id: string, path: string, body: string) => {
      const { status, text } = await ask('PUT', `${base(id)}/files/content?path=${path}`, { body })
      if (status >= 300) throw new Error(text)
    },
    /** Null where there is no such file. */
    read: async (id: string, path: string) => {
      const { status, text } = await ask('GET', `${base(id)}/files/content?path=${path}`)
      return status === 200 ? text : null
    },
    /** Starts a command that stays, and answers its id. */
    start: async (id: string, ...argv: readonly string[]): Promise<string> => {
      const { status, json, text } = await ask('POST', `${base(id)}/commands`, { json: { argv, background: true } })
      if (status >= 300) throw new Error(text)
      return json.command_id
    },
    /** Runs a command to its end, and answers what it wrote. */
    run: async (id: string, ...argv: readonly string[]): Promise<string> => {
      const { status, json, text } = await ask('POST', `${base(id)}/commands`, { json: { argv } })
      if (status >= 300) throw new Error(text)
      return json.stdout
    },
    /** The ids of the commands that run. */
    running: async (id: string): Promise<readonly string[]> => {
      const { json } = await ask('GET', `${base(id)}/commands`)
      return json.data
        .filter(({ state }: { state: string }) => state === 'running')
        .map(({ command_id }: { command_id: string }) => command_id)
    },
  }
}

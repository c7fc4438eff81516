import type { TestServer } from './start-test-server.ts'

/** A stream of items that is being read. */
export interface ItemReader extends AsyncDisposable {
  /** The next item; undefined where the stream has ended. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into items of every shape
  next(): Promise<any>
}

/** Opens a stream of items as NDJSON. */
export async function readItems({ server }: TestServer, path: string, key = server.adminKey): Promise<ItemReader> {
  const controller = new AbortController()
  const response = await fetch(`${server.url}${path}`, {
    headers: { authorization: `Bearer ${key}`, accept: 'application/x-ndjson' },
    signal: controller.signal,
  })
  if (response.status !== 200) throw new Error(await response.text())
  const lines = linesOf(response)
  return {
    next: async () => {
      const { value } = await lines.next()
      return value === undefined ? undefined : JSON.parse(value)
    },
    [Symbol.asyncDispose]: async () => {
      controller.abort()
      await lines.next().catch(() => undefined)
    },
  }
}

async function* linesOf(response: Response): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  return undefined
}

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** The part of a request for a response that the script reads. */
interface ResponseRequest {
  readonly input: readonly {
    readonly type: string
    readonly call_id?: string
    readonly output?: string | readonly { readonly text?: string }[]
  }[]
  readonly tools: readonly {
    readonly type: string
    readonly name?: string
    readonly tools?: readonly { readonly name: string }[]
  }[]
}

type Item = Readonly<Record<string, unknown>>

/** A step of the model: its answer to a request, and what the agent's next request is for. */
interface Step {
  readonly answer: (request: ResponseRequest) => Item
  readonly takeResult: (request: ResponseRequest) => void
}

/**
 * A model whose next call a test decides: the Responses API
 * (https://platform.openai.com/docs/api-reference/responses-streaming) on loopback.
 */
export class ScriptedModel implements AsyncDisposable {
  readonly #server: Server
  #calls = 0
  #next = Promise.withResolvers<Step>()
  /** Takes the request that brings the result of the last call. */
  #takeResult: (request: ResponseRequest) => void = () => undefined

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
    })
  }

  static async start(): Promise<ScriptedModel> {
    const model = new ScriptedModel()
    await once(model.#server.listen(0, '127.0.0.1'), 'listening')
    return model
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  /** Lets the agent call a tool of its MCP server, and returns the text of the result. */
  async use(name: string, args: object): Promise<string> {
    this.#calls += 1
    const call_id = `call_${this.#calls}`
    const answer = ({ tools }: ResponseRequest) => {
      const namespace = tools.find((one) => one.tools?.some((tool) => tool.name === name) === true)?.name
      if (namespace === undefined) throw new Error(`the agent does not offer the tool ${name}`)
      return { type: 'function_call', id: `fc_${call_id}`, call_id, namespace, name, arguments: JSON.stringify(args) }
    }
    const { input } = await new Promise<ResponseRequest>((takeResult) => this.#next.resolve({ answer, takeResult }))
    const output = input.find((item) => item.type === 'function_call_output' && item.call_id === call_id)?.output
    if (output === undefined) throw new Error(`the agent returned no result of ${name}`)
    // The agent adds a line of its own before the result.
    return typeof output === 'string'
      ? output
      : output
          .slice(1)
          .map(({ text = '' }) => text)
          .join('\n')
  }

  /** Lets the agent end its turn with a text. */
  say(text: string): void {
    const content = [{ type: 'output_text', text, annotations: [] }]
    const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
    this.#next.resolve({ answer: () => item, takeResult: () => undefined })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || request.url !== '/v1/responses') {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error": {"message": "not found"}}')
      return
    }
    const asked = (await json(request)) as ResponseRequest
    const next = this.#next.promise
    this.#takeResult(asked)
    const { answer, takeResult } = await next
    this.#next = Promise.withResolvers()
    this.#takeResult = takeResult
    const item = answer(asked)
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
    const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } }
    const begun = { id: `resp_${this.#calls}`, object: 'response', created_at: 1_700_000_000, model: 'scripted' }
    const events = [
      { type: 'response.created', response: { ...begun, status: 'in_progress', output: [] } },
      { type: 'response.output_item.done', output_index: 0, item },
      {
        type: 'response.completed',
        response: { ...begun, status: 'completed', output: [item], usage: { ...usage, ...details } },
      },
    ]
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
  }
}

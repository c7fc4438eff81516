import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const compiler = fileURLToPath(new URL('../../../../node_modules/.bin/tsc', import.meta.url))

/** The most milliseconds for an answer: a first one loads the program. */
const answerMs = 60_000

/**
 * The language service of TypeScript over one directory, as an editor asks it (Language Server
 * Protocol 3.17).
 */
export class LanguageService {
  readonly #server: ChildProcess
  readonly #waiting = new Map<number, (result: unknown) => void>()
  #received = Buffer.alloc(0)
  #lastId = 0

  private constructor(server: ChildProcess) {
    this.#server = server
    server.stdout?.on('data', (bytes: Buffer) => this.#take(bytes))
  }

  static async start(directory: string): Promise<LanguageService> {
    const server = spawn(compiler, ['--lsp', '--stdio'], { cwd: directory, stdio: ['pipe', 'pipe', 'ignore'] })
    const service = new LanguageService(server)
    const rootUri = pathToFileURL(directory).href
    const textDocument = { hover: { contentFormat: ['markdown'] } }
    await service.#ask('initialize', { processId: process.pid, rootUri, capabilities: { textDocument } })
    service.#send({ method: 'initialized', params: {} })
    return service
  }

  /**
   * Returns the hover text at each mark of a file: a comment with only a question mark stands
   * before the name that is asked for.
   */
  async hovers(directory: string, name: string, text: string): Promise<readonly string[]> {
    const uri = pathToFileURL(join(directory, name)).href
    this.#send({
      method: 'textDocument/didOpen',
      params: { textDocument: { uri, languageId: 'typescript', version: 1, text } },
    })
    const answers: string[] = []
    for (const [line, content] of text.split('\n').entries()) {
      for (const { index, 0: mark } of content.matchAll(/\/\*\?\*\//g)) {
        const position = { line, character: index + mark.length }
        const hover = (await this.#ask('textDocument/hover', { textDocument: { uri }, position })) as {
          contents?: { value?: string }
        } | null
        answers.push(hover?.contents?.value ?? '')
      }
    }
    return answers
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#server, 'exit')
    this.#server.kill('SIGKILL')
    await ended
  }

  #ask(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} was not answered within ${answerMs} ms`)), answerMs)
      this.#waiting.set(id, (result) => {
        clearTimeout(timer)
        resolve(result)
      })
      this.#send({ id, method, params })
    })
  }

  #send(message: object): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    this.#server.stdin?.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }

  #take(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes])
    for (;;) {
      const head = this.#received.indexOf('\r\n\r\n')
      const length = Number(/Content-Length: (\d+)/i.exec(this.#received.toString('latin1', 0, Math.max(head, 0)))?.[1])
      if (head < 0 || this.#received.length < head + 4 + length) return
      const message = JSON.parse(this.#received.toString('utf8', head + 4, head + 4 + length))
      this.#received = this.#received.subarray(head + 4 + length)
      // A question of the service itself: nothing is configured here.
      if (message.method !== undefined && message.id !== undefined) this.#send({ id: message.id, result: null })
      else this.#waiting.get(message.id)?.(message.result)
    }
  }
}

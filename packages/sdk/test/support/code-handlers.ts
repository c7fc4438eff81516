import { HoltError, makeId, type RouteName, type RunCode } from '@holt/protocol'
import { InterpreterRefusal, type TestInterpreter } from './interpreter/test-interpreter.ts'
import type { TestRun } from './interpreter/test-run.ts'
import { runningOf } from './named-runtime.ts'
import type { TestAnswer, TestCall } from './test-service.ts'

type Handler = (call: TestCall) => TestAnswer | Promise<TestAnswer>

/** The routes of code. */
export const codeHandlers = {
  createCodeContext: (call) => {
    const { language, cwd } = call.body as { language?: string; cwd?: string }
    return { status: 201, json: ask(call, (interpreter) => interpreter.create(language, cwd)) }
  },
  listCodeContexts: (call) => {
    const data = ask(call, ({ contexts }) => contexts.toReversed())
    return { status: 200, json: { data, next_cursor: null } }
  },
  getCodeContext: (call) => aboutContext(call, () => undefined),
  interruptCodeContext: (call) => aboutContext(call, (interpreter, id) => interpreter.interrupt(id)),
  restartCodeContext: (call) => aboutContext(call, (interpreter, id) => interpreter.restart(id)),
  deleteCodeContext: (call) => {
    ask(call, (interpreter) => interpreter.delete(call.params.context_id ?? ''))
    return { status: 204 }
  },
  runCode: (call) => run(call, { language: (call.body as RunCode).language }),
  runCodeInContext: (call) => run(call, { context_id: call.params.context_id }),
  readCodeRun: (call) => {
    const found = ask(call, (interpreter) => interpreter.run(call.params.run_id ?? ''))
    return streamRun(call, found, call.query.cursor === undefined ? -1 : Number(call.query.cursor))
  },
  interruptCodeRun: (call) => {
    ask(call, (interpreter) => interpreter.run(call.params.run_id ?? '').stop('interrupted'))
    return { status: 204 }
  },
} as const satisfies Partial<Record<RouteName, Handler>>

function aboutContext(call: TestCall, change: (interpreter: TestInterpreter, id: string) => void): TestAnswer {
  const id = call.params.context_id ?? ''
  const json = ask(call, (interpreter) => {
    change(interpreter, id)
    return interpreter.context(id)
  })
  return { status: 200, json }
}

function run(call: TestCall, place: { readonly language?: string; readonly context_id?: string | undefined }) {
  const { code, timeout_secs, env } = call.body as RunCode
  const started = ask(call, (interpreter) =>
    interpreter.start({ run_id: makeId('code_run'), code, timeout_secs, env, ...place }),
  )
  return streamRun(call, started, -1)
}

async function streamRun({ response }: TestCall, run: TestRun, cursor: number): Promise<undefined> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  for await (const item of run.follow(cursor)) {
    if (response.locals !== undefined && response.locals.itemsLeft-- === 0) {
      response.destroy()
      return
    }
    const text = `event: ${item.type}\nid: ${item.cursor}\ndata: ${JSON.stringify(item)}\n\n`
    await new Promise<void>((resolve) => response.write(text, () => resolve()))
  }
  response.end()
}

/** Asks the interpreter of a running runtime. */
function ask<Answer>(call: TestCall, question: (interpreter: TestInterpreter) => Answer): Answer {
  runningOf(call)
  const { interpreter } = call.service
  if (interpreter === null) throw new HoltError('code_interpreter_missing', 'The runtime has no code interpreter.')
  try {
    return question(interpreter)
  } catch (error) {
    if (!(error instanceof InterpreterRefusal)) throw error
    const { code, message } = error
    if (code === 'language_not_found') throw new HoltError(code, message)
    throw new HoltError(code === 'run_not_found' ? 'code_run_not_found' : 'code_context_not_found', message)
  }
}

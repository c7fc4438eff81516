import type { z } from 'zod'

/** The facts of a call besides its messages. */
export interface RpcCall<Context> {
  /** The thing to which the call was admitted. */
  readonly context: Context
  /** The user whom the caller named. Null: the default user. */
  readonly user: string | null
  /** The life of the call in milliseconds, as the client announced it. Null: without end. */
  readonly timeoutMs: number | null
  /** Aborts when the client is gone, the sandbox ends, or the call has ended. */
  readonly signal: AbortSignal
}

/** A method that answers one message with one message. */
interface UnaryMethod<Context> {
  readonly type: 'unary'
  readonly schema: z.ZodType
  answer(message: unknown, call: RpcCall<Context>): Promise<object>
}

/** A method that answers one message with a stream. */
export interface ServerStreamMethod<Context> {
  readonly type: 'serverStream'
  readonly schema: z.ZodType
  /** The message that is sent when no other was for a while. */
  readonly keepalive: object
  /**
   * The time that the stream may continue after the client's timeout, in milliseconds. A method
   * that ends its stream at the timeout by itself needs some.
   */
  readonly graceMs: number
  answer(message: unknown, call: RpcCall<Context>): AsyncIterable<object>
}

/** A method that takes a stream and answers it with one message. */
export interface ClientStreamMethod<Context> {
  readonly type: 'clientStream'
  readonly schema: z.ZodType
  take(messages: AsyncIterable<unknown>, call: RpcCall<Context>): Promise<object>
}

export type RpcMethod<Context> = UnaryMethod<Context> | ServerStreamMethod<Context> | ClientStreamMethod<Context>

/** The methods of a service, by their paths, as `/process.Process/Start`. */
export type RpcMethods<Context> = Readonly<Record<string, RpcMethod<Context>>>

/** The times of a server's stream. */
type StreamTimes = Pick<ServerStreamMethod<never>, 'keepalive'> & { readonly graceMs?: number }

/** Makes methods whose handlers take the messages that their schemas return. */
export class MethodMaker<Context> {
  unary<Schema extends z.ZodType>(
    schema: Schema,
    answer: (message: z.output<Schema>, call: RpcCall<Context>) => Promise<object>,
  ): RpcMethod<Context> {
    return { type: 'unary', schema, answer: (message, call) => answer(message as z.output<Schema>, call) }
  }

  serverStream<Schema extends z.ZodType>(
    schema: Schema,
    { keepalive, graceMs = 0 }: StreamTimes,
    answer: (message: z.output<Schema>, call: RpcCall<Context>) => AsyncIterable<object>,
  ): RpcMethod<Context> {
    const handle = (message: unknown, call: RpcCall<Context>) => answer(message as z.output<Schema>, call)
    return { type: 'serverStream', schema, keepalive, graceMs, answer: handle }
  }

  clientStream<Schema extends z.ZodType>(
    schema: Schema,
    take: (messages: AsyncIterable<z.output<Schema>>, call: RpcCall<Context>) => Promise<object>,
  ): RpcMethod<Context> {
    const handle = (messages: AsyncIterable<unknown>, call: RpcCall<Context>) =>
      take(messages as AsyncIterable<z.output<Schema>>, call)
    return { type: 'clientStream', schema, take: handle }
  }
}

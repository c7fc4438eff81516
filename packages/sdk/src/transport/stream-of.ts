/**
 * Returns a stream of chunks, which reads each when it is asked for. `ReadableStream.from` does the
 * same, and not every browser has it.
 */
export function streamOf<Chunk>(chunks: AsyncIterable<Chunk>): ReadableStream<Chunk> {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream<Chunk>(
    {
      pull: async (controller) => {
        const { done, value } = await iterator.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      cancel: async (reason) => void (await iterator.return?.(reason)),
    },
    { highWaterMark: 0 },
  )
}

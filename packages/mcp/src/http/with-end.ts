/** Returns a response that calls `onEnd` once, when its body has ended or its reader has left. */
export function withEnd(response: Response, onEnd: () => void): Response {
  const { body, status, statusText, headers } = response
  if (body === null) {
    onEnd()
    return response
  }
  const reader = body.getReader()
  const watched = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        onEnd()
        controller.close()
      } catch (error) {
        onEnd()
        throw error
      }
    },
    cancel: (reason) => {
      onEnd()
      return reader.cancel(reason)
    },
  })
  return new Response(watched, { status, statusText, headers })
}

/** Ends the request with the reason why its body ends: the connection is not what broke. */
export async function* failing<Part>(parts: AsyncIterable<Part>, failed: AbortController): AsyncGenerator<Part> {
  try {
    yield* parts
  } catch (error) {
    failed.abort(error)
    throw error
  }
}

/** The interval between the tries to load a part, in milliseconds, and the most tries: a minute. */
const retryMs = 1000
const mostTries = 60

/**
 * Loads a part of the console that is not in the first load. While the service restarts it is tried
 * again, so that a page with a half-filled form does not fail.
 */
export function loadPart<Part>(load: () => Promise<Part>): () => Promise<Part> {
  return async () => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await load()
      } catch (error) {
        if (tries === mostTries) throw error
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }
}

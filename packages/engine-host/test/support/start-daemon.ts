import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { EngineUnderTest } from './engine-under-test.ts'

/** An engine in a process of its own, to be killed at a bad moment. */
export interface Daemon {
  /** Resolves when it has printed this word. */
  said(word: string): Promise<void>
  kill(): Promise<void>
}

/** Starts a script as a daemon, with the engine's options and what else it asks for. */
export function startDaemon(under: EngineUnderTest, script: URL, input: object): Daemon {
  const { log: _, ...options } = under.options
  const child = spawn(process.execPath, [fileURLToPath(script), JSON.stringify({ options, ...input })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  let text = ''
  child.stdout.on('data', (part: Buffer) => {
    text += part.toString()
  })
  return {
    said: (word) =>
      new Promise((resolve) => {
        const look = () => text.includes(word) && resolve()
        child.stdout.on('data', look)
        look()
      }),
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

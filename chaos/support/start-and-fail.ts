import { spawn } from 'node:child_process'
import { mainFile, nodeBinary, serviceEnvironment } from '../../e2e/support/service-process.ts'

/** The timeout of a daemon that cannot start, on a busy machine. */
const timeoutMs = 60_000

/**
 * Starts a daemon on the state directory of the tests, and expects that it ends by itself. Returns
 * its exit code and its output.
 */
export async function startAndFail(port: number): Promise<{ readonly code: number | null; readonly said: string }> {
  const child = spawn(nodeBinary(), [mainFile, 'serve'], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: serviceEnvironment(port),
    timeout: timeoutMs,
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  return { code, said }
}

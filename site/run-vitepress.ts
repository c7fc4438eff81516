import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const siteDir = import.meta.dirname
const program = join(siteDir, 'node_modules/vitepress/bin/vitepress.js')

/**
 * Runs a command of VitePress for the site and waits for its end. Its output is the output of this
 * process. Throws if it fails.
 */
export async function runVitePress(
  command: 'build' | 'dev',
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = spawn(process.execPath, [program, command, siteDir], {
    env: { ...process.env, HOLT_SITE_DIR: siteDir, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code, signal] = await once(child, 'exit')
  if (code !== 0) throw new Error(`vitepress ${command} ended with ${code ?? signal}`)
}

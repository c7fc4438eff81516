import { spawn } from 'node:child_process'
import { say } from '../output/print.ts'

/**
 * Opens an address with this machine's program for that. If there is none, it prints a message.
 * `otherwise` is called then, for an address that is not on the screen.
 */
export function openInBrowser(url: string, otherwise: () => void = () => {}): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(program, [url], { detached: true, stdio: 'ignore' })
  child.once('error', () => {
    say(`holt: ${program} cannot be started: open the address yourself`)
    otherwise()
  })
  child.unref()
}

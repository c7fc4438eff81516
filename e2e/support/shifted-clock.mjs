// Loaded into the daemon before its program (`node --import`): a wall clock that can be set apart from the machine's, as an operator or NTP sets it. The monotonic clock stays.
// It begins with its offset in milliseconds out of the file that HOLT_E2E_CLOCK names, and SIGUSR2 has it read that again.
import { readFileSync } from 'node:fs'

const realNow = Date.now.bind(Date)
const read = () => Number(readFileSync(process.env.HOLT_E2E_CLOCK, 'utf8'))
let offsetMs = read()

process.on('SIGUSR2', () => {
  offsetMs = read()
})

const now = () => realNow() + offsetMs

globalThis.Date = class extends Date {
  constructor(...parts) {
    if (parts.length === 0) super(now())
    else super(...parts)
  }

  static now() {
    return now()
  }
}

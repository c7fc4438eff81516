// Loaded into the daemon before its program (`node --import`): a wall clock that can be set apart from the machine's, as an operator or NTP sets it. The monotonic clock stays.
// SIGUSR2 has it read its offset in milliseconds from the file that HOLT_E2E_CLOCK names.
import { readFileSync } from 'node:fs'

const realNow = Date.now.bind(Date)
let offsetMs = 0

process.on('SIGUSR2', () => {
  offsetMs = Number(readFileSync(process.env.HOLT_E2E_CLOCK, 'utf8'))
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

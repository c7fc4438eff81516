import { HoltError } from '@holt/sdk'

/** An expectation of the quickstart that did not hold. */
class Unexpected extends Error {
  override readonly name = 'Unexpected'
  readonly evidence: string
  constructor(message: string, evidence: string) {
    super(message)
    this.evidence = evidence
  }
}

/** Makes the error of an expectation that did not hold, with what was seen instead. */
export function unexpected(message: string, evidence = ''): Error {
  return new Unexpected(message, evidence)
}

/** Takes steps one after the other, and tells each with the time it took. */
export class Steps {
  #running = ''
  #count = 0
  #inTheJobMs = 0
  readonly #beganMs = performance.now()

  /** Takes a step. */
  async take<Result>(name: string, step: () => Promise<Result>): Promise<Result> {
    this.#running = name
    const beganMs = performance.now()
    const result = await step()
    const tookMs = performance.now() - beganMs
    this.#count += 1
    if (this.#count > 1) this.#inTheJobMs += tookMs
    console.log(`${green('✓')} ${name} ${dim(`… ${duration(tookMs)}`)}`)
    return result
  }

  /** Adds a line to the step before. */
  note(text: string): void {
    if (text !== '') console.log(dim(`    ${text}`))
  }

  /** Tells what happened and what to type next. */
  tellEnd(result: string, holt: string): void {
    console.log(`
A stranger's code was tested, repaired and fetched back in ${duration(this.#inTheJobMs)} (${duration(performance.now() - this.#beganMs)} with the start of Holt).
It ran in a runtime of its own, without a network, which is gone. The repaired project: ${result}

Next:${exported()}
  ${holt} run -- python -c 'print(6 * 7)'
  ${holt} create -n mine && ${holt} exec mine -- bash -lc 'python --version; node --version; git --version'
  ${holt} --help
  ln -s ${holt} /usr/local/bin/holt     to type just: holt
  ${holt} down                          to stop the service`)
  }

  /** Tells which step failed, and why. */
  tellFailure(error: unknown): void {
    console.error(`✗ ${this.#running}: ${error instanceof Error ? error.message : String(error)}`)
    if (error instanceof Unexpected && error.evidence !== '') console.error(error.evidence.replace(/^/gm, '    '))
    if (error instanceof HoltError) console.error(`hint: ${error.hint}`)
  }
}

function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(1, Math.round(ms))} ms`
  return ms < 120_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

const colours = process.stdout.isTTY && !process.env.NO_COLOR
const green = (text: string) => (colours ? `\u001b[32m${text}\u001b[39m` : text)
const dim = (text: string) => (colours ? `\u001b[2m${text}\u001b[22m` : text)

/** What this program was told of Holt by its environment, which the commands that come next have to be told as well. */
function exported(): string {
  const names = Object.keys(process.env).filter((name) => name.startsWith('HOLT_') && process.env[name] !== '')
  const inOrder = ['HOLT_STATE_DIR', 'HOLT_PORT'].filter((name) => names.includes(name))
  return [...new Set([...inOrder, ...names.sort()])].map((name) => `\n  ${exportOf(name)}`).join('')
}

/** What may be secret is not shown on a screen. */
function exportOf(name: string): string {
  if (/KEY|DATABASE_URL/.test(name)) return `export ${name}=…   # as it is set here`
  const value = `'${(process.env[name] ?? '').replaceAll("'", "'\\''")}'`
  return `export ${name}=${value}${name === 'HOLT_STATE_DIR' ? '   # where this Holt keeps everything' : ''}`
}

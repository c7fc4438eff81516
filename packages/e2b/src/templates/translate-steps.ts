import type { BuildStep } from '@holt/protocol'
import { E2bError } from '../errors/e2b-error.ts'
import { copySource } from './copy-source.ts'
import { provisionScript } from './provision-script.ts'
import { inLoginShell, shellWord } from './shell-words.ts'
import type { TemplateStep } from './template-requests.ts'

/** The account and the directory in which steps begin. */
export interface StepPlace {
  readonly user: string
  readonly workdir: string
}

/** The place in which the steps begin on an image. */
export const firstPlace: StepPlace = { user: 'user', workdir: '/home/user' }

/** The origin of a step of Holt: the number of a client's step from 1, or `base`. */
export type StepOrigin = number | 'base'

/** The steps of Holt for those of a client. */
export interface TranslatedSteps {
  readonly steps: readonly BuildStep[]
  /** The origin of each of them. */
  readonly origins: readonly StepOrigin[]
  /** The hashes of the uploads that they read. The index of a hash is its directory. */
  readonly hashes: readonly string[]
}

interface Translation {
  /** Null if the base is a template of this service that was built for clients. */
  readonly provision: boolean
  readonly place: StepPlace
}

/** Translates the steps of a client. Throws `E2bError` for a step that has the wrong form. */
export function translateSteps(given: readonly TemplateStep[], { provision, place }: Translation): TranslatedSteps {
  const translator = new Translator(place)
  if (provision) {
    translator.add('base', { user: 'root' }, { run: provisionScript }, { user: place.user }, { workdir: place.workdir })
  }
  for (const [index, step] of given.entries()) translator.translate(step, index + 1)
  return translator.result
}

class Translator {
  readonly #steps: BuildStep[] = []
  readonly #origins: StepOrigin[] = []
  readonly #hashes: string[] = []
  #user: string

  constructor({ user }: StepPlace) {
    this.#user = user
  }

  get result(): TranslatedSteps {
    return { steps: this.#steps, origins: this.#origins, hashes: this.#hashes }
  }

  add(origin: StepOrigin, ...steps: readonly BuildStep[]): void {
    for (const step of steps) {
      this.#steps.push(step)
      this.#origins.push(origin)
    }
  }

  translate(step: TemplateStep, number: number): void {
    const args = step.args ?? []
    switch (step.type) {
      case 'RUN':
        this.#run(number, args)
        break
      case 'COPY':
        this.#copy(number, args, step.filesHash)
        break
      case 'ENV':
        this.add(number, { env: pairsOf(args, number) })
        break
      case 'WORKDIR':
        this.#workdir(number, only(args, number))
        break
      case 'USER':
        this.#changeUser(number, only(args, number))
        break
      default:
        throw new E2bError(400, `steps.${number - 1}.type: there is no step ${step.type}`)
    }
  }

  #run(number: number, [line = '', user = '']: readonly string[]): void {
    if (line === '') throw new E2bError(400, `steps.${number - 1}.args: RUN needs a command line`)
    this.#as(number, user === '' ? this.#user : user, { run: inLoginShell(line) })
  }

  /** Copies an upload: files by their name, and directories and patterns by their content. */
  #copy(number: number, [source = '', to = '', owner = '', mode = '']: readonly string[], hash = ''): void {
    if (source === '' || to === '' || !/^[A-Za-z0-9_-]{1,128}$/.test(hash))
      throw new E2bError(400, `steps.${number - 1}.args: COPY needs a source, a destination and a filesHash`)
    if (mode !== '' && !/^0?[0-7]{3,4}$/.test(mode))
      throw new E2bError(400, `steps.${number - 1}.args: '${mode}' is not an octal mode`)
    if (!this.#hashes.includes(hash)) this.#hashes.push(hash)
    const chown = owner === '' ? this.#user : owner
    const copy = {
      source: copySource(String(this.#hashes.indexOf(hash)), source),
      destination: literal(to === '~' || to.startsWith('~/') ? `${homeOf(this.#user)}${to.slice(1)}` : to),
      chown: literal(chown.includes(':') ? chown : `${chown}:${chown}`),
      ...(mode === '' ? {} : { chmod: mode.slice(-4) }),
    }
    this.add(number, { copy })
  }

  #workdir(number: number, path: string): void {
    const user = shellWord(this.#user)
    const at = path === '~' || path.startsWith('~/') ? `${homeOf(this.#user)}${path.slice(1)}` : path
    const made = `[ -d ${shellWord(at)} ] || { mkdir -p ${shellWord(at)} && chown ${user}: ${shellWord(at)}; }`
    this.#as(number, 'root', { run: made })
    this.add(number, { workdir: literal(at) })
  }

  #changeUser(number: number, user: string): void {
    const word = shellWord(user)
    if (user !== 'root' && !/^\d/.test(user))
      this.#as(number, 'root', { run: `id -u ${word} >/dev/null 2>&1 || useradd -m -s /bin/bash ${word}` })
    this.#user = user
    this.add(number, { user: literal(user) })
  }

  /** Adds a step of a user, and returns to the present one. */
  #as(number: number, user: string, step: BuildStep): void {
    if (user === this.#user) this.add(number, step)
    else this.add(number, { user: literal(user) }, step, { user: literal(this.#user) })
  }
}

/** Returns the usual home of an account. */
function homeOf(user: string): string {
  return user === 'root' ? '/root' : `/home/${user}`
}

/** Returns a text in which `$` has no meaning for a step of Holt. */
function literal(text: string): string {
  return text.replaceAll('$', '\\$')
}

function only(args: readonly string[], number: number): string {
  const [value = ''] = args
  if (value === '') throw new E2bError(400, `steps.${number - 1}.args: a value is missing`)
  return value
}

function pairsOf(args: readonly string[], number: number): Record<string, string> {
  if (args.length === 0 || args.length % 2 !== 0)
    throw new E2bError(400, `steps.${number - 1}.args: ENV needs names and values`)
  const pairs: Record<string, string> = {}
  for (let at = 0; at < args.length; at += 2) pairs[args[at] ?? ''] = args[at + 1] ?? ''
  return pairs
}

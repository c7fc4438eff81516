import type { BuildStep, CreateBuildInput } from '@holt/protocol'
import { HoltError } from '../errors/errors.ts'
import { readDockerfile, readsContext } from './dockerfile-source.ts'

/** The base of a template without a Dockerfile, and the field that names it. */
const sourceFields = { image: 'from_image', template: 'from_template', snapshot: 'from_snapshot' } as const

/** The description of a template so far. */
export interface TemplateSpec {
  readonly source:
    | { readonly type: keyof typeof sourceFields; readonly reference: string }
    | { readonly type: 'dockerfile'; readonly textOrPath: string; readonly context: string | undefined }
    | null
  /** The directory that copies read, if it was named. */
  readonly context: string | null
  readonly steps: readonly BuildStep[]
  readonly fields: Partial<CreateBuildInput>
}

/** A directory to send. */
export interface WantedContext {
  readonly directory: string
  /** The Dockerfile's path, for rules of its own; null if it has none. */
  readonly dockerfile: string | null
  /** The patterns of the paths to read; null for all. */
  readonly only: readonly string[] | null
}

/**
 * Returns the body of the build request, and the directory that it reads; null if it reads none.
 */
export async function requestOf(
  spec: TemplateSpec,
): Promise<{ readonly body: CreateBuildInput; readonly context: WantedContext | null }> {
  const { source, steps, fields } = spec
  const { name } = fields
  if (name === undefined) throw incomplete('has no name', 'Template("my-app"), or .name("my-app").')
  if (source === null)
    throw incomplete(
      'has no base',
      'Begin with .fromImage(...), .fromTemplate(...), .fromSnapshot(...) or .fromDockerfile(...).',
    )
  if (source.type === 'dockerfile') {
    const { text, path, context } = await readDockerfile(source.textOrPath, source.context ?? spec.context ?? undefined)
    const isRead = context !== null && readsContext(text)
    return {
      body: { ...fields, ...settingsOf(steps, fields.env), name, dockerfile: text },
      context: isRead ? { directory: context, dockerfile: path, only: null } : null,
    }
  }
  const from = { [sourceFields[source.type]]: source.reference }
  const read = steps.flatMap((step) => ('copy' in step ? step.copy.source : []))
  return {
    body: { ...fields, ...from, ...(steps.length === 0 ? {} : { steps: [...steps] }), name },
    context: read.length === 0 ? null : { directory: spec.context ?? '.', dockerfile: null, only: read },
  }
}

/**
 * Returns the settings of a template. Commands and copies are in a Dockerfile; settings beside it
 * apply to runtimes only.
 */
function settingsOf(
  steps: readonly BuildStep[],
  env: CreateBuildInput['env'],
): Pick<CreateBuildInput, 'env' | 'workdir' | 'user'> {
  let settings: Pick<CreateBuildInput, 'env' | 'workdir' | 'user'> = env === undefined ? {} : { env }
  for (const step of steps) {
    if ('run' in step || 'copy' in step)
      throw incomplete('has steps beside its Dockerfile', 'Write run and copy as RUN and COPY in the Dockerfile.')
    settings = 'env' in step ? { ...settings, env: { ...settings.env, ...step.env } } : { ...settings, ...step }
  }
  return settings
}

function incomplete(what: string, hint: string): HoltError {
  return new HoltError('invalid_request', `The template ${what}`, { hint })
}

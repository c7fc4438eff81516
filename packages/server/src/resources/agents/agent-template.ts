import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { CreateBuild, mibSchema, PolicyBody } from '@holt/protocol'
import { z } from 'zod'

/** The model vendors with well-known secrets: the names that `secretDefaults` knows. */
const vendorNames = ['anthropic', 'openai', 'google'] as const

const sizes = { minMiB: 64, maxMiB: 1024 * 1024 }

/** The content of an agent template's `template.json`. */
const Settings = z.strictObject({
  cpu: z.number().min(0.1).max(256),
  memory: mibSchema(sizes),
  disk: mibSchema(sizes),
  vendors: z.array(z.enum(vendorNames)).default([]),
  build_network: PolicyBody,
  context: z.array(z.string().regex(/^[a-z][\w.-]*$/)).default([]),
  start_cmd: CreateBuild.shape.start_cmd,
  ready_cmd: CreateBuild.shape.ready_cmd,
  ready_timeout_secs: CreateBuild.shape.ready_timeout_secs,
})

/** A file that the Dockerfile of a template copies. */
export interface TemplateFile {
  /** The path relative to the template's directory. */
  readonly path: string
  readonly content: Buffer
}

/** The application of a template, which its build starts before the checkpoint. */
interface TemplateApplication {
  readonly startCmd: string
  readonly readyCmd: string | null
  readonly readyTimeoutSecs: number
}

/**
 * A template for agents: with the program of a model vendor, or with kernels that run code. The
 * service builds it on demand from a Dockerfile of its own.
 */
export interface AgentTemplate {
  readonly name: string
  readonly dockerfile: string
  /**
   * The digest of the Dockerfile, the settings and the files. The template is built again if it
   * changes.
   */
  readonly digest: string
  readonly cpu: number
  readonly memoryMiB: number
  readonly diskMiB: number
  /** The vendors that its runtimes may reach if they have the vendor's secret. */
  readonly vendors: readonly string[]
  /** The network policy of its build. */
  readonly buildNetwork: z.output<typeof PolicyBody>
  /** The build context. Empty if the Dockerfile copies nothing. */
  readonly files: readonly TemplateFile[]
  readonly application: TemplateApplication | null
}

/** Reads the agent templates in the directories below a directory. */
export async function readAgentTemplates(dir: string): Promise<readonly AgentTemplate[]> {
  const entries = await readdir(dir, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return Promise.all(names.sort().map((name) => readAgentTemplate(join(dir, name))))
}

/**
 * Reads an agent template from its directory with `Dockerfile`, `template.json` and the files that
 * `context` names. The directory's name is the template's name.
 */
export async function readAgentTemplate(dir: string): Promise<AgentTemplate> {
  const [dockerfile, text] = await Promise.all([
    readFile(join(dir, 'Dockerfile'), 'utf8'),
    readFile(join(dir, 'template.json'), 'utf8'),
  ])
  const settings = Settings.parse(JSON.parse(text))
  const { cpu, memory, disk, vendors, build_network, start_cmd, ready_cmd, ready_timeout_secs } = settings
  const files = (await Promise.all(settings.context.map((path) => readFiles(dir, path)))).flat()
  const hash = createHash('sha256').update(JSON.stringify([dockerfile, text]))
  for (const { path, content } of files) hash.update(JSON.stringify([path, content.length])).update(content)
  return {
    name: basename(dir),
    dockerfile,
    digest: hash.digest('hex'),
    cpu,
    memoryMiB: memory,
    diskMiB: disk,
    vendors,
    buildNetwork: build_network,
    files,
    application:
      start_cmd === undefined
        ? null
        : { startCmd: start_cmd, readyCmd: ready_cmd ?? null, readyTimeoutSecs: ready_timeout_secs },
  }
}

/** Reads a file, or all files below a directory, sorted by path. Caches of Python are left out. */
async function readFiles(dir: string, path: string): Promise<readonly TemplateFile[]> {
  const entries = await readdir(join(dir, path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOTDIR') return null
    throw error
  })
  if (entries === null) return [{ path, content: await readFile(join(dir, path)) }]
  const names = entries.filter((name) => name !== '__pycache__').sort()
  return (await Promise.all(names.map((name) => readFiles(dir, `${path}/${name}`)))).flat()
}

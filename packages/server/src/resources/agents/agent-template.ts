import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mibSchema, PolicyBody } from '@holt/protocol'
import { z } from 'zod'

/** The model vendors with well-known secrets: the names that `secretDefaults` knows. */
const vendorNames = ['anthropic', 'openai', 'google'] as const

const sizes = { minMiB: 64, maxMiB: 1024 * 1024 }

/** The content of an agent template's `template.json`. */
const Settings = z.strictObject({
  cpu: z.number().min(0.1).max(256),
  memory: mibSchema(sizes),
  disk: mibSchema(sizes),
  vendors: z.array(z.enum(vendorNames)).min(1),
  build_network: PolicyBody,
})

/**
 * A template with the program of a model vendor. The service builds it on demand from a Dockerfile
 * of its own.
 */
export interface AgentTemplate {
  readonly name: string
  readonly dockerfile: string
  /** The digest of the Dockerfile and the settings. The template is built again if it changes. */
  readonly digest: string
  readonly cpu: number
  readonly memoryMiB: number
  readonly diskMiB: number
  /** The vendors that its runtimes may reach if they have the vendor's secret. */
  readonly vendors: readonly string[]
  /** The network policy of its build. */
  readonly buildNetwork: z.output<typeof PolicyBody>
}

/**
 * Reads the agent templates of the service. Each is a directory with `Dockerfile` and
 * `template.json`, and its name is the template's name.
 */
export async function readAgentTemplates(dir: string): Promise<readonly AgentTemplate[]> {
  const entries = await readdir(dir, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  return Promise.all(names.sort().map((name) => readAgentTemplate(dir, name)))
}

async function readAgentTemplate(dir: string, name: string): Promise<AgentTemplate> {
  const [dockerfile, text] = await Promise.all(
    ['Dockerfile', 'template.json'].map((file) => readFile(join(dir, name, file), 'utf8')),
  )
  const { cpu, memory, disk, vendors, build_network } = Settings.parse(JSON.parse(text ?? ''))
  return {
    name,
    dockerfile: dockerfile ?? '',
    digest: createHash('sha256')
      .update(JSON.stringify([dockerfile, text]))
      .digest('hex'),
    cpu,
    memoryMiB: memory,
    diskMiB: disk,
    vendors,
    buildNetwork: build_network,
  }
}

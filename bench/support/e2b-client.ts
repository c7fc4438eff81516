import { join } from 'node:path'
import type { Holt } from '@holt/sdk'
import { publishedClients } from '@holt/testkit'

/** A sandbox of E2B's client for JavaScript, as far as the bench uses it. */
export interface E2bSandbox {
  readonly commands: { run(line: string): Promise<{ readonly exitCode: number }> }
  readonly files: {
    write(path: string, data: ArrayBuffer): Promise<unknown>
    read(path: string, options: { readonly format: 'bytes' }): Promise<Uint8Array>
  }
  kill(): Promise<boolean>
}

/** E2B's client, with the settings for the measured daemon. */
export interface E2bClient {
  create(): Promise<E2bSandbox>
}

interface Published {
  readonly Sandbox: { create(template: string, options: object): Promise<E2bSandbox> }
}

/** Returns E2B's published client in its newest pinned version, for a daemon at one address. */
export async function openE2bClient(holt: Holt, port: number): Promise<E2bClient> {
  const packages = await publishedClients('javascript-sdk')
  const { Sandbox } = (await import(join(packages, 'node_modules/e2b/dist/index.mjs'))) as Published
  const { key: apiKey } = await holt.keys.create({ name: 'bench', format: 'e2b' })
  const url = `http://127.0.0.1:${port}`
  // A retry would hide a failed request.
  const options = { apiKey, apiUrl: url, sandboxUrl: url, retries: 0, timeoutMs: 3_600_000 }
  return { create: () => Sandbox.create('base', options) }
}

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

/** The variables by which E2B's clients find the measured daemon, at one address without TLS. */
export interface E2bVariables extends Readonly<Record<string, string>> {
  readonly E2B_API_KEY: string
  readonly E2B_API_URL: string
  readonly E2B_SANDBOX_URL: string
}

/** Returns these variables, with a new key. */
export async function makeE2bVariables(holt: Holt, port: number): Promise<E2bVariables> {
  const { key } = await holt.keys.create({ name: 'bench', format: 'e2b' })
  const url = `http://127.0.0.1:${port}`
  return { E2B_API_KEY: key, E2B_API_URL: url, E2B_SANDBOX_URL: url }
}

/** Returns E2B's published client in its newest pinned version. */
export async function openE2bClient(variables: E2bVariables): Promise<E2bClient> {
  const packages = await publishedClients('javascript-sdk')
  const { Sandbox } = (await import(join(packages, 'node_modules/e2b/dist/index.mjs'))) as Published
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = variables
  // A retry would hide a failed request.
  const options = { apiKey, apiUrl, sandboxUrl, retries: 0, timeoutMs: 3_600_000 }
  return { create: () => Sandbox.create('base', options) }
}

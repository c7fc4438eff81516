import { z } from 'zod'

/** The object store of a fleet. */
export interface ObjectStoreConfig {
  readonly url: string
  /** 64 hex digits, or the path of a file with keys; null: artifacts are not sealed. */
  readonly artifactKey: string | null
}

// The store itself reads the whole address. Its module is loaded in a fleet alone.
const url = z
  .string()
  .max(1024)
  .regex(
    /^(?:s3:\/\/[a-z0-9][a-z0-9.-]*(?:[/?]\S*)?|file:\/\/\/\S+)$/,
    'must be s3://BUCKET[/PREFIX]?endpoint=https://…&region=… or file:///DIRECTORY. Credentials are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  )

/** The settings of the object store. */
export const objectStoreSettings = {
  HOLT_OBJECT_STORE: url
    .optional()
    .describe(
      'The object store of the fleet, which keeps images and checkpoints: `s3://BUCKET[/PREFIX]?endpoint=https://…&region=…`, or `file:///DIRECTORY` for a directory that all hosts share. S3 takes the usual credentials: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or `AWS_SHARED_CREDENTIALS_FILE` with `AWS_PROFILE`. See [fleet.md](fleet.md#the-object-store).',
    ),
  HOLT_ARTIFACT_KEY: z
    .string()
    .regex(/^(?:[0-9a-f]{64}|\/[^\0]*)$/i, 'must be 64 hex digits, or the absolute path of a file with such keys')
    .optional()
    .describe(
      'The key that encrypts images and checkpoints before they leave this host: 64 hex digits, as `openssl rand -hex 32` writes them, or the absolute path of a file with a key in each line. The first key encrypts, and the others only decrypt. All hosts need the same keys. Set it before the first artifact is stored.',
    ),
} as const

/** Returns the object store of the settings; null if there is none. */
export function objectStoreOf(values: {
  readonly HOLT_OBJECT_STORE?: string | undefined
  readonly HOLT_ARTIFACT_KEY?: string | undefined
}): ObjectStoreConfig | null {
  const { HOLT_OBJECT_STORE: url, HOLT_ARTIFACT_KEY: artifactKey = null } = values
  return url === undefined ? null : { url, artifactKey }
}

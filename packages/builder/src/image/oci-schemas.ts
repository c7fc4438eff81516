import { z } from 'zod'

// A digest as in OCI. Only sha256 is accepted.
const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/)

/**
 * Returns the schema of an array. Its length is checked before its items: a million wrong items
 * would be as many issues, and seconds of work.
 */
export const bounded = <Item extends z.ZodType>(item: Item, limits: { readonly min?: number; readonly max: number }) =>
  z
    .custom<unknown[]>(
      (value) => Array.isArray(value) && value.length >= (limits.min ?? 0) && value.length <= limits.max,
    )
    .pipe(z.array(item))

const descriptorSchema = z.object({
  mediaType: z.string().max(255),
  digest: digestSchema,
  size: z.int().nonnegative(),
  /** Other addresses of the content. Nothing is ever fetched from them. */
  urls: z.array(z.unknown()).optional(),
})

/** A content descriptor (OCI image-spec, descriptor.md). */
export type Descriptor = z.infer<typeof descriptorSchema>

/** The schema of `index.json` of an image layout with one image. */
export const indexSchema = z.object({ manifests: bounded(descriptorSchema, { min: 1, max: 1 }) })

/** The schema of an image manifest. Container engines can mount at most 127 layers. */
export const manifestSchema = z.object({
  config: descriptorSchema,
  layers: bounded(descriptorSchema, { min: 1, max: 127 }),
})

const text = z.string().max(32 * 1024)
const strings = bounded(text, { max: 1024 }).nullish()

/**
 * The schema of the image configuration. Unknown members are dropped, and no value is ever used on
 * the host.
 */
export const configSchema = z.object({
  architecture: z.string().max(64),
  os: z.string().max(64),
  variant: z.string().max(64).optional(),
  rootfs: z.object({ type: z.literal('layers'), diff_ids: bounded(digestSchema, { max: 127 }) }),
  config: z
    .object({
      User: text.nullish(),
      WorkingDir: text.nullish(),
      Env: strings,
      Entrypoint: strings,
      Cmd: strings,
      Shell: strings,
      OnBuild: strings,
      Labels: z.record(text, text).nullish(),
      ExposedPorts: z.record(text, z.unknown()).nullish(),
    })
    .nullish(),
})

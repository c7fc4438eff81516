import { z } from 'zod'

// The JSON form of protobuf messages (protobuf.dev/programming-guides/json). Fields may be left out
// or null, which is their default value. Unknown fields are ignored.

const maxUint32 = 0xffff_ffff

/** A string. Absent: empty. */
export const text = z.string().default('')

/** A boolean. Absent: false. */
export const bool = z.boolean().default(false)

/** An unsigned integer of 32 bits, as a number or as decimal digits. Absent: 0. */
export const uint32 = z
  .union([
    z.number().int().min(0).max(maxUint32),
    z
      .string()
      .regex(/^\d{1,10}$/)
      .transform(Number)
      .refine((value) => value <= maxUint32, 'must be at most 4294967295'),
  ])
  .default(0)

/** Bytes as base64, in the standard alphabet or in that for URLs, with or without padding. */
export const bytes = z
  .string()
  .regex(/^[A-Za-z0-9+/_-]*={0,2}$/, 'must be base64')
  .transform((value) => Buffer.from(value, 'base64'))

/** Texts by name. Absent: empty. */
export const textMap = z.record(z.string(), z.string()).default({})

/**
 * Returns the schema of an enum's value: a name, or its number. The result is a name, or null for a
 * value that is not in the list.
 */
export function enumOf<Name extends string>(numbers: Readonly<Record<Name, number>>) {
  const names = new Map(Object.entries<number>(numbers).map(([name, number]) => [number, name as Name]))
  return z
    .union([z.string(), z.number().int()])
    .transform((value) => (typeof value === 'number' ? names.get(value) : value) ?? '')
    .transform((value) => (Object.hasOwn(numbers, value) ? (value as Name) : null))
}

/**
 * Returns the schema of a message. A field may have its name in lowerCamelCase or in snake_case, as
 * the specification allows.
 */
export function message<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = new Map<string, string>()
  for (const name of Object.keys(shape)) {
    names.set(
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      name,
    )
    names.set(name, name)
  }
  return z.preprocess((value) => withNames(value, names), z.object(shape))
}

/** Returns the schema of a message of which at most one field may be set. */
export function oneOf<Shape extends z.ZodRawShape>(shape: Shape) {
  return message(shape).refine(
    (value) => Object.values(value as object).filter((field) => field !== undefined).length <= 1,
    'must have one field only',
  )
}

function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const known = Object.entries(value).flatMap(([key, field]) => {
    const name = names.get(key)
    return name === undefined || field === null ? [] : [[name, field] as const]
  })
  return Object.fromEntries(known)
}

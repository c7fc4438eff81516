import { z } from 'zod'
import * as word from '../answers/words.ts'

/** `GET /v1/ports`. */
export const GuestPorts = z.object({ ports: z.array(word.port).max(65_535) })

/** `GET /v1/ports/{port}`. */
export const GuestPort = z.object({ port: word.port, listening: z.boolean() })

import { commandHandlers } from '../commands/command-handlers.ts'
import { fileHandlers } from '../files/file-handlers.ts'
import { serviceHandlers } from '../health/service-handlers.ts'
import { keyHandlers } from '../keys/key-handlers.ts'
import { runtimeHandlers } from '../runtimes/runtime-handlers.ts'
import { templateHandlers } from '../templates/template-handlers.ts'
import type { Handlers } from './call.ts'

/** What answers each route. A route without a handler is a type error here. */
export const handlers: Handlers = {
  ...runtimeHandlers,
  ...commandHandlers,
  ...fileHandlers,
  ...templateHandlers,
  ...keyHandlers,
  ...serviceHandlers,
}

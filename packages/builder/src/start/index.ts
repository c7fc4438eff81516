export * from './finish-template.ts'
export type { Finishing } from './seed-runtime.ts'
export {
  type ApplicationCommands,
  onRestoreId,
  type StartWatch,
  startApplication,
  startCommandId,
} from './start-application.ts'
export * from './template-command.ts'

export { buildWholeProgram } from './whole-program.ts'

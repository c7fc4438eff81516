export { buildWholeProgram } from './program.ts'
